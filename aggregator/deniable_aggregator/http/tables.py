"""Answers as rows of the long table: the response that carries them."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from flask import Response

from deniable_aggregator.media.row_formats import FORMATS, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deniable_aggregator.answers.row import Row


def table_response(
    rows: Iterable[Row], name: str, file_name: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The HTTP response that carries rows, which are encoded while they are sent.

    Args:
        rows: of the long table.
        name: of the format.
        file_name: what a browser calls the file, without its ending.
        headers: further headers.
    """
    pieces = encode(rows, name)
    # What fails before is answered with a problem document. Of no rows there may be no piece.
    first = next(pieces, b"")
    response = Response(
        chain((first,), pieces), headers=headers, content_type=FORMATS[name].content_type
    )
    response.headers.set("Content-Disposition", "attachment", filename=f"{file_name}.{name}")
    return response
