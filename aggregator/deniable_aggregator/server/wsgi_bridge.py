"""A WSGI application behind RSGI: the body is read in the event loop, and then a thread works.

So a slow client costs no thread. Answers are sent whole: those of this server are in memory anyway.
The client's address is left out of what the application gets to see.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from granian.rsgi import Scope

_NAMED: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class Response(NamedTuple):
    """An answer.

    Attributes:
        status: of HTTP.
        headers: names in lower case, and values.
        body: all of it.
    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def call_wsgi(app: WSGIApplication, scope: Scope, body: bytes) -> Response:
    """Lets a WSGI application answer a request.

    Args:
        app: the application.
        scope: the request as RSGI has it.
        body: its body.
    """
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _failure: object = None) -> Any:
        begun[:] = [(status, headers)]
        return written.append

    start: StartResponse = start_response
    answer = app(_environ(scope, body), start)
    try:
        written.extend(answer)
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()
    ((status, headers),) = begun
    return Response(
        int(status.partition(" ")[0]),
        [(name.lower(), value) for name, value in headers],
        b"".join(written),
    )


def _environ(scope: Scope, body: bytes) -> WSGIEnvironment:
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        key = _NAMED.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    # However it came, it is here now.
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ
