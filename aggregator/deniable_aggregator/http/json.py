"""Answers as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from flask import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

MEDIA_TYPE: Final = "application/json"


def json_response(
    answer: msgspec.Struct, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """The HTTP response that carries an answer.

    Args:
        answer: one of `deniable_aggregator.answers`.
        status: the HTTP status.
        headers: further headers.
    """
    return Response(msgspec.json.encode(answer), status, headers, content_type=MEDIA_TYPE)
