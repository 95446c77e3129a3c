"""The aggregator as an RSGI application: uploads in the event loop, everything else elsewhere.

``POST /v1/reports`` in the event loop.

An upload that waits for its body or for the disk holds an object and no thread. What may take long
is done in a thread: asking the store for a key or a metric, counting in Redis, checking a large
body.

RSGI is granian's own interface. docs/design.md says what it is worth beside plain WSGI.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from deniable_aggregator.answering.requests import ProblemError, overloaded
from deniable_aggregator.doors.app import EXTENSION, Aggregator
from deniable_aggregator.doors.http.browsers import NO_SNIFFING, UploadOrigins
from deniable_aggregator.doors.http.upload_route import Door, admit
from deniable_aggregator.doors.http.uploads import PATH
from deniable_aggregator.doors.server.bodies import (
    MAX_WHOLE_BYTES,
    Deadlines,
    MemoryBudget,
    RequestBody,
    content_length,
    respond_problem,
)
from deniable_aggregator.doors.server.flask_bridge import BoundedThreadPool, FlaskBridge
from deniable_aggregator.keeping.group_commit import OverloadedError, PendingUpload
from deniable_aggregator.keeping.store import Outcome, Sender, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flask import Flask

    from deniable_aggregator.doors.server.granian_adapter import Headers, HTTPProtocol, Scope
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.settings import Settings
    from deniable_shared.wire import Upload


Result = TypeVar("Result")


class UploadHandler:
    """Answers uploads.

    Args:
        aggregator: receives and commits uploads.
        settings: limits.
        checks: threads for what may take long.

    Attributes:
        receiver: checks uploads, and counts their outcomes.
        writer: commits uploads.
        settings: limits.
        checks: threads for what may take long.
        body_deadlines: how long bodies may take.
        commit_deadlines: how long commits may take.
        memory: what the bodies of uploads take now.
        origins: those whose pages may send uploads.
    """

    def __init__(
        self, aggregator: Aggregator, settings: Settings, checks: BoundedThreadPool
    ) -> None:
        self.receiver = aggregator.receiver
        self.writer = aggregator.writer
        self.settings = settings
        self.checks = checks
        self.origins = UploadOrigins(settings.browser_origins)
        self.memory = MemoryBudget(settings.in_flight_bytes)
        self.body_deadlines = Deadlines(settings.body_seconds)
        self.commit_deadlines = Deadlines(settings.queue_seconds)

    async def handle(self, headers: Headers, protocol: HTTPProtocol) -> None:
        """Answers one upload: 204 once it is durable, or a problem document."""
        start = time.monotonic()
        body = RequestBody(self.memory)
        too_large = False
        try:
            await admit(_LoopDoor(self, headers, body, protocol))
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            respond_problem(protocol, error, self._for_browsers(headers))
            too_large = isinstance(error, ProblemError) and error.code == "upload_too_large"
        else:
            protocol.response_empty(204, [NO_SNIFFING, *self._for_browsers(headers)])
        finally:
            body.release()
            self.receiver.seconds.observe(time.monotonic() - start)
        if too_large:
            await body.discard(
                protocol,
                length=content_length(headers),
                limit=self.settings.max_body_bytes,
                seconds=self.settings.body_seconds,
            )

    def answer_preflight(self, headers: Headers, protocol: HTTPProtocol) -> None:
        """Tells a browser whether a page may send an upload."""
        said = self.origins.preflight_headers(headers.get("origin", ""))
        protocol.response_empty(204, [NO_SNIFFING, *said])

    def _for_browsers(self, headers: Headers) -> list[tuple[str, str]]:
        return self.origins.answer_headers(headers.get("origin", ""))


class _LoopDoor(Door):
    """A request in the event loop."""

    # Granian ends a chunked body that was cut off as if it were complete.
    whole = False

    def __init__(
        self, handler: UploadHandler, headers: Headers, body: RequestBody, protocol: HTTPProtocol
    ) -> None:
        super().__init__(handler.receiver, partial(_header, headers), content_length(headers))
        self._handler = handler
        self._body = body
        self._protocol = protocol

    async def aside(self, function: Callable[..., Result], *arguments: Any) -> Result:
        return await self._handler.checks.run(function, *arguments)

    async def read(self) -> bytes | None:
        # Refuse a large body before it is sent. A small one has arrived already, and a client
        # whose body was read is surer to read the answer.
        if self.length is None or self.length > MAX_WHOLE_BYTES:
            self._require_queue_room(self.length or 0)
        data = await self._body.read(
            self._protocol,
            length=self.length,
            limit=self._handler.settings.max_body_bytes,
            deadlines=self._handler.body_deadlines,
        )
        if data is not None:
            self._require_queue_room(len(data))
        return data

    def _require_queue_room(self, size: int) -> None:
        """Refuses an upload that the writer would refuse, before any work goes into it."""
        if not self._handler.writer.has_room(size):
            raise overloaded()

    async def store(self, upload: Upload, key: Key) -> Outcome:
        """Hands an upload to the writer and waits, for at most `queue_seconds`, for its commit."""
        loop = asyncio.get_running_loop()
        committed: asyncio.Future[None] = loop.create_future()
        sender = Sender(key.application, key.id)
        pending = PendingUpload(upload, sender, _wake_loop, (loop, committed))
        try:
            self._handler.writer.submit(pending)
        except (OverloadedError, StoreUnavailableError) as error:
            raise self.receiver.storage_problem(error) from None
        deadline = self._handler.commit_deadlines.begin(partial(_give_up, committed))
        try:
            await committed
        finally:
            pending.abandoned = True
            deadline.cancel()
        return self.receiver.outcome_or_problem(pending.outcome)


def _header(headers: Headers, name: str) -> str:
    found: str = headers.get(name, "")
    return found


def _wake_loop(pendings: Sequence[PendingUpload]) -> None:
    """Called in the writer's thread, once for all uploads of a commit."""
    loop, _ = pendings[0].context
    with suppress(RuntimeError):  # the loop has ended, and with it all requests
        loop.call_soon_threadsafe(_wake_requests, pendings)


