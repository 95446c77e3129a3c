"""Has a WSGI application answer one request, which may have come through another process."""

from __future__ import annotations

import io
import sys
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from deniable_aggregator.server.granian_adapter import Scope

_UNPREFIXED: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class Request(msgspec.Struct, frozen=True):
    """A request without its body and without the client's address.

    Attributes:
        method: such as GET.
        path: decoded, without the query.
        query_string: as it was sent.
        http_version: such as 1.1.
        scheme: http or https.
        headers: names in lower case, and values.
    """

    method: str
    path: str
    query_string: str
    http_version: str
    scheme: str
    headers: list[tuple[str, str]]

    @classmethod
    def from_scope(cls, scope: Scope) -> Request:
        """The request that the web server has received."""
        return cls(
            scope.method,
            scope.path,
            scope.query_string,
            scope.http_version,
            scope.scheme,
            scope.headers.items(),
        )


class Response(msgspec.Struct, frozen=True):
    """An answer without its body.

    Attributes:
        status: of HTTP.
        headers: names in lower case, and values.
    """

    status: int
    headers: list[tuple[str, str]]


def call_wsgi(
    app: WSGIApplication, request: Request, body: bytes
) -> tuple[Response, Iterator[bytes]]:
    """Has a WSGI application answer a request.

    Args:
        app: the application.
        request: the request's line and headers.
        body: the request's body.

    Returns:
        The answer and the pieces of its body, which the application makes as they are taken.
    """
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _failure: object = None) -> Any:
        started[:] = [(status, headers)]
        return written.append

    start: StartResponse = start_response
    answer = app(_environ(request, body), start)
    pieces = _pieces(answer)
    written.extend(islice(pieces, 1))  # an application may begin only when its body is taken
    ((status, headers),) = started
    response = Response(
        int(status.partition(" ")[0]), [(name.lower(), value) for name, value in headers]
    )
    return response, chain(written, pieces)


def _pieces(answer: Iterable[bytes]) -> Iterator[bytes]:
    try:
        yield from answer
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def _environ(request: Request, body: bytes) -> WSGIEnvironment:
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": request.path.encode().decode("latin-1"),
        "QUERY_STRING": request.query_string,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": f"HTTP/{request.http_version}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": request.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in request.headers:
        key = _UNPREFIXED.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    # A body that came in chunks is whole here.
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ
