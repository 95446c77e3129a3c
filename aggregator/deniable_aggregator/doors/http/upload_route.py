"""Who may upload, and the route of uploads in Flask.

The steps by which an upload is admitted, whichever door it comes through.

A door says how a body is read, where one may wait, and how a commit is waited for. In the server's
event loop these are awaited; a door that only calls functions is walked through by `at_once`.

``POST /v1/reports`` as a route of the Flask application.

The server answers uploads before they reach Flask (`doors.server.rsgi`). This route gives
other methods their 405, takes paths that Flask corrects, such as //v1/reports, and serves uploads
where the Flask application runs on its own, as in tests.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from flask import Flask, Response, request

from deniable_aggregator.answering.requests import ProblemError, body_cut_off, unknown_key
from deniable_aggregator.answers.words import REPORTING_SCOPES
from deniable_aggregator.doors.http.operation import Body, Operation, describe
from deniable_aggregator.doors.http.uploads import (
    NO_APPLICATION,
    OUTCOME_NAMES,
    PATH,
    UploadReceiver,
)
from deniable_aggregator.keeping.store import Outcome
from deniable_shared import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from wsgiref.types import WSGIEnvironment

    from deniable_aggregator.doors.http.browsers import UploadOrigins
    from deniable_aggregator.keeping.keys import Key
    from deniable_shared.wire import Upload


MAX_QUICK_BYTES: Final = 256 << 10
"""Larger bodies are checked aside, as other requests would have to wait for them."""

Result = TypeVar("Result")


class Door:
    """A request with an upload, whose thread waits for whatever takes long.

    Args:
        receiver: checks uploads, and counts their outcomes.
        header: returns a header by its name in lower case; empty if there is none.
        length: the announced length of the body in bytes; None if there is none.

    Attributes:
        whole: whether a body without an announced length is surely whole.
    """

    whole = True

    def __init__(
        self, receiver: UploadReceiver, header: Callable[[str], str], length: int | None
    ) -> None:
        self.receiver = receiver
        self.header = header
        self.length = length

    async def aside(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Calls a function that may take long, where nobody else waits for it."""
        return function(*arguments)

    async def read(self) -> bytes | None:
        """The body, or None if it is longer than the limit.

        Raises:
            ProblemError: if it does not arrive, or not in time, or there is no room for it.
        """
        raise NotImplementedError

    async def store(self, upload: Upload, key: Key) -> Outcome:
        """What has become of an upload that was checked; it is durable then.

        Raises:
            ProblemError: if it was not stored.
        """
        return self.receiver.store(upload, key)


async def admit(door: Door) -> None:
    """Takes an upload; it is durable when this returns.

    Args:
        door: which it comes through.

    Raises:
        ProblemError: if the upload is refused; nothing was stored, and the refusal was counted.
        StoreUnavailableError: if the store cannot be read.
    """
    receiver, application = door.receiver, NO_APPLICATION
    try:
        authorization = door.header("authorization")
        key = receiver.cached_key(authorization)
        if key is None:
            if receiver.lacks_valid_key(authorization):
                raise unknown_key()
            key = await door.aside(receiver.authenticate, authorization)
        application = key.application
        check = partial(
            receiver.check_headers,
            key,
            content_type=door.header("content-type"),
            content_encoding=door.header("content-encoding"),
            length=door.length,
        )
        if receiver.limiter_waits:
            await door.aside(check)
        else:
            check()
        body = await door.read()
        if body is None:
            raise receiver.too_large()
        upload, reports = await _checked(door, key, body)
        outcome = await _stored(door, key, upload, reports)
    except ProblemError as problem:
        receiver.record_outcome(application, problem.code)
        raise
    receiver.record_outcome(application, OUTCOME_NAMES[outcome])


async def _stored(door: Door, key: Key, upload: Upload, reports: int) -> Outcome:
    """Counts an upload in what its key may bring, and stores it."""
    charge = door.receiver.take(key, upload, reports)
    try:
        outcome = await door.store(upload, key)
    except ProblemError:
        door.receiver.give_back(charge)
        raise
    if outcome is not Outcome.STORED:
        door.receiver.give_back(charge)
    return outcome


