"""What estimators work on: the tallies of one metric, and what is asked about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.answering.rolled_slices import DaysRolledUpError, without_keys
from deniable_aggregator.answering.slices import hidden_slices
from deniable_aggregator.answers.common import PeriodCounts
from deniable_aggregator.answers.dates import DayRange, day_of, epoch_of
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    CompareQuery,
    EstimateQuery,
    ValueLists,
    ends_of,
)
from deniable_aggregator.counting.statistics.intervals import (
    DEFAULT_LEVEL,
    alpha_per_interval,
    reports_by_period,
)
from deniable_aggregator.counting.tallies import FewCounts, all_counters, nonempty
from deniable_aggregator.counting.yield_points import yield_point
from deniable_shared.errors import ParameterError
from deniable_shared.nearest import did_you_mean
from deniable_shared.periods import EVERY, period

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.slice_cache import SliceTables
    from deniable_aggregator.answering.slices import FewReports, SliceTable
    from deniable_aggregator.answers.answer import Head
    from deniable_aggregator.answers.words import IntervalKind
    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.counting.tallies.counts import Counts
    from deniable_aggregator.keeping.catalog import CatalogEntry
    from deniable_aggregator.keeping.store import Store, StoredKey
    from deniable_shared.periods import Every
    from deniable_shared.spec import Spec


NO_LISTS = ValueLists()


@dataclass(frozen=True)
class EstimateRequest:
    """A question about one metric in one period.

    Attributes:
        query: how to answer. Its days do not matter here.
        lists: the values that the question is about.
        level: of the intervals, in (0, 1).
        versions: the versions of all periods of a question. Their values are estimated in each
            period. A value that a period does not know is left out of it. Empty for the versions
            with reports.
    """

    query: EstimateQuery
    lists: ValueLists = NO_LISTS
    level: float = DEFAULT_LEVEL
    versions: Sequence[Spec] = ()


@dataclass(frozen=True)
class ChangeRequest:
    """A question about the difference of one metric between two periods, or two other sides.

    Attributes:
        query: how to answer. Its days do not matter here.
        lists: the values that the question is about.
        level: of the intervals, in (0, 1).
    """

    query: ChangeQuery | CompareQuery
    lists: ValueLists = NO_LISTS
    level: float = DEFAULT_LEVEL

    @property
    def segment(self) -> str | None:
        """The segment that both sides are within."""
        query = self.query
        return query.within if isinstance(query, CompareQuery) else query.segment

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Above and below which number values are whose share is asked for, too."""
        return ends_of(self.query)

    @property
    def interval(self) -> IntervalKind:
        """What intervals cover."""
        return self.query.interval or ("one" if self.query.top is None else "picked")

    def alpha(self, items: int) -> float:
        """The probability that a single interval may miss, if so many items are compared.

        Args:
            items: how many, at least 1 for intervals of several at once.
        """
        most_shown = min(self.query.top or items, items)
        return alpha_per_interval(self.interval, level=self.level, asked=items, shown=most_shown)


@dataclass(frozen=True)
class CollectedTallies:
    """What was counted of one metric over some days.

    Attributes:
        sums: for each spec with reports in these days, the spec and its counts.
        periods: by the specs' digests, how many reports there are of each of their periods.
        excluded: how many reports are left out, because their keys are excluded.
        counted: how many reports of each spec these are, where the counts are weighted ones.
    """

    sums: Sequence[tuple[Spec, Counts]]
    periods: Mapping[bytes, Mapping[int, int]]
    excluded: int = 0
    counted: Sequence[tuple[Spec, int]] | None = None

    @cached_property
    def tallies(self) -> Sequence[tuple[Spec, NDArray[np.int64]]]:
        """For each of these specs, the spec and all of its counters: int64, (cells,)."""
        return [(spec, all_counters(counts)) for spec, counts in self.sums]

    @property
    def reports_by_spec(self) -> list[tuple[Spec, int]]:
        """How many reports there are of each spec that has any."""
        if self.counted is not None:
            return list(self.counted)
        return [(spec, reports) for spec, _, reports in nonempty(self.sums)]

    @property
    def specs(self) -> list[Spec]:
        """The specs with reports."""
        return [spec for spec, _ in self.sums]

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return sum(sum(periods.values()) for periods in self.periods.values())

    def only(self, digests: Collection[bytes]) -> CollectedTallies:
        """The counts of some versions."""
        return replace(
            self,
            sums=[entry for entry in self.sums if entry[0].digest in digests],
            periods={each: days for each, days in self.periods.items() if each in digests},
        )