def _wake_requests(pendings: Sequence[PendingUpload]) -> None:
    for pending in pendings:
        _, committed = pending.context
        if not committed.done():
            committed.set_result(None)


def _give_up(committed: asyncio.Future[None]) -> None:
    if not committed.done():
        committed.set_exception(overloaded())


METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Requests of other methods are refused unread: CONNECT has no path, TRACE would repeat keys."""


def _no_such_method() -> ProblemError:
    detail = "This server is no proxy and repeats no request. Send one of the methods in Allow."
    return ProblemError("method_not_allowed", detail, headers={"Allow": ", ".join(METHODS)})


CHECK_THREADS: Final = 4
MAX_WAITING_CHECKS: Final = 512


class RsgiApplication:
    """Answers the requests of one worker process.

    Args:
        app: the Flask application, which answers all but uploads.
        settings: limits.
        on_start: called with the event loop before it runs.

    Attributes:
        uploads: answers uploads.
        questions: the processes that answer questions, if there are any.
    """

    def __init__(
        self,
        app: Flask,
        settings: Settings,
        *,
        on_start: Callable[[asyncio.AbstractEventLoop], None] = lambda _: None,
    ) -> None:
        self._aggregator: Aggregator = app.extensions[EXTENSION]
        self._on_start = on_start
        # For checks of a request that may wait for the store or take long.
        self._checks = BoundedThreadPool(
            "deniable-check",
            threads=CHECK_THREADS,
            waiting=MAX_WAITING_CHECKS,
            seconds=settings.queue_seconds,
        )
        self.uploads = UploadHandler(self._aggregator, settings, self._checks)
        self._flask = FlaskBridge(app, settings, self._checks)
        self.questions = self._flask.questions

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server before its event loop runs."""
        self._on_start(loop)
        if self.questions is not None:
            self.questions.start(loop)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server when the loop has ended, so that no request is left."""
        self._aggregator.close()
        self._checks.close()
        self._flask.close()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answers one request."""
        if scope.method not in METHODS:
            respond_problem(protocol, _no_such_method())
        elif scope.path == PATH and scope.method == "POST":
            await self.uploads.handle(scope.headers, protocol)
        elif scope.path == PATH and scope.method == "OPTIONS" and self.uploads.origins:
            self.uploads.answer_preflight(scope.headers, protocol)
        else:
            await self._flask.handle(scope, protocol)
