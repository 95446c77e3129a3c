"""Writes what is due into the SQL table of estimates."""

from __future__ import annotations

import time
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.estimate_table.due import Due, DuePeriod, what_is_due
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.questions import ChangeQuery, DaysQuery, EstimateQuery
from deniable_aggregator.answers.row import KEPT_COLUMNS, Row
from deniable_aggregator.answers.words import VERSION_LETTERS, PeriodLength
from deniable_aggregator.asking import questions
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import PeriodName, PeriodRows, Store
from deniable_aggregator.media.rows import reports_row, rows_of
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deniable_aggregator.asking.questions import Question

Query = TypeVar("Query")
Answer = TypeVar("Answer")

MOST_ROWS: Final = 1_000
"""Of a metric and period with more numbers, those with the largest estimates are written, and of
more differences those with the smallest p-values."""

MOST_SEGMENTS: Final = 12
"""Shares within segments are written of metrics with at most so many segments."""

WRITTEN_ROWS: Final = 500
"""One transaction writes no more, or one period, so that nobody waits long."""

# These problems stay as long as the tag does.
_LASTING: Final = {"no_reports", "candidates_needed", "estimate_refused", "days_rolled_up"}


class Written(NamedTuple):
    """What was done.

    Attributes:
        periods: how many periods were written.
        rows: how many rows they have.
        deleted: how many periods were deleted.
        left: how many are still due, as the time was over.
    """

    periods: int
    rows: int
    deleted: int
    left: int


@dataclass(frozen=True)
class _Found(Generic[Answer]):
    """An answer, or the code of the problem that it has as long as the tag stays.

    The problem itself has a traceback, in which all that was counted would be kept.
    """

    answer: Answer | None = None
    problem: str | None = None


class TableWriter:
    """Writes the SQL table of estimates of one store.

    Args:
        store: the store.
        lengths: how long periods are; none to delete all that was written.
        accept_days: for how many days a day stays open for reports.
        retain_days: after so many days reports are deleted at the latest; None for never.
        today: the current day, in days since 1970-01-01.
    """

    def __init__(
        self,
        store: Store,
        *,
        lengths: Sequence[PeriodLength],
        accept_days: int,
        retain_days: int | None,
        today: int,
    ) -> None:
        self._store = store
        self._lengths = lengths
        self._today = today
        self._accept_days = accept_days
        self._retain_days = retain_days
        # Only the day of this clock matters: it is noon.
        noon = (today + 0.5) * SECONDS_PER_EPOCH
        self._answerer = Answerer(Parts(store, Settings(accept_days=accept_days), lambda: noon))
        self._segments = {
            (entry.spec.application, entry.spec.name, entry.spec.segments.by.values)
            for entry in self._answerer.parts.catalogue.entries()
            if entry.spec.segments is not None
        }

    def write(
        self,
        *,
        seconds: float = float("inf"),
        anew: bool = False,
        on_progress: Callable[[int, int], None] = lambda _, __: None,
    ) -> Written:
        """Writes and deletes what is due, in small transactions.

        Args:
            seconds: after so many no further period is begun.
            anew: whether to write all periods again, also those that are right.
            on_progress: called with how many periods are done, and how many there are.

        Raises:
            InUseError: if another process is at it.
            StoreUnavailableError: if the store cannot be used.
            ProblemError: if the store cannot be read steadily.
        """
        end = time.monotonic() + seconds
        with self._store.estimates.alone():
            # Read first: what is counted from now on is due the next time.
            due = self._due(anew=anew)
            self._store.estimates.delete(due.deleted)
            done = rows = 0
            for some in self._portions(due.written, end):
                self._store.estimates.write(some, self._today)
                done += len(some)
                rows += sum(len(each.rows) for each in some)
                on_progress(done, len(due.written))
        return Written(done, rows, len(due.deleted), len(due.written) - done)

    def _due(self, *, anew: bool = False) -> Due:
        written = self._store.estimates.written()
        return what_is_due(
            self._answerer.parts.catalogue,
            self._store.counted_days.versions(self._today),
            dict.fromkeys(written, (b"", -1)) if anew else written,
            self._lengths,
            self._store.tallies.first_kept_days(
                self._today, keep=self._retain_days, open_days=self._accept_days
            ),
            today=self._today,
            accept_days=self._accept_days,
        )

    def _portions(self, due: Sequence[DuePeriod], end: float) -> Iterator[list[PeriodRows]]:
        """The estimates of periods, as many as are written at once."""
        some: list[PeriodRows] = []
        rows = 0
        for period in due:
            if time.monotonic() >= end:
                break
            found = PeriodRows(period.name, period.tag, [*self._rows(period)])
            if some and rows + len(found.rows) > WRITTEN_ROWS:
                yield some
                some, rows = [], 0
            some.append(found)
            rows += len(found.rows)
        if some:
            yield some

    def _rows(self, period: DuePeriod) -> Iterator[dict[str, Any]]:
        rows = _largest([*self._estimate(period)])
        for row in [*rows, *self._change(period)]:
            yield {
                **{name: getattr(row, name) for name in KEPT_COLUMNS},
                "until": period.days.until,
                "version": row.version and short_versions(row.version),
                "final": period.final,
            }

    def _estimate(self, period: DuePeriod) -> Iterator[Row]:
        yield from self._answer(period, None)
        application, metric = period.name.application, period.name.metric
        segments = dict.fromkeys(
            segment
            for of, name, values in sorted(self._segments)
            if (of, name) == (application, metric)
            for segment in values
        )
        if len(segments) <= MOST_SEGMENTS:
            for segment in segments:
                for row in self._answer(period, segment):
                    if row.measure != "segment size":  # the first answer has it
                        yield row

    def _answer(self, period: DuePeriod, segment: str | None) -> Iterator[Row]:
        days, name = period.days, period.name
        query = EstimateQuery(since=days.since, until=days.until, segment=segment)
        found = self._ask(questions.ESTIMATE, name, query)
        if found.answer is not None:
            yield from rows_of(found.answer)
        elif found.problem == "candidates_needed":
            yield from self._reports(period)

    def _ask(
        self, question: Question[Query, Answer], name: PeriodName, query: Query
    ) -> _Found[Answer]:
        question = question.of(name.metric)
        asked = self._answerer.asked(name.application, question, query)
        try:
            return _Found(self._answerer.answer(question, asked))
        except ProblemError as error:
            if error.code not in _LASTING:
                raise
            return _Found(problem=error.code)

    def _reports(self, period: DuePeriod) -> Iterator[Row]:
        """How many reports a metric has whose values need a list, and whether they look honest."""
        days, name = period.days, period.name
        query = DaysQuery(since=days.since, until=days.until)
        found = self._ask(questions.HEALTH, name, query)
        if found.answer is not None:
            yield reports_row(found.answer)

    def _change(self, period: DuePeriod) -> list[Row]:
        """What differs from the period before."""
        days, before, name = period.days, period.before, period.name
        if before is None:
            return []
        query = ChangeQuery(
            before=f"{before.since}..{before.until}", after=f"{days.since}..{days.until}"
        )
        found = self._ask(questions.CHANGE, name, query)
        return [] if found.answer is None else _clearest([*rows_of(found.answer)])


def short_versions(ids: str) -> str:
    """The ids of versions as commands print them: whole ones would take a third of the table.

    Args:
        ids: with spaces between.
    """
    return " ".join(each[:VERSION_LETTERS] for each in ids.split())


def _clearest(rows: list[Row]) -> list[Row]:
    """At most `MOST_ROWS` of the rows, in their order."""
    kept = sorted(range(len(rows)), key=lambda place: rows[place].adjusted_p_value or 0.0)
    return [rows[place] for place in sorted(kept[:MOST_ROWS])]


def _largest(rows: list[Row]) -> list[Row]:
    """At most `MOST_ROWS` of the rows, in their order: shares and bins that are small go first."""
    if len(rows) <= MOST_ROWS:
        return rows
    ranks = [
        (row.measure not in ("share", "bin", "lift"), row.estimate or 0.0, -place)
        for place, row in enumerate(rows)
    ]
    ranked = sorted(zip(ranks, rows, strict=True), key=itemgetter(0), reverse=True)
    kept = {-rank[2] for rank, _ in ranked[:MOST_ROWS]}
    return [row for place, row in enumerate(rows) if place in kept]