class LeftOut(NamedTuple):
    """Reports that are not counted.

    Attributes:
        epoch: their day.
        key: the id of their key.
    """

    epoch: int
    key: str
    reports: int


@dataclass(frozen=True)
class MetricReports:
    """The reports of one metric over some days.

    Attributes:
        entries: the versions of the metric.
        days: the days that were read.
        tables: what is counted, by digest; only versions with reports.
        left_out: what is not counted, because the key is excluded or was asked to be left out.
        keys: all keys of the store, by id.
        without: the ids of the keys that the question leaves out.
        mixed: how many reports of excluded keys are counted all the same, by key: they were added
            up with those of other keys before the key was excluded.
        set_aside: how many reports each day has of versions that do not add up with these.
    """

    entries: Sequence[CatalogEntry]
    days: DayRange
    tables: Mapping[bytes, SliceTable]
    left_out: Sequence[LeftOut]
    keys: Mapping[str, StoredKey]
    without: frozenset[str]
    mixed: Mapping[str, int] = field(default_factory=dict)
    set_aside: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def apart(self) -> MetricReports:
        """The same reports without slices that no question shows by themselves."""
        return self._with({digest: table.apart for digest, table in self.tables.items()})

    def reading_ahead(self) -> MetricReports:
        """The same reports for a question that goes through the days in parts."""
        return self._with({digest: table.reading_ahead() for digest, table in self.tables.items()})

    def with_least(self, least: int) -> MetricReports:
        """The same reports without hidden slices of fewer.

        Args:
            least: how many reports those that stay have.
        """
        return self._with(
            {digest: table.with_least(least) for digest, table in self.tables.items()}
        )

    def _with(self, tables: Mapping[bytes, SliceTable]) -> MetricReports:
        filled = {digest: table for digest, table in tables.items() if not table.is_empty}
        return replace(self, tables=filled)

    @cached_property
    def by_day(self) -> Mapping[bytes, Mapping[int, int]]:
        """How many reports each version has of each day."""
        return {digest: table.reports_by_day for digest, table in self.tables.items()}

    @cached_property
    def reports(self) -> int:
        """How many there are in all of these days."""
        return sum(sum(counted.values()) for counted in self.by_day.values())

    @cached_property
    def reports_by_key(self) -> Mapping[str, int]:
        """How many reports each key brought, of those that may be asked about by themselves.

        Raises:
            DaysRolledUpError: if some were added to those of others.
        """
        reports: Counter[str] = Counter()
        for table in self.apart.tables.values():
            if table.rolled:
                raise DaysRolledUpError([period.days for period in table.rolled], "keys")
            reports.update(table.reports_by_key)
        return reports

    @cached_property
    def reported_days(self) -> Sequence[int]:
        """The days with reports of any version, in their order."""
        return sorted(set().union(*self.by_day.values()))

    @property
    def specs(self) -> list[Spec]:
        """The versions with reports."""
        return [entry.spec for entry in self.entries if self.by_day.get(entry.spec.digest)]

    @property
    def excluded(self) -> int:
        """How many reports are left out because an administrator has excluded their keys."""
        return sum(slice_.reports for slice_ in self.left_out if self.is_excluded(slice_.key))

    def of_keys(self, chosen: frozenset[str]) -> MetricReports:
        """The reports of some keys, without slices that no question shows by themselves.

        Args:
            chosen: their ids.

        Raises:
            DaysRolledUpError: if they were added to those of others.
        """
        tables: dict[bytes, SliceTable] = {}
        for digest, table in self.apart.tables.items():
            there = {*table.key_ids, *(k for p in table.rolled for k in p.summary.keys)}
            others = frozenset(there - chosen)
            _require_apart(table, others, frozenset())
            kept = table.without(others)
            if not kept.is_empty:
                tables[digest] = kept
        left_out = [each for each in self.left_out if each.key in chosen]
        return replace(self, tables=tables, left_out=left_out, mixed={})

    def fingerprint(self, days: DayRange) -> Hashable:
        """The same for two ranges of days only if the same was counted in them.

        Raises:
            DaysRolledUpError: if only some of the days that became one are among these.
        """
        since, until = epoch_of(days.since), epoch_of(days.until)
        return tuple(table.between(since, until).fingerprint for table in self.tables.values())

    @cached_property
    def of_days(self) -> MetricReports:
        """The same reports without those of days that became one."""
        tables = {
            digest: replace(table, rolled=()) for digest, table in self.tables.items() if len(table)
        }
        return replace(self, tables=tables)

    def only(self, digests: Collection[bytes]) -> MetricReports:
        """The reports of some versions."""
        aside: Counter[int] = Counter(self.set_aside)
        for digest, days in self.by_day.items():
            if digest not in digests:
                aside.update(days)
        return replace(
            self,
            set_aside=aside,
            entries=[entry for entry in self.entries if entry.spec.digest in digests],
            tables={digest: table for digest, table in self.tables.items() if digest in digests},
        )

    def is_excluded(self, key: str) -> bool:
        """Whether an administrator has excluded a key from all answers."""
        stored = self.keys.get(key)
        return stored is not None and stored.excluded is not None


