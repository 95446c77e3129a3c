"""Asks what has changed, and why as far as that can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.asking.questions import NO_LISTS

if TYPE_CHECKING:
    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.questions import ChangeQuery, ValueLists
    from deniable_aggregator.asking.questions import Question, Source

EXPLAINED: Final = ("boolean", "category", "distribution", "number")
"""Types of metrics of which a change can be split into what it comes from."""


def ask_change(
    source: Source,
    question: Question[ChangeQuery, Answer],
    query: ChangeQuery,
    lists: ValueLists = NO_LISTS,
) -> Answer:
    """The answer to a change; without its parts where the reports cannot be split.

    Args:
        source: is asked.
        question: the row of changes, with its metric.
        query: its options.
        lists: the values that it is about.

    Raises:
        AskingError: if there is no answer.
    """
    try:
        return source.ask(question, query, lists)
    except AskingError as error:
        if query.why is None or error.code != "estimate_refused":
            raise
    return source.ask(question, replace(query, why=None), lists)
