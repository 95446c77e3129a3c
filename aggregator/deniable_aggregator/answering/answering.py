"""Answers the questions of the table about one store: a function for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from deniable_aggregator.answering.discoveries.service import DiscoveryService
from deniable_aggregator.answering.integrity.slice_medians import SliceMedians
from deniable_aggregator.answering.kept_periods import KeptPeriods
from deniable_aggregator.answering.question_size import require_affordable
from deniable_aggregator.answering.reader import MetricReader, read_steadily
from deniable_aggregator.answering.responses import Validity, validity_of
from deniable_aggregator.answering.review import Reviewer
from deniable_aggregator.answering.slices import few_reports
from deniable_aggregator.answers.answer import Answer as MetricAnswer
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.answers.questions import ChangeQuery, ValueLists
from deniable_aggregator.asking.questions import NO_LISTS, Question
from deniable_aggregator.media.rows import rows_of
from deniable_aggregator.telling.precision import with_one_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from msgspec import Struct

    from deniable_aggregator.answering.comparability import Chosen
    from deniable_aggregator.answering.discoveries.runs import DiscoveryRuns
    from deniable_aggregator.answering.kept_periods import FoundPeriod, Result
    from deniable_aggregator.answers.row import Row
    from deniable_aggregator.keeping.parts import Parts

Query = TypeVar("Query")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Asked(Generic[Query]):
    """A question as somebody asks it.

    Attributes:
        application: whose metrics it is about.
        place: the parameters of the path.
        query: the options.
        lists: the values that it is about.
    """

    application: str
    place: tuple[str | int, ...]
    query: Query
    lists: Any = NO_LISTS

    @property
    def name(self) -> str:
        """What it is about: of most questions a metric."""
        return str(self.place[0])

    @property
    def days(self) -> tuple[DayRange, ...]:
        """The days that it is about: one range, or two that are compared."""
        query: Any = self.query
        if isinstance(query, ChangeQuery):
            return query.periods()
        return (DayRange(query.since or FIRST_DAY, query.until or LAST_DAY),)


_ANSWERS: Final[dict[str, Callable[[Answerer, Asked[Any]], Any]]] = {}
_ROWS: Final[dict[str, Callable[[Answerer, Asked[Any]], Iterable[Row]]]] = {}


def answers(
    question: Question[Query, Answer],
) -> Callable[
    [Callable[[Answerer, Asked[Query]], Answer]], Callable[[Answerer, Asked[Query]], Answer]
]:
    """Registers the function that answers a question.

    Args:
        question: a row of the table.
    """

    def register(
        function: Callable[[Answerer, Asked[Query]], Answer],
    ) -> Callable[[Answerer, Asked[Query]], Answer]:
        _ANSWERS[question.name] = function
        return function

    return register


def answers_in_rows(
    question: Question[Query, Any],
) -> Callable[
    [Callable[[Answerer, Asked[Query]], Iterable[Row]]],
    Callable[[Answerer, Asked[Query]], Iterable[Row]],
]:
    """Registers the function that answers a question in rows of the long table.

    Needed only where `media.rows.rows_of` does not make them of the answer.

    Args:
        question: a row of the table.
    """

    def register(
        function: Callable[[Answerer, Asked[Query]], Iterable[Row]],
    ) -> Callable[[Answerer, Asked[Query]], Iterable[Row]]:
        _ROWS[question.name] = function
        return function

    return register


class Answerer:
    """Answers questions about one store, in this process.

    Args:
        parts: the store, and what is made over it.
        runs: works on questions about unlisted strings; None where nobody does.
        bounded: whether questions are refused that ask for more than `question_seconds`.

    Attributes:
        parts: the store, and what is made over it.
        reader: reads metrics.
        reviewer: checks their reports.
        medians: a second opinion on shares.
        kept_periods: what was estimated of the periods of series.
        kept_estimates: what was estimated of the days of other questions, and of which versions.
        discoveries: questions about unlisted strings.
    """

    def __init__(
        self, parts: Parts, runs: DiscoveryRuns | None = None, *, bounded: bool = False
    ) -> None:
        self.parts = parts
        self._bounded = bounded
        self.reader = MetricReader(
            parts.store,
            parts.catalogue,
            lambda: few_reports(
                parts.today, parts.settings.accept_days, parts.settings.batch_reports
            ),
        )
        self.reviewer = Reviewer(
            parts.store,
            parts.catalogue,
            self.reader.tables,
            parts.settings.accept_days,
            parts.settings.part_reports,
            parts.settings.batch_reports,
            parts.clock,
        )
        self.medians = SliceMedians()
        self.kept_periods: KeptPeriods[FoundPeriod] = KeptPeriods()
        self.kept_estimates: KeptPeriods[tuple[Chosen, Result]] = KeptPeriods()
        self.discoveries = DiscoveryService(parts, runs)

    def asked(
        self,
        application: str,
        question: Question[Query, Any],
        query: Query,
        lists: Struct = NO_LISTS,
    ) -> Asked[Query]:
        """A question as the functions that answer take it.

        Args:
            application: whose metrics it is about.
            question: a row of the table.
            query: the options.
            lists: the values that it is about.
        """
        if question.lists is not None and not isinstance(lists, question.lists):
            lists = question.lists()
        if isinstance(lists, ValueLists):
            lists, _ = lists.joined(query)
        return Asked(application, question.place, query, lists)

    def answer(self, question: Question[Query, Answer], asked: Asked[Query]) -> Answer:
        """The answer to a question.

        Args:
            question: a row of the table.
            asked: the same as somebody asks it.

        Raises:
            ProblemError: if there is none.
        """
        function = _ANSWERS[question.name]
        found: Any
        if self._bounded and question.lists is ValueLists:
            self._require_affordable(asked)
        if question.tagged:
            found = read_steadily(
                lambda: self.reader.rolled_stamp(asked.application, asked.name),
                lambda: function(self, asked),
            )
        else:
            found = function(self, asked)
        if isinstance(found, MetricAnswer):
            found = with_one_precision(found)
        return cast("Answer", found)

    def _require_affordable(self, asked: Asked[Any]) -> None:
        query = asked.query
        version = query.version if isinstance(query.version, str) else None  # or two to compare
        require_affordable(
            self.parts.store,
            self.reader.asked_metric(asked.application, asked.name, query.without_key, version),
            asked.days,
            query,
            asked.lists,
            self.parts.settings.question_seconds,
        )

    def rows(self, question: Question[Query, Any], asked: Asked[Query]) -> Iterable[Row]:
        """The answer to a question, as rows of the long table.

        Args:
            question: a row of the table, whose answers may be in formats.
            asked: the same as somebody asks it.

        Raises:
            ProblemError: if there is none.
        """
        function = _ROWS.get(question.name)
        return rows_of(self.answer(question, asked)) if function is None else function(self, asked)

    def validity(self, asked: Asked[Any]) -> Validity:
        """How long the answer to a question about days of a metric stays right.

        Args:
            asked: the question.

        Raises:
            ProblemError: if the metric is unknown.
        """
        query = asked.query
        # Health has none, and a comparison may have two.
        version = getattr(query, "version", None)
        version = version if isinstance(version, str) else None
        return validity_of(
            self.parts.store,
            self.reader.asked_metric(asked.application, asked.name, query.without_key, version),
            asked.days,
            (query, asked.lists),
            today=self.parts.today,
            accept_days=self.parts.settings.accept_days,
            part_reports=self.parts.settings.part_reports,
        )
