"""The formats of the long table, by the names that files and addresses end with.

All are written from the columns of some rows at a time. Every number is written with as many digits
as it takes to read the same float64 back.
"""

from __future__ import annotations

import io
import re
from datetime import date
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import astuple

from deniable_aggregator.answers.columns import COLUMNS
from deniable_aggregator.answers.extras import require
from deniable_aggregator.answers.row import Row
from deniable_shared.characters import visible_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


class Format(NamedTuple):
    """A way to write the long table.

    Attributes:
        name: which is also how names of files end.
        media_type: of HTTP, without parameters.
        content_type: the same with them.
    """

    name: str
    media_type: str
    content_type: str


FORMATS: Final[Mapping[str, Format]] = {
    each.name: each
    for each in (
        Format("csv", "text/csv", "text/csv; charset=utf-8; header=present"),
        Format("jsonl", "application/jsonl", "application/jsonl"),
        Format(
            "arrow", "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.stream"
        ),
        Format("parquet", "application/vnd.apache.parquet", "application/vnd.apache.parquet"),
    )
}
"""All formats by their names."""

EXTRA: Final = "tables"
"""The extra that brings what two of the formats need."""

TEXT_ROWS: Final = 512
"""So many rows of text are one piece: about 200 kB."""

BATCH_ROWS: Final = 8_192
"""So many rows are a batch of Arrow, and a group of rows of a Parquet file."""

_VARIED: Final = ("value",)
"""Texts that differ from row to row; all others are few, and so stored as dictionaries."""

_PLACES: Final = [Row.__struct_fields__.index(name) for name in COLUMNS]

_FORMULA: Final = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")
"""How a text begins that a spreadsheet would take for a formula (OWASP, CSV injection)."""

_NEEDS_QUOTES: Final = re.compile('[",\r\n]|^ | $|^$')


def require_format(name: str) -> None:
    """Checks that what a format needs is installed.

    Args:
        name: one of `FORMATS`.

    Raises:
        MissingExtraError: with the command that installs it.
    """
    if name in ("arrow", "parquet"):
        require(EXTRA, "pyarrow")


def encode(rows: Iterable[Row], name: str) -> Iterator[bytes]:
    """The long table in a format, piece by piece.

    Args:
        rows: in their order; taken as they are needed.
        name: one of `FORMATS`.

    Returns:
        Pieces of at most some megabytes; none is kept.

    Raises:
        MissingExtraError: if pyarrow is needed and not installed.
    """
    require_format(name)
    return _ENCODERS[name](rows)


def spreadsheet_safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: with an apostrophe in front where one would.

    Args:
        text: whatever devices or registries hold.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def schema() -> Any:
    """The columns of the long table as a ``pyarrow.Schema``."""
    import pyarrow as pa

    types = {bool: pa.bool_(), date: pa.date32(), float: pa.float64(), int: pa.int64()}
    few = pa.dictionary(pa.int32(), pa.string())
    texts = {name: pa.string() for name in _VARIED}
    return pa.schema(
        [
            pa.field(name, types.get(kind) or texts.get(name, few), nullable=may_be_none)
            for name, (kind, may_be_none) in COLUMNS.items()
        ]
    )


def _by_column(rows: Iterable[Row], most: int) -> Iterator[list[Sequence[Any]]]:
    """The cells of each column, of some rows at a time."""
    remaining = iter(rows)
    while batch := [astuple(row) for row in islice(remaining, most)]:
        fields = list(zip(*batch, strict=True))
        yield [fields[place] for place in _PLACES]


def _csv(rows: Iterable[Row]) -> Iterator[bytes]:
    r"""CSV (RFC 4180) with a header, lines that end in \n, and nothing where a column is None.

    An empty text is a pair of quotes. A text that a spreadsheet would take for a formula gets an
    apostrophe in front; one that has an apostrophe there already gets another, so that a program
    can remove one from each text that begins with apostrophes and a sign of a formula.
    """
    yield (",".join(COLUMNS) + "\n").encode()
    in_text = [_IN_CSV[kind] for kind, _ in COLUMNS.values()]
    for columns in _by_column(rows, TEXT_ROWS):
        cells = map(_csv_column, columns, in_text)
        yield "".join([",".join(line) + "\n" for line in zip(*cells, strict=True)]).encode()


def _csv_column(cells: Sequence[Any], in_text: Callable[[Any], str]) -> Sequence[str]:
    first = cells[0]
    if not isinstance(first, float) and cells.count(first) == len(cells):  # 0.0 is -0.0
        return ["" if first is None else in_text(first)] * len(cells)
    if None in cells:
        return ["" if cell is None else in_text(cell) for cell in cells]
    return list(map(in_text, cells))


@lru_cache(1_024)  # most texts are those of the row before
def _csv_text(text: str) -> str:
    text = spreadsheet_safe(text)
    if _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


_IN_CSV: Final[Mapping[type, Callable[[Any], str]]] = {
    bool: {True: "true", False: "false"}.__getitem__,
    date: lru_cache(1_024)(date.isoformat),
    float: repr,
    int: repr,
    str: _csv_text,
}


def _jsonl(rows: Iterable[Row]) -> Iterator[bytes]:
    """JSON lines: an object with all columns on every line.

    Characters that act on a terminal are escaped, as texts may be those that devices sent.
    """
    encoder = msgspec.json.Encoder()
    line = msgspec.defstruct("line", list(COLUMNS), gc=False)  # unlike a row, it leaves nothing out
    for columns in _by_column(rows, TEXT_ROWS):
        piece = encoder.encode_lines(list(map(line, *columns)))
        yield piece if piece.isascii() else visible_json(piece.decode()).encode()


def _arrow(rows: Iterable[Row]) -> Iterator[bytes]:
    """An Arrow IPC stream, batch by batch."""
    import pyarrow as pa

    return _binary(rows, lambda sink: pa.ipc.new_stream(sink, schema()))


def _parquet(rows: Iterable[Row]) -> Iterator[bytes]:
    """A Parquet file, one group of rows after the other."""
    import pyarrow.parquet as pq

    return _binary(rows, lambda sink: pq.ParquetWriter(sink, schema(), compression="zstd"))


def _binary(rows: Iterable[Row], open_writer: Callable[[Any], Any]) -> Iterator[bytes]:
    """What a writer of pyarrow writes, as soon as it has written it."""
    import pyarrow as pa

    fields, sink = schema(), _Sink()
    writer = open_writer(pa.PythonFile(sink, mode="w"))
    for columns in _by_column(rows, BATCH_ROWS):
        arrays = [
            pa.array(cells, pa.string()).dictionary_encode().cast(field.type)
            if pa.types.is_dictionary(field.type)
            else pa.array(cells, field.type)
            for cells, field in zip(columns, fields, strict=True)
        ]
        writer.write_batch(pa.record_batch(arrays, schema=fields))
        if piece := sink.take():
            yield piece
    writer.close()
    yield sink.take()


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


_ENCODERS: Final[Mapping[str, Callable[[Iterable[Row]], Iterator[bytes]]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "arrow": _arrow,
    "parquet": _parquet,
}
