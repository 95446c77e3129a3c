"""Sums of counters by version, day and key, and their form as a table."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from deniable_aggregator.engines.schemas import TALLIES
from deniable_aggregator.store import add_reports
from deniable_aggregator.store.encoding import CounterSum, count_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from datetime import date

    from deniable_aggregator.tallies import Tally

HELD_BYTES: Final = 128 << 20
"""Counters are held as integers up to so many bytes, and encoded then."""

_READ_ROWS: Final = 64


class SliceKey(NamedTuple):
    """What reports are counted by.

    Attributes:
        version: the digest of the metric's spec, in hexadecimal.
        day: the day of the reports.
        key: the id of the write key.
    """

    version: str
    day: date
    key: str


class SliceSum(NamedTuple):
    """A sum of reports.

    Attributes:
        counters: of the tally, then of its diagnostics.
    """

    where: SliceKey
    reports: int
    counters: CounterSum


class Counters:
    """Adds counters up. Memory is bounded by `HELD_BYTES` and what has been encoded.

    Args:
        cells: how many of the counters of a version are those of its tally.
        lengths: how many counters a version may have.
    """

    def __init__(
        self, cells: Callable[[str], int], lengths: Callable[[str], Container[int]]
    ) -> None:
        self._cells = cells
        self._lengths = lengths
        self._sums: dict[SliceKey, SliceSum] = {}
        self._bytes = 0
        self._encoded: list[pa.Table] = []

    def add(self, where: SliceKey, tally: Tally, payload: bytes) -> None:
        """Counts reports.

        Args:
            payload: the reports, one after the other; at least one.

        Raises:
            WireError: if one is none that a device can send.
        """
        before = self._sums.get(where)
        if before is None:
            before = SliceSum(where, 0, CounterSum(tally.stored_cells))
        self._bytes -= before.counters.nbytes
        reports = add_reports(before.counters, tally, payload)
        self._bytes += before.counters.nbytes
        self._sums[where] = before._replace(reports=before.reports + reports)
        if self._bytes > HELD_BYTES:
            self._encoded.append(encode_sums(self._sums.values(), self._cells))
            self._sums, self._bytes = {}, 0

    def table(self) -> pa.Table:
        """The sums as `TALLIES`, sorted, each version, day and key once."""
        collected = encode_sums(self._sums.values(), self._cells)
        if not self._encoded:
            return _sort_rows(collected)
        return encode_sums(sums([*self._encoded, collected], self._lengths), self._cells)


def sums(
    tables: Iterable[pa.Table], lengths: Callable[[str], Container[int]]
) -> Iterator[SliceSum]:
    """The sums of tallies, sorted by version, day and key.

    Counters of different lengths stay apart: different versions of this program counted them, and
    those that a shorter row lacks were never counted.

    Args:
        tables: of `TALLIES`, in any order and grouped in any way.
        lengths: how many counters a version may have.

    Raises:
        ValueError: if counters are damaged, or there are more or fewer.
    """
    alike = (table.select(TALLIES.names).cast(TALLIES) for table in tables)
    together = _sort_rows(pa.concat_tables([TALLIES.empty_table(), *alike]))
    for where, rows in groupby(_rows(together), key=lambda row: row[0]):
        by_length: dict[int, SliceSum] = {}
        for _, reports, blob in rows:
            cells = _count_cells(where, blob, lengths)
            before = by_length.get(cells) or SliceSum(where, 0, CounterSum(cells))
            _add(where, before.counters, blob)
            by_length[cells] = before._replace(reports=before.reports + reports)
        yield from by_length.values()


_DAMAGE: Final = (IndexError, OverflowError, TypeError, ValueError)
"""What decoding raises for bytes that nobody has encoded."""


def _count_cells(where: SliceKey, blob: bytes, lengths: Callable[[str], Container[int]]) -> int:
    """How many counters there are; checked before memory is taken for them."""
    allowed = lengths(where.version)
    try:
        cells = count_cells(blob)
    except _DAMAGE:
        cells = -1
    if cells not in allowed:
        raise ValueError(f"the counters of {where} are damaged, or not those of its version")
    return cells


def _add(where: SliceKey, total: CounterSum, blob: bytes) -> None:
    try:
        total.add_part(blob)
    except _DAMAGE:
        raise ValueError(f"the counters of {where} are damaged") from None


def encode_sums(slice_sums: Iterable[SliceSum], cells: Callable[[str], int]) -> pa.Table:
    """Sums as `TALLIES`, in the same order.

    Args:
        cells: how many of the counters of a version are those of its tally.
    """
    columns: defaultdict[str, list[object]] = defaultdict(list)
    for where, reports, counters in slice_sums:
        values = *where, reports, counters.encode(cells(where.version))
        for name, value in zip(TALLIES.names, values, strict=True):
            columns[name].append(value)
    return pa.table({name: columns[name] for name in TALLIES.names}, schema=TALLIES)


def _rows(table: pa.Table) -> Iterator[tuple[SliceKey, int, bytes]]:
    for batch in table.to_batches(max_chunksize=_READ_ROWS):
        columns = (batch.column(name).to_pylist() for name in TALLIES.names)
        for version, day, key, reports, counters in zip(*columns, strict=True):
            yield SliceKey(version=version, day=day, key=key), reports, counters


def _sort_rows(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in SliceKey._fields])
