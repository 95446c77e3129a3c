"""Answers to GET, compressed with gzip for clients that take it.

Not those to POST, which may have a new key's token beside what its sender chose; what compresses
well together tells how alike the two are (Gluck, Harris and Prado, "BREACH", 2013). Form tokens of
pages are masked anew in each answer for the same reason.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final

from flask import request

if TYPE_CHECKING:
    from flask import Flask, Response

LEAST_BYTES: Final = 1 << 10
LEVEL: Final = 5
"""A page of 170 kB takes 3 ms and 20 kB; level 9 takes three times as long for 1 kB less."""

COMPRESSIBLE: Final = frozenset(
    ("application/json", "application/problem+json", "image/svg+xml", "text/csv", "text/markdown")
)


def compress_answers(app: Flask) -> None:
    """Has an application compress what it answers, but for what is streamed."""
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if request.method not in ("GET", "HEAD"):
        return response
    name = response.mimetype or ""
    if not (name in COMPRESSIBLE or (name.startswith("text/") and name != "text/event-stream")):
        return response
    response.vary.add("Accept-Encoding")
    if (
        request.method == "GET"
        and response.status_code == 200
        and "Content-Encoding" not in response.headers
        and request.accept_encodings.quality("gzip") > 0
        and not response.is_streamed
    ):
        response.direct_passthrough = False
        body = response.get_data()
        if len(body) >= LEAST_BYTES:
            response.set_data(gzip.compress(body, LEVEL, mtime=0))
            response.headers["Content-Encoding"] = "gzip"
    return response