def read_reports(
    store: Store,
    tables: SliceTables,
    entries: Sequence[CatalogEntry],
    days: DayRange,
    without: frozenset[str] = frozenset(),
    few: FewReports | None = None,
) -> MetricReports:
    """Reads what was counted of a metric.

    Args:
        without: ids of keys to leave out.
        few: which slices are few: no question shows them by themselves, and they are left out
            with no key.

    Raises:
        DaysRolledUpError: if days that became one are asked about in part, or without a key whose
            reports are in them.
    """
    # Asked for anew by each question: a key may have been excluded a moment ago.
    keys = {key.id: key for key in store.keys.all()}
    excluded = frozenset(key.id for key in keys.values() if key.excluded is not None)
    left_out_keys = without | excluded
    counted: dict[bytes, SliceTable] = {}
    mixed: Counter[str] = Counter()
    left_out: list[LeftOut] = []
    read: list[SliceTable] = []
    for entry in entries:
        yield_point()
        table = tables.table(entry, epoch_of(days.since), epoch_of(days.until))
        mixed.update(_require_apart(table, without, left_out_keys))
        kept = table.without(excluded)
        left_out.extend(_left_out(table, kept, excluded))
        read.append(kept)
    if few is not None:
        masks = hidden_slices(read, few)
        read = [
            replace(table, hidden=mask, least=few.least)
            for table, mask in zip(read, masks, strict=True)
        ]
    for table in read:
        kept = table.without(without)
        left_out.extend(_left_out(table, kept, without - excluded))
        if not kept.is_empty:
            counted[table.entry.spec.digest] = kept
    return MetricReports(entries, days, counted, left_out, keys, without, mixed)


def _left_out(table: SliceTable, kept: SliceTable, keys: frozenset[str]) -> Iterator[LeftOut]:
    """What a table has of these keys beyond what was kept of it."""
    stays = {(epoch, key) for epoch, key, _ in _slices_of(kept, keys)}
    for epoch, key, reports in _slices_of(table, keys):
        if (epoch, key) not in stays:
            yield LeftOut(epoch, key, reports)
    for gone in without_keys(table.rolled, keys).gone:
        for epoch, reports in gone.summary.days.items():
            yield LeftOut(epoch, gone.key, reports)


def _slices_of(table: SliceTable, keys: frozenset[str]) -> Iterator[tuple[int, str, int]]:
    """The day, key and number of reports of each slice of some keys."""
    codes = [code for code, key in enumerate(table.key_ids) if key in keys]
    chosen = np.isin(table.keys, codes)
    columns = (column[chosen].tolist() for column in (table.epochs, table.keys, table.reports))
    for epoch, code, reports in zip(*columns, strict=True):
        yield epoch, table.key_ids[code], reports


def _require_apart(
    table: SliceTable, asked_out: frozenset[str], left_out: frozenset[str]
) -> Mapping[str, int]:
    """How many reports of excluded keys cannot be told apart from those of others.

    Raises:
        DaysRolledUpError: if reports of keys that the question leaves out were added to those of
            others.
    """
    if without_keys(table.rolled, asked_out).mixed:
        raise DaysRolledUpError(
            [period.days for period in table.rolled if asked_out & period.summary.keys.keys()],
            "keys",
        )
    return without_keys(table.rolled, left_out).mixed


def collect_tallies(reported: MetricReports, days: DayRange) -> CollectedTallies:
    """The tallies of a metric; versions without reports in these days are left out."""
    since, until = epoch_of(days.since), epoch_of(days.until)
    sums: list[tuple[Spec, Counts]] = []
    periods = {}
    for entry in reported.entries:
        spec = entry.spec
        if spec.digest not in reported.tables:
            continue
        yield_point()
        table = reported.tables[spec.digest].between(since, until)
        if not table.is_empty:
            sums.append((spec, _counts(entry.tally, table)))
            periods[spec.digest] = reports_by_period(spec, table.reports_by_day)
    excluded = sum(
        slice_.reports
        for slice_ in reported.left_out
        if since <= slice_.epoch <= until and reported.is_excluded(slice_.key)
    )
    return CollectedTallies(sums, periods, excluded)


def _counts(tally: Tally, table: SliceTable) -> Counts:
    """The sum of all slices of a table."""
    total = table.sum(tally.cells)
    places = total.places() if tally.has_places else None
    return total.array() if places is None else FewCounts(places, tally.cells)


if TYPE_CHECKING:
    Days = Mapping[int, int]
    """Number of reports by day."""


def say_periods(head: Head, specs: Iterable[Spec], by_day: Mapping[bytes, Days]) -> None:
    """Adds in how many periods reports came, and on which days: of each version, and of all.

    Args:
        by_day: how many reports each has of each day, by digest.
    """
    registered = {spec.digest.hex(): spec for spec in specs}
    counted = [registered[counted_version.version] for counted_version in head.versions]
    if not counted:
        return
    for version, spec in zip(head.versions, counted, strict=True):
        days = by_day[spec.digest]
        version.period_counts = _period_counts(spec.every, [days])
        version.first_day, version.last_day = day_of(min(days)), day_of(max(days))
    shortest = min((spec.every for spec in counted), key=EVERY.index)
    head.period_counts = _period_counts(shortest, [by_day[spec.digest] for spec in counted])


def _period_counts(every: Every, days: Iterable[Days]) -> PeriodCounts:
    counts: Counter[int] = Counter()
    for period_days in days:
        for epoch, reports in period_days.items():
            counts[period(every, epoch)] += reports
    filled = [reports for reports in counts.values() if reports]
    return PeriodCounts(len(filled), max(filled, default=0))


class UnanswerableError(ParameterError):
    """What is asked makes sense, but not of this metric or these reports.

    Args:
        name: of the parameter.
    """

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(name, "one that can be answered", value)
        self.args = (reason,)
        self._arguments = name, value, reason

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._arguments


MOST_LISTED: Final = 8
"""Of the names that there are; `deniable metrics show` has all of them."""


class UnknownNameError(ParameterError):
    """A value or segment that a question names is none of the metric's.

    Args:
        name: of the parameter: value, combined or segment.

    Attributes:
        next_step: what may be meant, and how to see what there is; one or two sentences.
    """

    def __init__(self, name: str, metric: str, known_names: Collection[str], value: str) -> None:
        few = len(known_names) <= MOST_LISTED
        listed = ", ".join(known_names) if few else f"the {len(known_names):,} of {metric}"
        super().__init__(name, f"one of {listed}", value)
        self._arguments = name, metric, tuple(known_names), value
        self.next_step = (
            f"{did_you_mean(value, known_names)} deniable metrics show {metric} lists them."
        ).strip()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), self._arguments
