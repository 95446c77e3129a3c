"""Grouping the rows of an Arrow batch by version, day and key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deniable_aggregator.engines.counters import SliceKey
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray


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
