"""The slices of one version of a metric as columns: a slice is what one key brought for one day."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from deniable_aggregator.answering.rolled_slices import (
    ReadAhead,
    RolledSums,
    add_days,
    without_keys,
)
from deniable_aggregator.counting.yield_points import yield_point
from deniable_aggregator.keeping.store import DayStamp, StoredSlice, add_slices, count_slice
from deniable_aggregator.keeping.store.encoding import CounterSum

if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Hashable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from numpy.typing import NDArray

    from deniable_aggregator.answering.rolled_slices import ReadSlices
    from deniable_aggregator.keeping.catalog import CatalogEntry


MOST_TOTALS_BYTES: Final = 128 << 20
"""All sums together; those that were asked for longest ago are forgotten."""

BLOCK_DAYS: Final = 32
"""The sum of so many days is kept, instead of those of days."""

RECENT_DAYS: Final = 8
"""The sums of so many days, the newest ones of a version, are kept each by itself: most reports
come late, if they do, by a few days."""

_NARROW: Final = 1 << 15

_FEW: Final = ""
"""Stands for the keys of slices that are too few, which no key has as its id."""

_WORTH_KEEPING: Final = BLOCK_DAYS // 2
"""A smaller part of a block, such as one period of a series, is not kept."""


class BlockTotals:
    """Sums of blocks of days; each is summed again when the stamp of one of its days changes.

    Args:
        most_bytes: how much memory the sums take at most.
    """

    def __init__(self, most_bytes: int = MOST_TOTALS_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, CounterSum] = OrderedDict()
        self._bytes = 0

    def total(self, table: SliceTable, cells: int) -> CounterSum:
        """The sum of all slices of a table, without days that became one.

        Args:
            table: its counters are not in memory.
            cells: how many of the stored integers of each slice are wanted, the first ones.
        """
        total = CounterSum(cells)
        table = replace(table, rolled=())  # days that became one have a sum
        blocks: dict[tuple[int, int], list[int]] = {}
        for day in table.days.tolist():
            recent = day > table.newest - RECENT_DAYS
            blocks.setdefault((day, 1) if recent else (day // BLOCK_DAYS, 0), []).append(day)
        kept = {name for name, days in blocks.items() if name[1] or len(days) >= _WORTH_KEEPING}
        parts = {name: table.between(days[0], days[-1]) for name, days in blocks.items()}
        alone = (parts[name].read_stored() for name in parts if name not in kept)
        # All of them at once: an array of all counters for each would cost more than they do.
        add_slices(total, table.entry.tally, (part for _, part in chain.from_iterable(alone)))
        for name in parts:
            yield_point()
            if name in kept:
                total.add_sum(self._block(parts[name], cells))
        return total

    def _block(self, block: SliceTable, cells: int) -> CounterSum:
        name = block.fingerprint, cells
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
                return self._held[name]
        total = CounterSum(cells)
        add_slices(total, block.entry.tally, (part for _, part in block.read_stored()))
        total.shrink()  # it is added to others, and nothing is added to it
        with self._lock:
            if name not in self._held:
                self._bytes += total.nbytes
            self._held[name] = total
            while self._bytes > self._most_bytes and len(self._held) > 1:
                self._bytes -= self._held.popitem(last=False)[1].nbytes
        return total


CHUNK_BYTES: Final = 8 << 20
"""Counters are handed out in chunks of this size, so that arrays computed from a chunk are
small."""


class FewReports(NamedTuple):
    """Which slices nobody may ask about by themselves: those of open days with few reports.

    Attributes:
        since: the first open day.
        least: with so many reports a slice may be asked about.
    """

    since: int
    least: int


def few_reports(today: int, accept_days: int, batch_reports: int) -> FewReports | None:
    """Which slices nobody may ask about by themselves; None where all may be.

    Args:
        today: in days since 1970-01-01.
        accept_days: for how many days a day stays open for reports.
        batch_reports: how many reports are shown together.
    """
    return FewReports(today - accept_days, batch_reports) if batch_reports > 1 else None


def hidden_slices(tables: Sequence[SliceTable], few: FewReports) -> list[NDArray[np.bool_]]:
    """Which slices no question shows by themselves, nor as what is left of a day without others.

    Those are the few ones; and where all of a day are fewer than may be asked about, the smallest
    others until they are enough.

    Args:
        tables: of all versions that are asked about together.
        few: which slices are few.

    Returns:
        Of each table, bool, (slices,).
    """
    hidden = [(table.epochs >= few.since) & (table.reports < few.least) for table in tables]
    for day in sorted({day for table in tables for day in table.days.tolist() if day >= few.since}):
        own = [np.flatnonzero(table.epochs == day) for table in tables]
        missing = few.least - sum(
            int(table.reports[rows][mask[rows]].sum())
            for table, rows, mask in zip(tables, own, hidden, strict=True)
        )
        if missing in (few.least, 0) or missing < 0:  # none is few, or together they are enough
            continue
        others = sorted(
            (int(table.reports[row]), number, row)
            for number, (table, rows) in enumerate(zip(tables, own, strict=True))
            for row in rows[~hidden[number][rows]].tolist()
        )
        for reports, number, row in others:
            hidden[number][row] = True
            missing -= reports
            if missing <= 0:
                break
    return hidden


class SliceChunk(NamedTuple):
    """The counters of some slices of a table.

    Attributes:
        rows: int64, (slices,): which slices of the table, by day.
        reports: int64, (slices,): how many reports each has.
        counters: int64, (slices, cells): an array, and of a sparse tally a sparse one.
    """

    rows: NDArray[np.int64]
    reports: NDArray[np.int64]
    counters: Any


@dataclass(frozen=True, eq=False)
class SliceTable:
    """The slices of one version, by day and then by key; never changed once it is made.

    The counters of few slices, or of small tallies, are in memory. Others, such as those of
    sketches, are read from the store one slice at a time whenever they are needed.

    Attributes:
        entry: the version.
        epochs: int32, (slices,): the day of each slice, ascending, counted from 1970-01-01.
        keys: int32, (slices,): its key, as a position in `key_ids`; ascending within a day.
        key_ids: the ids of the keys, ascending; some may have no slice in this table.
        reports: int64, (slices,): how many reports each slice has.
        stamps: what changes whenever something of a day changes, for each day of the table.
        counters: integers, (slices, stored cells); None if they are not in memory.
        read_slices: reads those that are not.
        kept_totals: sums of those that are not.
        largest: int64, (slices,): the most reports of each that one upload brought; 0 if that is
            not known.
        left_out: ids of the keys whose slices are not in this table, though there may be some.
        rolled: the days that became one, whose slices are gone; no other attribute has them.
        hidden: bool, (slices,): those that no question shows by themselves, see `hidden_slices`;
            None for none.
        least: how many reports a slice has that is not hidden for its own sake.
        gone: the day and key of those that were left out as hidden.
        newest: the last day of all that the version has slices of, also of other tables.
    """

    entry: CatalogEntry
    epochs: NDArray[np.int32]
    keys: NDArray[np.int32]
    key_ids: tuple[str, ...]
    reports: NDArray[np.int64]
    stamps: Mapping[int, DayStamp]
    counters: NDArray[Any] | None
    read_slices: ReadSlices = field(repr=False)
    kept_totals: BlockTotals = field(repr=False)
    largest: NDArray[np.int64]
    left_out: frozenset[str] = frozenset()
    rolled: tuple[RolledSums, ...] = ()
    hidden: NDArray[np.bool_] | None = None
    least: int = 0
    gone: frozenset[tuple[int, str]] = frozenset()
    newest: int = 0

    def __len__(self) -> int:
        return len(self.epochs)

    @cached_property
    def days(self) -> NDArray[np.int32]:
        """int32, (days,): the days that have slices, ascending."""
        return self.epochs[self.starts]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """int64, (days,): the first slice of each of `days`."""
        return np.flatnonzero(np.diff(self.epochs, prepend=-1))

    @cached_property
    def reports_by_day(self) -> Mapping[int, int]:
        """How many reports each day has, also of those that became one."""
        if not len(self):
            return add_days({}, self.rolled)
        sums = np.add.reduceat(self.reports, self.starts)
        return add_days(dict(zip(self.days.tolist(), sums.tolist(), strict=True)), self.rolled)

    @property
    def is_empty(self) -> bool:
        """Whether there are no reports."""
        return not len(self) and not self.rolled

    @cached_property
    def reports_by_key(self) -> Mapping[str, int]:
        """How many reports each key brought, of those with a slice."""
        # Floats would round sums beyond 2^53.
        sums = np.zeros(len(self.key_ids), np.int64)
        np.add.at(sums, self.keys, self.reports)
        present = np.unique(self.keys).tolist()
        return {self.key_ids[code]: int(sums[code]) for code in present}

    @property
    def volumes(self) -> dict[str, dict[int, tuple[int, int]]]:
        """By key and day, how many reports there are, and the most that one upload brought."""
        found: dict[str, dict[int, tuple[int, int]]] = {}
        columns = self.keys, self.epochs, self.reports, self.largest
        for code, epoch, reports, largest in zip(*(c.tolist() for c in columns), strict=True):
            found.setdefault(self.key_ids[code], {})[epoch] = reports, largest
        return found

    @cached_property
    def _stamped_days(self) -> list[int]:
        return sorted(self.stamps)

    @cached_property
    def fingerprint(self) -> Hashable:
        """The same for two tables only if the same was counted in them, by the same names."""
        rolled = frozenset(period.stored.id for period in self.rolled)
        stamps = frozenset(self.stamps.items())
        return self.entry.spec, self.left_out, stamps, rolled, self.gone, self.hidden_cells

    @cached_property
    def hidden_cells(self) -> frozenset[tuple[int, str]]:
        """The day and key of each hidden slice."""
        rows = [] if self.hidden is None else np.flatnonzero(self.hidden).tolist()
        return frozenset((int(self.epochs[row]), self.key_ids[self.keys[row]]) for row in rows)

    def left_out_on(self, epoch: int) -> frozenset[str]:
        """The ids of the keys of which a day may have slices that this table has not.

        All of `left_out` but those whose slices of the day stay.
        """
        if self.hidden is None or not self.left_out:
            return self.left_out
        present = np.unique(self.keys[self.epochs == epoch]).tolist()
        return self.left_out.difference(self.key_ids[code] for code in present)

    def hidden_keys(self, epoch: int) -> frozenset[str]:
        """The ids of the keys whose slices of a day are hidden."""
        return frozenset(key for day, key in self.hidden_cells if day == epoch)

    def between(self, since: int, until: int) -> SliceTable:
        """The slices of some days.

        Args:
            until: the last, inclusive.

        Raises:
            DaysRolledUpError: if only some of the days that became one are among these.
        """
        rolled = tuple(period for period in self.rolled if period.is_within(since, until))
        first, end = np.searchsorted(self.epochs, [since, until + 1]).tolist()
        whole = (first, end) == (0, len(self)) and len(rolled) == len(self.rolled)
        stamped = self._stamped_days
        days = stamped[bisect_left(stamped, since) : bisect_right(stamped, until)]
        if whole and len(days) == len(stamped):
            return self
        stamps = {day: self.stamps[day] for day in days}
        return replace(self._rows(slice(first, end)), stamps=stamps, rolled=rolled)

    def without(self, keys: Collection[str]) -> SliceTable:
        """The slices of all other keys, and of these the few ones, which the difference would show.

        All slices of a day stay of which too few would be left.

        Args:
            keys: ids; those that this table has not are ignored.
        """
        rolled = without_keys(self.rolled, keys).periods
        codes = [code for code, key in enumerate(self.key_ids) if key in keys]
        if not codes:
            return self if len(rolled) == len(self.rolled) else replace(self, rolled=rolled)
        stay = ~np.isin(self.keys, codes)
        if self.hidden is not None:
            few = self.hidden & (self.reports < self.least)
            stay |= few
            for day in np.unique(self.epochs[few]).tolist():
                rows = self.epochs == day
                if self.reports[rows & stay].sum() < self.least:
                    stay |= rows
        left_out = self.left_out.union(self.key_ids[code] for code in codes)
        return replace(self._rows(np.flatnonzero(stay)), left_out=left_out, rolled=rolled)

    @cached_property
    def apart(self) -> SliceTable:
        """The slices that may be asked about by themselves."""
        return self if self.hidden is None else self._without_rows(self.hidden)

    def with_least(self, least: int) -> SliceTable:
        """The slices without hidden ones of fewer reports.

        Args:
            least: how many those that stay have.
        """
        if self.hidden is None:
            return self
        return self._without_rows(self.hidden & (self.reports < least))

    def _without_rows(self, gone: NDArray[np.bool_]) -> SliceTable:
        if not gone.any():
            return self
        left = self._rows(np.flatnonzero(~gone))
        cells = self.hidden_cells - left.hidden_cells
        left_out = frozenset({*self.left_out, _FEW})
        return replace(left, left_out=left_out, hidden=None, gone=cells)

    def _rows(self, rows: slice | NDArray[np.int64]) -> SliceTable:
        return replace(
            self,
            epochs=self.epochs[rows],
            keys=self.keys[rows],
            reports=self.reports[rows],
            largest=self.largest[rows],
            counters=None if self.counters is None else self.counters[rows],
            hidden=None if self.hidden is None else self.hidden[rows],
        )

    def chunks(self, cells: int) -> Iterator[SliceChunk]:
        """The counters of all slices, day by day.

        Those that are not in memory come one slice at a time, or many where the tally is sparse;
        those of a day in any order, as the store has them now: slices that were deleted since are
        left out, reports that were added since are in.

        Args:
            cells: how many of the stored integers of each slice are wanted, the first ones.
        """
        if self.counters is None:
            yield from self._read_chunks(cells)
            return
        rows = max(1, CHUNK_BYTES // (8 * max(cells, 1)))
        for first in range(0, len(self), rows):
            yield_point()
            selection = slice(first, min(first + rows, len(self)))
            counters = self.counters[selection, :cells].astype(np.int64)
            yield SliceChunk(
                np.arange(selection.start, selection.stop), self.reports[selection], counters
            )

    def held(self, cells: int) -> SliceTable:
        """The same slices with their counters in memory, in integers as narrow as they can be.

        Args:
            cells: how many of the stored integers of each slice are wanted, the first ones.
        """
        if self.counters is not None or self.entry.tally.is_sparse:
            return self
        rows: list[int] = []
        counters = []
        for row, part in self.read_stored():
            counted = count_slice(self.entry.tally, part)[:cells]
            rows.append(row)
            least, most = int(counted.min(initial=0)), int(counted.max(initial=0))
            fits = least >= -_NARROW and most < _NARROW
            counters.append(counted.astype(np.int16) if fits else counted)
        return replace(
            self._rows(np.array(rows, np.int64)), counters=np.array(counters).reshape(-1, cells)
        )

    def _read_chunks(self, cells: int) -> Iterator[SliceChunk]:
        tally = self.entry.tally
        if tally.is_sparse:
            yield from self._read_sparse_chunks()
            return
        for row, part in self.read_stored():
            # In no variable here, so that one slice is gone before the next is counted.
            yield SliceChunk(
                np.array([row]),
                np.array([part.reports], np.int64),
                count_slice(tally, part)[None, :cells],
            )

    def _read_sparse_chunks(self) -> Iterator[SliceChunk]:
        tally = self.entry.tally
        rows: list[int] = []
        sums: list[CounterSum] = []
        size = 0
        for row, part in self.read_stored():
            rows.append(row)
            sums.append(CounterSum(tally.stored_cells))
            add_slices(sums[-1], tally, [part])
            size += sums[-1].nbytes
            if size >= CHUNK_BYTES:
                yield _sparse_chunk(rows, sums)
                rows, sums, size = [], [], 0
        if rows:
            yield _sparse_chunk(rows, sums)

    def read_stored(self) -> Iterator[tuple[int, StoredSlice]]:
        """The slices as the store has them now, each with its row, by day.

        Those that were deleted since are left out, and reports that were added since are in.
        """
        if not len(self):
            return
        code_of = {key: code for code, key in enumerate(self.key_ids)}
        names = zip(self.epochs.tolist(), self.keys.tolist(), strict=True)
        row_of = {name: row for row, name in enumerate(names)}
        for since, until, at_once in self._days_read_together():
            yield_point()
            parts: Iterable[StoredSlice] = self.read_slices(since, until)
            if at_once:  # so that none of what comes between holds a connection to the store
                parts = list(parts)
            for part in parts:
                row = row_of.get((part.epoch, code_of.get(part.key, -1)))
                if row is not None:
                    yield row, part

    def _days_read_together(self) -> Iterator[tuple[int, int, bool]]:
        """The first and the last of some days, and whether all of their slices fit into memory."""
        tally = self.entry.tally
        # A slice is stored as its reports where they are smaller than its counters.
        sizes = np.minimum(self.reports * tally.report_bytes, 8 * tally.stored_cells)
        by_day = np.add.reduceat(sizes, self.starts).tolist()
        first, together = 0, 0
        for place, size in enumerate(by_day):
            if place > first and together + size > CHUNK_BYTES:
                yield int(self.days[first]), int(self.days[place - 1]), together <= CHUNK_BYTES
                first, together = place, 0
            together += size
        yield int(self.days[first]), int(self.days[-1]), together <= CHUNK_BYTES

    def reading_ahead(self) -> SliceTable:
        """The same slices for a question that goes through the days in parts, such as a series.

        Of counters that are not in memory, days that fit there together are read with one query.
        """
        if self.counters is not None or not len(self):
            return self
        runs = [(since, until) for since, until, fits in self._days_read_together() if fits]
        return replace(self, read_slices=ReadAhead(self.read_slices, runs))

    def total(self, cells: int) -> NDArray[np.int64]:
        """The sum of all slices, and of the days that became one: int64, (cells,).

        Args:
            cells: how many of the stored integers of each slice are wanted, the first ones: at most
                those of an estimate, if days became one.

        Raises:
            ChangedError: if days became one while they were read.
        """
        return self.sum(cells).array()

    def sum(self, cells: int) -> CounterSum:
        """As `total`, of a size that depends on how many reports there are."""
        if self.counters is not None:
            total = CounterSum(cells)
            total.add(self.counters[:, :cells].sum(axis=0, dtype=np.int64))
        else:
            total = self.kept_totals.total(self, cells)
        for period in self.rolled:
            period.add_to(total)
        return total


def _sparse_chunk(rows: list[int], sums: list[CounterSum]) -> SliceChunk:
    counts = [total.counts() for total in sums]
    starts = np.cumsum([0, *(places.size for places, _ in counts)])
    values, places = (
        np.concatenate(column) for column in zip(*((c, p) for p, c in counts), strict=True)
    )
    counters = csr_array((values, places, starts), (len(rows), sums[0].cells))
    reports = np.array([total.count() for total in sums], np.int64)
    return SliceChunk(np.array(rows), reports, counters)