async def _checked(door: Door, key: Key, body: bytes) -> tuple[Upload, int]:
    receiver = door.receiver
    try:
        if len(body) > MAX_QUICK_BYTES:
            return await door.aside(receiver.decode_and_check, key, body)
        upload = receiver.decode(body)
        if receiver.metrics_are_cached(upload):
            reports = receiver.check(key, upload)
        else:
            reports = await door.aside(receiver.check, key, upload)
    except ProblemError as problem:
        if door.length is None and not door.whole and problem.code == "malformed_upload":
            raise body_cut_off() from None
        raise
    return upload, reports


def at_once(steps: Coroutine[Any, Any, Result]) -> Result:
    """Walks through steps that wait for nothing, without an event loop.

    Args:
        steps: with a door each of whose functions returns without waiting.
    """
    try:
        steps.send(None)
    except StopIteration as ended:
        result: Result = ended.value
        return result
    raise RuntimeError("steps must wait for nothing")


_SEND: Final = Operation(
    "POST",
    PATH,
    "sendReports",
    "Stores an upload once; it is durable when this is answered.",
    scopes=REPORTING_SCOPES,
    body=Body(bytes, wire.CONTENT_TYPE),
    status=204,
    problems=(
        "malformed_upload",
        "unknown_digest",
        "epoch_future",
        "metric_removed",
        "epoch_closed",
        "clock_doubted",
        "server_outdated",
        "unsupported_media_type",
        "malformed_report",
        "relay_required",
        "batch_key_needed",
        "rate_limited",
        "quota_spent",
        "storage_full",
    ),
)


def add_upload_route(
    app: Flask, receiver: UploadReceiver, *, origins: UploadOrigins, max_body_bytes: int
) -> None:
    """Adds the route.

    Args:
        app: the application.
        receiver: checks, stores and counts uploads.
        origins: those whose pages may send uploads.
        max_body_bytes: a longer body is refused.
    """

    def reports() -> tuple[str, int]:
        at_once(admit(_WsgiDoor(receiver, request.environ, max_body_bytes)))
        return "", 204

    # Where pages may send uploads, OPTIONS is answered below instead of by Flask.
    automatic = False if origins else None
    describe(app, _SEND)
    app.add_url_rule(PATH, view_func=reports, methods=["POST"], provide_automatic_options=automatic)
    if not origins:
        return

    def preflight() -> Response:
        return Response(
            status=204, headers=origins.preflight_headers(request.headers.get("Origin", ""))
        )

    def allow_origin(response: Response) -> Response:
        if request.path == PATH and request.method == "POST":
            response.headers.extend(origins.answer_headers(request.headers.get("Origin", "")))
        return response

    app.add_url_rule(PATH, view_func=preflight, methods=["OPTIONS"])
    app.after_request(allow_origin)


class _WsgiDoor(Door):
    def __init__(self, receiver: UploadReceiver, environ: WSGIEnvironment, limit: int) -> None:
        super().__init__(receiver, self._header, _content_length(environ))
        self._environ = environ
        self._limit = limit

    def _header(self, name: str) -> str:
        key = name.upper().replace("-", "_")
        found: str = self._environ.get(key if key == "CONTENT_TYPE" else f"HTTP_{key}", "")
        return found

    async def read(self) -> bytes | None:
        return read_body(self._environ, self._limit)


def read_body(environ: WSGIEnvironment, limit: int) -> bytes | None:
    """The body of a request, or None if it is longer than the limit.

    Raises:
        ProblemError: ``body_cut_off``, if the body is shorter than was announced.
    """
    length = _content_length(environ)
    if length is None and not environ.get("wsgi.input_terminated"):
        length = 0
    if length is not None and length > limit:
        return None
    wanted = limit + 1 if length is None else length
    chunks: list[bytes] = []
    while wanted > 0 and (chunk := environ["wsgi.input"].read(wanted)):
        chunks.append(chunk)
        wanted -= len(chunk)
    if length is None:
        return None if wanted <= 0 else b"".join(chunks)
    if wanted > 0:
        raise body_cut_off()
    return b"".join(chunks)


def _content_length(environ: WSGIEnvironment) -> int | None:
    announced = environ.get("CONTENT_LENGTH") or ""
    return int(announced) if announced.isdecimal() else None
