"""Rows as an Arrow IPC stream and as a Parquet file, both with the same fixed schema."""

from __future__ import annotations

import io
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

from msgspec.structs import astuple

from deniable_aggregator.tables.row import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROWS_AT_ONCE: Final = 8_192
"""So many rows are a batch, and a group of rows of a Parquet file."""
_VARIED: Final = ("value",)
"""Texts that differ from row to row; all others are few, and so stored as dictionaries."""


def schema() -> Any:
    """The columns of the long table as a ``pyarrow.Schema``."""
    import pyarrow as pa

    dictionary = pa.dictionary(pa.int32(), pa.string())
    types = {bool: pa.bool_(), date: pa.date32(), float: pa.float64(), int: pa.int64()}
    fields = []
    for name, hint in get_type_hints(Row).items():
        text = pa.string() if name in _VARIED else dictionary
        alternatives = get_args(hint) or (hint,)
        found = [kind for each in alternatives if (kind := types.get(each)) is not None]
        may_be_none = type(None) in alternatives
        fields.append(pa.field(name, found[0] if found else text, nullable=may_be_none))
    return pa.schema(fields)


def encode_arrow(rows: Iterable[Row]) -> Iterator[bytes]:
    """An Arrow IPC stream, batch by batch.

    Args:
        rows: in their order.
    """
    import pyarrow as pa

    return _written(rows, lambda sink: pa.ipc.new_stream(sink, schema()))


def encode_parquet(rows: Iterable[Row]) -> Iterator[bytes]:
    """A Parquet file, one group of rows after the other.

    Args:
        rows: in their order.
    """
    import pyarrow.parquet as pq

    return _written(rows, lambda sink: pq.ParquetWriter(sink, schema(), compression="zstd"))


class _Sink(io.RawIOBase):
    """Keeps what is written until it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        self._written += len(self._pieces[-1])
        return len(self._pieces[-1])

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def _written(rows: Iterable[Row], open_writer: Callable[[Any], Any]) -> Iterator[bytes]:
    """What a writer of pyarrow writes, as soon as it has written it."""
    import pyarrow as pa

    columns, sink = schema(), _Sink()
    writer = open_writer(pa.PythonFile(sink, mode="w"))
    remaining = iter(rows)
    while batch := [astuple(row) for row in islice(remaining, ROWS_AT_ONCE)]:
        arrays = [
            pa.array(cells, pa.string()).dictionary_encode().cast(field.type)
            if pa.types.is_dictionary(field.type)
            else pa.array(cells, field.type)
            for cells, field in zip(zip(*batch, strict=True), columns, strict=True)
        ]
        writer.write_batch(pa.record_batch(arrays, schema=columns))
        if piece := sink.take():
            yield piece
    writer.close()
    yield sink.take()
