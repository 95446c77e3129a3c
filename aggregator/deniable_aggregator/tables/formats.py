"""The formats of the long table, by the names that files and addresses end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.extras import require
from deniable_aggregator.tables.text import encode_csv, encode_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from deniable_aggregator.tables.row import Row


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
    return _encoder(name)(rows)


def _encoder(name: str) -> Callable[[Iterable[Row]], Iterator[bytes]]:
    if name == "csv":
        return encode_csv
    if name == "jsonl":
        return encode_jsonl
    from deniable_aggregator.tables.arrow import encode_arrow, encode_parquet  # without pyarrow

    return {"arrow": encode_arrow, "parquet": encode_parquet}[name]
