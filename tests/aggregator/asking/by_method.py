"""A source whose answers are made by a test."""

from __future__ import annotations

from typing import Any

from deniable_aggregator.asking.questions import NO_LISTS


class ByMethod:
    """Answers each question by the method of its name.

    A method gets what the question is about, then its query and its lists, if it has any.
    """

    def ask(self, question: Any, query: Any = None, lists: Any = NO_LISTS) -> Any:
        given = [] if question.query is None else [query or question.query()]
        if question.lists is not None:
            given.append(lists)
        return getattr(self, question.name)(*question.place, *given)
