"""Requests for the Flask application: the event loop reads the body, then a thread answers.

So a slow client holds no thread. The Flask application does not see the client's address.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.api.readiness import PATHS as HEALTH_PATHS
from deniable_aggregator.app import EXTENSION
from deniable_aggregator.http.authorization import authenticate
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.server.deadlines import Deadlines
from deniable_aggregator.server.request_body import MemoryBudget, RequestBody
from deniable_aggregator.server.rsgi_messages import content_length, respond_problem
from deniable_aggregator.server.thread_pool import BoundedThreadPool

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from flask import Flask

    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.server.granian_adapter import HTTPProtocol, Scope

QUESTION_PATHS: Final = ("/estimate", "/series", "/change")
"""How the paths end whose bodies may be lists of candidates, and so much longer than others."""

QUESTION_SCOPES: Final = ("read", "admin")
"""Keys that may send such bodies; write keys ship with applications."""

HEALTH_THREADS: Final = 2
MAX_WAITING_PROBES: Final = 512
MAX_WAITING_QUESTIONS: Final = 64
BODY_PATIENCE: Final = 6
"""A body may take so many times `body_seconds`, as lists of candidates are long."""

_UNPREFIXED: Final = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class FlaskBridge:
    """Passes requests to the Flask application.

    Args:
        app: the Flask application.
        settings: limits.
        checks: threads for verifying keys.
    """

    def __init__(self, app: Flask, settings: Settings, checks: BoundedThreadPool) -> None:
        self._wsgi = app.wsgi_app
        self._verifier = app.extensions[EXTENSION].key_verifier
        self._settings = settings
        self._checks = checks
        self._memory = MemoryBudget(max(settings.in_flight_bytes, settings.max_candidates_bytes))
        self._deadlines = Deadlines(settings.body_seconds * BODY_PATIENCE)
        self._threads = BoundedThreadPool(
            "deniable", threads=settings.threads, waiting=MAX_WAITING_QUESTIONS
        )
        # Health has threads of its own: it is answered while all others wait for the store.
        self._health_threads = BoundedThreadPool(
            "deniable-health", threads=HEALTH_THREADS, waiting=MAX_WAITING_PROBES
        )

    async def handle(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answers one request."""
        threads = self._health_threads if scope.path in HEALTH_PATHS else self._threads
        body = RequestBody(self._memory)
        try:
            data = await self._read(body, scope, protocol)
            response = await threads.run(call_wsgi, self._wsgi, scope, data)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            respond_problem(protocol, error)
        else:
            protocol.response_bytes(response.status, response.headers, response.body)
        finally:
            body.release()

    async def _read(self, body: RequestBody, scope: Scope, protocol: HTTPProtocol) -> bytes:
        length = content_length(scope.headers)
        if length == 0:
            return b""
        limit, scopes = self._settings.max_body_bytes, SCOPES
        if scope.path.endswith(QUESTION_PATHS):
            limit, scopes = self._settings.max_candidates_bytes, QUESTION_SCOPES
        # No body is read for a request without a key.
        authorization = scope.headers.get("authorization", "")
        await self._checks.run(authenticate, self._verifier, authorization, *scopes)
        data = None
        if length is None or length <= limit:
            data = await body.read(protocol, length=length, limit=limit, deadlines=self._deadlines)
        if data is None:
            raise ProblemError("upload_too_large", f"Send at most {limit} bytes.")
        return data

    def close(self) -> None:
        """Ends the threads when they have answered what waits."""
        self._threads.close()
        self._health_threads.close()


class Response(NamedTuple):
    """An answer of a WSGI application.

    Attributes:
        status: of HTTP.
        headers: names in lower case, and values.
        body: all of it.
    """

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def call_wsgi(app: WSGIApplication, scope: Scope, body: bytes) -> Response:
    """Has a WSGI application answer a request.

    Args:
        app: the application.
        scope: the request's line and headers.
        body: the request's body.
    """
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _failure: object = None) -> Any:
        started[:] = [(status, headers)]
        return written.append

    start: StartResponse = start_response
    answer = app(_environ(scope, body), start)
    try:
        written.extend(answer)
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()
    ((status, headers),) = started
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
        key = _UNPREFIXED.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    # A body that came in chunks is whole here.
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ
