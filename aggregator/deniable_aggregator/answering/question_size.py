"""How much a question asks for, in advance, so that one that asks for too much is never begun.

The prices are in seconds of a processor, and lower than what was measured, so that no question is
refused here that could be answered. What takes longer after all ends by what it has used.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_aggregator.answering.estimation.domains import default_items
from deniable_aggregator.answering.estimation.segments import declared_segments
from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answering.series import MAX_PERIODS, calendar_periods
from deniable_aggregator.answers.dates import DayRange, day_of, epoch_of
from deniable_aggregator.answers.questions import CompareQuery, SeriesQuery, ValueLists
from deniable_aggregator.answers.words import VERSION_LETTERS
from deniable_aggregator.telling.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deniable_aggregator.answering.reader import AskedMetric
    from deniable_aggregator.answers.words import PeriodLength
    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import Store
    from deniable_shared.spec import MetricType

LONGER: Final[Mapping[PeriodLength, Sequence[PeriodLength]]] = {
    "day": ("week", "month"),
    "week": ("month",),
    "month": (),
}


class _Price(NamedTuple):
    """Of an estimate, and of each value in it."""

    estimate: float
    value: float


_PRICES: Final[Mapping[MetricType, _Price]] = {
    "string": _Price(2e-3, 3e-6),
    "distribution": _Price(10e-3, 0.0),
}
_OTHER_PRICE: Final = _Price(0.5e-3, 1e-6)
_COUNTER_PRICE: Final = 0.5e-9
"""Of reading one."""

_MANY_COUNTERS: Final = 1_000
"""Of a slice. Fewer cost less than to find out how many slices there are."""


@dataclass(frozen=True)
class QuestionSize:
    """How much a question asks for.

    Attributes:
        entries: the versions that it is about.
        periods: how many periods are estimated, each by itself.
        values: how many values it lists; 0 for all that a version lists.
        parts: so many parts of the reports are estimated beside all of them.
        counters: how many of the reports' counters are read.
    """

    entries: Sequence[CatalogEntry]
    periods: int = 1
    values: int = 0
    parts: int = 0
    counters: int = 0

    @property
    def seconds(self) -> float:
        """What the answer uses of a processor, at least."""
        estimates = self.periods * (1 + self.parts)
        found = _COUNTER_PRICE * self.counters
        for entry in self.entries:
            price = _PRICES.get(entry.spec.value_type, _OTHER_PRICE)
            values = self.values or len(default_items([entry.spec]) or ())
            found += estimates * (price.estimate + price.value * values)
        return found

    def in_words(self) -> str:
        """Such as "52 periods of 2 versions, 1,000 values each"."""
        about = f"{counted(self.periods, 'period')} of {counted(len(self.entries), 'version')}"
        if self.values:
            about += f", {counted(self.values, 'value')} each"
        if self.parts:
            about += f", beside all reports in {counted(self.parts, 'part')}"
        return about

    def most_values(self, seconds: float) -> int:
        """How many values may be listed, so that the answer takes no longer."""
        fixed = replace(self, values=1).seconds
        each = replace(self, values=2).seconds - fixed
        return 1 + int((seconds - fixed) / each) if fixed <= seconds and each > 0 else 0


def require_affordable(
    store: Store,
    metric: AskedMetric,
    days: Collection[DayRange],
    query: Any,
    lists: ValueLists,
    most_seconds: float,
) -> None:
    """Refuses a question that asks for too much, before anything of it is worked out.

    Args:
        store: has the days with reports.
        metric: as it is asked about.
        days: that it is about.
        query: its options.
        lists: the values that it is about.
        most_seconds: what an answer may use of a processor.

    Raises:
        ProblemError: ``question_too_large``, saying what to ask instead.
    """
    reported = store.tallies.reported_days([spec.digest for spec in metric.specs])
    if not reported:
        return
    first = day_of(min(each.first for each in reported.values()))
    last = day_of(max(each.last for each in reported.values()))
    ranges = [DayRange(max(each.since, first), min(each.until, last)) for each in days]
    size = _size(store, metric, reported, ranges, query, lists)
    if size.seconds <= most_seconds:
        return
    instead = list(_instead(size, ranges, query, most_seconds))
    advice = f" Ask {', or '.join(instead)}." if instead else " Ask about fewer days."
    raise ProblemError(
        "question_too_large",
        f"It is about {size.in_words()}: that takes {size.seconds:,.3g} seconds of a processor or "
        f"more, and question_seconds is {most_seconds:g}.{advice}",
    )


def _size(
    store: Store,
    metric: AskedMetric,
    reported: Collection[bytes],
    ranges: Sequence[DayRange],
    query: Any,
    lists: ValueLists,
) -> QuestionSize:
    entries = [entry for entry in metric.entries if entry.spec.digest in reported]
    counters = sum(
        entry.tally.stored_cells * sum(stamp.parts for stamp in stamps.values())
        for each in ranges
        for entry in entries
        if entry.tally.stored_cells >= _MANY_COUNTERS
        for stamps in (
            store.tallies.stamps(entry.spec.digest, epoch_of(each.since), epoch_of(each.until)),
        )
    )
    periods = len(ranges) * (2 if isinstance(query, CompareQuery) else 1)
    if isinstance(query, SeriesQuery):
        periods = _periods(query.by, ranges[0])
    parts = 0
    axis = getattr(query, "split", None) or getattr(query, "why", None)
    if axis == "segment":
        parts = len(declared_segments(entry.spec for entry in entries))
    elif axis == "key":
        parts = sum(key.application == metric.application for key in store.keys.all())
    elif axis is not None:
        parts = 1  # each version is estimated once more
    return QuestionSize(entries, periods, len(lists.candidates or ()), parts, counters)


def _periods(by: PeriodLength, days: DayRange) -> int:
    found = calendar_periods(by, days.since, days.until)
    return max(sum(1 for _ in itertools.islice(found, MAX_PERIODS)), 1)


def _instead(
    size: QuestionSize, ranges: Sequence[DayRange], query: Any, most_seconds: float
) -> Iterator[str]:
    """What to ask instead, each of which can be afforded."""
    if size.parts and replace(size, parts=0).seconds <= most_seconds:
        yield f"without {'split' if getattr(query, 'split', None) else 'why'}"
    if isinstance(query, SeriesQuery):
        for by in LONGER[query.by]:
            if replace(size, periods=_periods(by, ranges[0])).seconds <= most_seconds:
                yield f"by {by}"
                break
    most = size.most_values(most_seconds)
    if 0 < most < size.values:
        yield f"for at most {most:,} values"
    *others, newest = size.entries
    if others and replace(size, entries=[newest]).seconds <= most_seconds:
        yield f"for one version, such as version={newest.spec.digest.hex()[:VERSION_LETTERS]}"
