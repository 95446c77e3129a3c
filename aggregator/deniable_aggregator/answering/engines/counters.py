"""Sums of counters by version, day and key, and their form as a table."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable_aggregator.keeping.store import add_reports
from deniable_aggregator.keeping.store.encoding import CounterSum, count_cells
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from deniable_aggregator.counting.tallies import Tally


REPORTS: Final = pa.schema(
    [
        ("version", pa.string()),
        ("day", pa.date32()),
        ("key", pa.string()),
        ("report", pa.binary()),
    ]
)
"""One report a row: the version of its metric (64 hexadecimal digits), the day, the id of the write
key, and the bytes of the report. Dictionaries of strings and binary of a fixed size do as well."""

TALLIES: Final = pa.schema(
    [
        ("version", pa.string()),
        ("day", pa.date32()),
        ("key", pa.string()),
        ("reports", pa.int64()),
        ("counters", pa.binary()),
    ]
)
"""One sum of reports a row: how many there are, and their counters as a store keeps them. Several
rows of one version, day and key add up."""


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


def payloads_by_slice(
    batch: pa.RecordBatch, report_bytes: Callable[[str], int]
) -> Iterator[tuple[SliceKey, bytes]]:
    """The reports of each version, day and key in a batch, joined.

    Args:
        batch: of `REPORTS`; further columns do not matter.
        report_bytes: the width of the reports of a version.

    Raises:
        ParameterError: if a column is missing or has nulls, or a report has another width.
    """
    if not batch.num_rows:
        return
    columns = [_codes(batch, name) for name in SliceKey._fields]
    reports, versions = _column(batch, "report"), columns[0][1]
    # Of several versions, each may have a width of its own.
    packed = _as_void_items(reports, report_bytes(versions[0])) if len(versions) == 1 else None
    for rows in _groups(columns):
        where = SliceKey(*(values[int(codes[rows[0]])] for codes, values in columns))
        if packed is None:
            chosen = _as_void_items(reports.take(pa.array(rows)), report_bytes(where.version))
        else:
            chosen = packed if rows.size == packed.size else packed[rows]
        yield where, chosen.tobytes()


def _groups(columns: Sequence[tuple[NDArray[Any], list[Any]]]) -> list[NDArray[np.int64]]:
    """The numbers of the rows that have the same values in all columns, for each such group."""
    groups = np.zeros(columns[0][0].size, np.int64)
    for codes, values in columns:
        if len(values) > 1:
            groups = groups * len(values) + codes
    highest = int(groups.max())
    if not highest:
        return [np.arange(groups.size)]
    small = groups.astype(np.min_scalar_type(highest))  # NumPy sorts small integers by radix
    order = np.argsort(small, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(small[order])) + 1)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name not in batch.schema.names:
        raise ParameterError("columns", f"with {name}", batch.schema.names)
    column = batch.column(name)
    if column.null_count:
        raise ParameterError(name, "given in every row", None)
    return column


def _codes(batch: pa.RecordBatch, name: str) -> tuple[NDArray[Any], list[Any]]:
    """For each row the place of its value in a list of values, as `SliceKey` has them."""
    column = _column(batch, name)
    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    values = column.dictionary
    dtype = pa.date32() if name == "day" else pa.string()
    return column.indices.to_numpy(zero_copy_only=False), values.cast(dtype).to_pylist()


def _as_void_items(reports: pa.Array, width: int) -> NDArray[Any]:
    """Reports as void items: (reports,), of `width` bytes each.

    Raises:
        ParameterError: if one has another width.
    """
    if isinstance(reports, pa.FixedSizeBinaryArray):
        lengths = {reports.type.byte_width}
        start, data = reports.offset * reports.type.byte_width, reports.buffers()[1]
    else:
        lengths = set(pc.unique(pc.binary_length(reports)).to_pylist())
        reports = reports.cast(pa.large_binary())
        offsets = np.frombuffer(reports.buffers()[1], np.int64)
        start, data = int(offsets[reports.offset]), reports.buffers()[2]
    if lengths != {width}:
        raise ParameterError("report", f"of {width} bytes", sorted(lengths - {width})[0])
    return np.frombuffer(data, f"V{width}", len(reports), start)
