"""The aggregator as an RSGI application: uploads in the event loop, everything else in threads.

An upload that waits, for its body or for the disk, costs an object and no thread. Whatever could
take long (asking the store for a key, checking a large batch, a question) is done in a thread.

RSGI is granian's own interface, spoken here because an upload costs a seventh less than over ASGI,
as measured. Other servers can run the Flask application of `app` over WSGI.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from deniable_aggregator.api.readiness import PATHS as HEALTH
from deniable_aggregator.app import EXTENSION
from deniable_aggregator.http import problems
from deniable_aggregator.http.authorization import authenticate, unknown_key
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.ingest import receiver
from deniable_aggregator.ingest.group_commit import OverloadedError, PendingUpload
from deniable_aggregator.security.keys import SCOPES
from deniable_aggregator.server import wsgi_bridge
from deniable_aggregator.server.bodies import WHOLE_BYTES, MemoryBudget, RequestBody
from deniable_aggregator.server.deadlines import Deadlines
from deniable_aggregator.server.thread_pool import BoundedThreadPool
from deniable_aggregator.store import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flask import Flask
    from granian._granian import RSGIHeaders as Headers
    from granian._granian import RSGIHTTPProtocol as HTTPProtocol
    from granian.rsgi import Scope

    from deniable_aggregator.app import Aggregator
    from deniable_aggregator.config.settings import Settings
    from deniable_aggregator.security.keys import Key
    from deniable_aggregator.store import Outcome
    from deniable_shared.wire import Upload

LARGE_BYTES: Final = 256 << 10
"""Larger bodies are checked in a thread: others would have to wait."""

QUESTIONS: Final = ("/estimate", "/series", "/change")
ASKING: Final = ("read", "admin")
HEALTH_THREADS: Final = 2
SMALL_THREADS: Final = 4
SMALL_WAITING: Final = 512
WAITING_QUESTIONS: Final = 64
QUESTION_PATIENCE: Final = 6
"""So many times as long may the body of a question take: lists of candidates are long."""


class RsgiApplication:
    """The RSGI application.

    Args:
        app: the Flask application, which answers all but uploads.
        settings: limits.
        started: called with the event loop before it runs.

    Attributes:
        bodies: the bodies of uploads in memory.
    """

    def __init__(
        self,
        app: Flask,
        settings: Settings,
        *,
        started: Callable[[asyncio.AbstractEventLoop], None] = lambda _: None,
    ) -> None:
        running: Aggregator = app.extensions[EXTENSION]
        self._wsgi = app.wsgi_app
        self._running = running
        self._ingest = running.receiver
        self._writer = running.writer
        self._settings = settings
        self._started = started
        self.bodies = MemoryBudget(settings.in_flight_bytes)
        self._questions = MemoryBudget(max(settings.in_flight_bytes, settings.max_candidates_bytes))
        self._reading = Deadlines(settings.body_seconds)
        self._asking = Deadlines(settings.body_seconds * QUESTION_PATIENCE)
        self._committing = Deadlines(settings.queue_seconds)
        # Of its own, so that it is answered while everything else is busy or waits for the store.
        self._health = BoundedThreadPool(
            "deniable-health", threads=HEALTH_THREADS, waiting=SMALL_WAITING
        )
        self._small = BoundedThreadPool(
            "deniable-small",
            threads=SMALL_THREADS,
            waiting=SMALL_WAITING,
            seconds=settings.queue_seconds,
        )
        self._pool = BoundedThreadPool(
            "deniable", threads=settings.threads, waiting=WAITING_QUESTIONS
        )

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the web server before its event loop runs."""
        self._started(loop)

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called when the loop has ended: no request is left that could bring more."""
        self._running.close()
        for pool in (self._health, self._small, self._pool):
            pool.close()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Answers one request."""
        if scope.path == receiver.PATH and scope.method == "POST":
            await self._upload(scope.headers, protocol)
        else:
            await self._answer_through_flask(scope, protocol)

    async def _upload(self, headers: Headers, protocol: HTTPProtocol) -> None:
        start = time.monotonic()
        body = RequestBody(self.bodies)
        too_large = False
        try:
            await self._receive(headers, body, protocol)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            _respond_problem(protocol, error)
            too_large = isinstance(error, ProblemError) and error.code == "upload_too_large"
        else:
            protocol.response_empty(204, [])
        finally:
            body.release()
            self._ingest.seconds.observe(time.monotonic() - start)
        if too_large:
            await body.discard(
                protocol,
                length=_content_length(headers),
                limit=self._settings.max_body_bytes,
                seconds=self._settings.body_seconds,
            )

    async def _receive(self, headers: Headers, body: RequestBody, protocol: HTTPProtocol) -> None:
        """As `wsgi.UploadEndpoint.receive`, but nothing waits in the event loop."""
        taking, whose = self._ingest, receiver.NO_APPLICATION
        try:
            authorization = headers.get("authorization", "")
            key = taking.cached_key(authorization)
            if key is None:
                if taking.lacks_valid_key(authorization):
                    raise unknown_key()
                key = await self._small.run(taking.authenticate, authorization)
            whose = key.application
            length = _content_length(headers)
            self._check_headers(key, headers, length)
            if length is None or length > WHOLE_BYTES:
                self._require_queue_room(length or 0)
            data = await body.read(
                protocol,
                length=length,
                limit=self._settings.max_body_bytes,
                deadlines=self._reading,
            )
            if data is None:
                raise taking.too_large()
            self._require_queue_room(len(data))
            try:
                upload = await self._decode_and_check(whose, data)
            except ProblemError as problem:
                # The web server does not tell a chunked body's end from its being cut off.
                if length is None and problem.code == "malformed_upload":
                    raise problems.body_cut_off() from None
                raise
            outcome = await self._store(upload, key)
        except ProblemError as problem:
            taking.record_outcome(whose, problem.code)
            raise
        taking.record_outcome(whose, receiver.OUTCOME_NAMES[outcome])

    def _require_queue_room(self, size: int) -> None:
        """Refuses what the writer would refuse, before any work is put into it.

        The body of a large upload need not even come. A small one has come already, and a client
        whose body is read is surer to read the answer.
        """
        if not self._writer.has_room(size):
            raise problems.overloaded()

    def _check_headers(self, key: Key, headers: Headers, length: int | None) -> None:
        self._ingest.check_headers(
            key,
            content_type=headers.get("content-type", ""),
            content_encoding=headers.get("content-encoding", ""),
            length=length,
        )

    async def _decode_and_check(self, application: str, data: bytes) -> Upload:
        taking = self._ingest
        if len(data) > LARGE_BYTES:
            return await self._small.run(self._decode_and_check_in_thread, application, data)
        upload = taking.decode(data)
        if taking.metrics_are_cached(upload):
            taking.check(application, upload)
        else:
            await self._small.run(taking.check, application, upload)
        return upload

    def _decode_and_check_in_thread(self, application: str, data: bytes) -> Upload:
        upload = self._ingest.decode(data)
        self._ingest.check(application, upload)
        return upload

    async def _store(self, upload: Upload, key: Key) -> Outcome:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[None] = loop.create_future()
        pending = PendingUpload(upload, key.id, _notify_loop, (loop, told))
        try:
            self._writer.submit(pending)
        except (OverloadedError, StoreUnavailableError) as error:
            raise self._ingest.storage_problem(error) from None
        deadline = self._committing.begin(partial(_time_out, told))
        try:
            await told
        finally:
            pending.abandoned = deadline.over = True
        return self._ingest.outcome_or_problem(pending.outcome)

    async def _answer_through_flask(self, scope: Scope, protocol: HTTPProtocol) -> None:
        path, headers = scope.path, scope.headers
        pool = self._health if path in HEALTH else self._pool
        limit, scopes = self._settings.max_body_bytes, SCOPES
        if path.endswith(QUESTIONS):
            # Long, and so not for the keys that ship with applications.
            limit, scopes = self._settings.max_candidates_bytes, ASKING
        body = RequestBody(self._questions)
        try:
            data = b""
            length = _content_length(headers)
            if length != 0:
                # Nobody without a key makes this server read.
                verifier, authorization = (
                    self._running.key_verifier,
                    headers.get("authorization", ""),
                )
                await self._small.run(authenticate, verifier, authorization, *scopes)
                data = await self._question_body(body, protocol, length, limit)
            answer = await pool.run(wsgi_bridge.call_wsgi, self._wsgi, scope, data)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            _respond_problem(protocol, error)
        else:
            protocol.response_bytes(answer.status, answer.headers, answer.body)
        finally:
            body.release()

    async def _question_body(
        self, body: RequestBody, protocol: HTTPProtocol, length: int | None, limit: int
    ) -> bytes:
        too_large = ProblemError("upload_too_large", f"Send at most {limit} bytes.")
        if length is not None and length > limit:
            raise too_large
        data = await body.read(protocol, length=length, limit=limit, deadlines=self._asking)
        if data is None:
            raise too_large
        return data


def _content_length(headers: Headers) -> int | None:
    """The length of a request's body; None if it will show."""
    announced = headers.get("content-length", "")
    if announced.isdecimal():
        return int(announced)
    return None if "transfer-encoding" in headers else 0


def _notify_loop(pendings: Sequence[PendingUpload]) -> None:
    """Called in the writer's thread, once for all uploads of a commit."""
    loop, _ = pendings[0].context
    with suppress(RuntimeError):  # the loop has ended, and with it all who waited
        loop.call_soon_threadsafe(_wake_requests, pendings)


def _wake_requests(pendings: Sequence[PendingUpload]) -> None:
    for pending in pendings:
        _, told = pending.context
        if not told.done():
            told.set_result(None)


def _time_out(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_exception(problems.overloaded())


def _respond_problem(protocol: HTTPProtocol, error: Exception) -> None:
    if isinstance(error, ProblemError):  # without Flask's own, as a busy server does this often
        headers = [("content-type", problems.MEDIA_TYPE), *error.headers.items()]
        protocol.response_bytes(error.status, headers, error.body())
        return
    response = problems.problem_response(error)
    headers = [(name.lower(), value) for name, value in response.headers.to_wsgi_list()]
    protocol.response_bytes(response.status_code, headers, response.get_data())
