"""What can be asked for answers: a server, or a store that was opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from deniable_aggregator.answers.discoveries import DiscoveryLists, DiscoveryQuery
from deniable_aggregator.answers.questions import ValueLists

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.answers import answer
    from deniable_aggregator.asking.questions import Question

    OnProgress = Callable[[float, str], None]
    """Told how much is done, from 0 to 1, and what is being done, in words."""

Query = TypeVar("Query")
Answer = TypeVar("Answer")

NO_LISTS: Final = ValueLists()
"""A question about all values."""

ANY_STRINGS: Final = DiscoveryQuery()
NO_HINTS: Final = DiscoveryLists()


class Source(Protocol):
    """Answers questions about the metrics of one application."""

    def ask(
        self,
        question: Question[Query, Answer],
        query: Query | None = None,
        lists: ValueLists = NO_LISTS,
    ) -> Answer:
        """The answer to a question: ``source.ask(ESTIMATE.of("theme"), EstimateQuery(top=3))``.

        Args:
            question: a row of `asking.questions`, with what it is about.
            query: the options; left out for their defaults.
            lists: the values that it is about.

        Raises:
            AskingError: if there is no answer.
        """

    def discover(
        self,
        metric: str,
        query: DiscoveryQuery = ANY_STRINGS,
        lists: DiscoveryLists = NO_HINTS,
        on_progress: OnProgress | None = None,
    ) -> answer.Answer:
        """Popular strings that nobody listed; takes seconds to a minute.

        Args:
            metric: its name.
            query: the options.
            lists: hints, and strings that are not to be shown.
            on_progress: told how far it is.

        Raises:
            AskingError: if there is no answer.
        """
