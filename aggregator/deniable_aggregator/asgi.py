"""The aggregator as an ASGI application: uploads in the event loop, everything else in threads.

An upload that waits, for its body or for the disk, costs an object and no thread. Whatever could
take long (asking the store for a key, checking a large batch, a question) is done in a thread.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator import bridge, ingest, problems
from deniable_aggregator.access import authenticated
from deniable_aggregator.app import EXTENSION
from deniable_aggregator.bodies import Body, Budget, CutOffError
from deniable_aggregator.deadlines import Deadlines
from deniable_aggregator.health import PATHS as HEALTH
from deniable_aggregator.keys import SCOPES
from deniable_aggregator.pool import Pool
from deniable_aggregator.problems import ProblemError
from deniable_aggregator.store import StoreUnavailableError
from deniable_aggregator.writer import OverloadedError, Pending
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence

    from flask import Flask

    from deniable_aggregator.app import Running
    from deniable_aggregator.bodies import Receive
    from deniable_aggregator.keys import Key
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.store import Outcome
    from deniable_shared.wire import Upload

    Scope = MutableMapping[str, Any]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGE_BYTES: Final = 128 << 10
"""Larger bodies are checked in a thread: others would wait for more than a millisecond or two."""

QUESTION: Final = "/estimate"
SMALL_THREADS: Final = 4
SMALL_WAITING: Final = 512
WAITING_QUESTIONS: Final = 64

_ACCEPTED: Final = {"type": "http.response.start", "status": 204, "headers": []}
_EMPTY: Final = {"type": "http.response.body", "body": b""}


class Application:
    """The ASGI application.

    Args:
        app: the Flask application, which answers all but uploads.
        settings: limits.
        started: called in the event loop when it begins.

    Attributes:
        bodies: the bodies of uploads in memory.
    """

    def __init__(
        self, app: Flask, settings: Settings, *, started: Callable[[], None] = lambda: None
    ) -> None:
        running: Running = app.extensions[EXTENSION]
        self._wsgi = app.wsgi_app
        self._running = running
        self._ingest = running.ingest
        self._writer = running.writer
        self._settings = settings
        self._started = started
        self._limiter_waits = running.limiter.remote
        self.bodies = Budget(settings.in_flight_bytes)
        self._questions = Budget(max(settings.in_flight_bytes, settings.max_candidates_bytes))
        self._reading = Deadlines(settings.body_seconds)
        self._committing = Deadlines(settings.queue_seconds)
        # Health is asked here, so that it is answered while analysts keep all other threads busy.
        self._small = Pool("deniable-small", threads=SMALL_THREADS, waiting=SMALL_WAITING)
        self._pool = Pool("deniable", threads=settings.threads, waiting=WAITING_QUESTIONS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or begins and ends with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] == ingest.PATH and scope["method"] == "POST":
            await self._upload(scope, receive, send)
        else:
            await self._other(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._started()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                # Commits what waits. No request is left that could bring more.
                self._running.close()
                self._small.close()
                self._pool.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        body = Body(self.bodies)
        try:
            await self._take(_Headers(scope["headers"]), body, receive)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            await _refuse(send, error)
        else:
            await send(_ACCEPTED)
            await send(_EMPTY)
        finally:
            body.release()
            self._ingest.seconds.note(time.perf_counter() - begun)

    async def _take(self, headers: _Headers, body: Body, receive: Receive) -> None:
        """As `Ingest.receive`, but nothing waits in the event loop."""
        taking, whose = self._ingest, ingest.UNKNOWN
        try:
            key = taking.remembered(headers.authorization)
            if key is None:
                key = await self._small.run(taking.authenticate, headers.authorization)
            whose = key.application
            if self._limiter_waits:
                await self._small.run(self._admit, key, headers)
            else:
                self._admit(key, headers)
            data = await body.read(
                receive,
                length=headers.length,
                limit=self._settings.max_body_bytes,
                deadlines=self._reading,
            )
            if data is None:
                raise taking.too_large()
            upload = await self._checked(whose, data)
            outcome = await self._durable(upload, key)
        except ProblemError as problem:
            taking.count(whose, problem.code)
            raise
        except CutOffError as error:
            taking.count(whose, "malformed_upload")
            raise ingest.malformed(WireError(str(error))) from None
        taking.count(whose, ingest.COUNTED[outcome])

    def _admit(self, key: Key, headers: _Headers) -> None:
        self._ingest.admit(
            key,
            content_type=headers.content_type,
            content_encoding=headers.content_encoding,
            length=headers.length,
        )

    async def _checked(self, application: str, data: bytes) -> Upload:
        taking = self._ingest
        if len(data) > LARGE_BYTES:
            return await self._small.run(self._decoded_and_checked, application, data)
        upload = taking.decode(data)
        if taking.knows(upload):
            taking.check(application, upload)
        else:
            await self._small.run(taking.check, application, upload)
        return upload

    def _decoded_and_checked(self, application: str, data: bytes) -> Upload:
        upload = self._ingest.decode(data)
        self._ingest.check(application, upload)
        return upload

    async def _durable(self, upload: Upload, key: Key) -> Outcome:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[None] = loop.create_future()
        pending = Pending(upload, key.id, self._tell, (loop, told))
        try:
            self._writer.submit(pending)
        except (OverloadedError, StoreUnavailableError) as error:
            raise self._ingest.unstored(error) from None
        deadline = self._committing.begin(partial(_give_up, told))
        try:
            await told
        finally:
            pending.abandoned = deadline.over = True
        return self._ingest.settled(pending.outcome)

    @staticmethod
    def _tell(pendings: Sequence[Pending]) -> None:
        """Called in the writer's thread, once for all uploads of a commit."""
        loop, _ = pendings[0].ticket
        with suppress(RuntimeError):  # the loop has ended, and with it all who waited
            loop.call_soon_threadsafe(_settle, pendings)

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        pool = self._small if path in HEALTH else self._pool
        limit = self._settings.max_body_bytes
        if path.endswith(QUESTION):
            limit = self._settings.max_candidates_bytes
        headers, body = _Headers(scope["headers"]), Body(self._questions)
        try:
            data = b""
            if headers.length != 0:
                # Nobody without a key makes this server read.
                authorization = headers.authorization
                keyring = self._running.keyring
                await self._small.run(authenticated, keyring, authorization, *SCOPES)
                data = await self._question(headers, body, receive, limit)
            answer = await pool.run(bridge.call, self._wsgi, scope, data)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            await _refuse(send, error)
        else:
            await _send(send, *answer)
        finally:
            body.release()

    async def _question(self, headers: _Headers, body: Body, receive: Receive, limit: int) -> bytes:
        too_large = ProblemError("upload_too_large", f"Send at most {limit} bytes.")
        if headers.length is not None and headers.length > limit:
            raise too_large
        data = await body.read(receive, length=headers.length, limit=limit, deadlines=self._reading)
        if data is None:
            raise too_large
        return data


class _Headers:
    """What is looked at before a body is read."""

    __slots__ = ("authorization", "content_encoding", "content_type", "length")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        found = dict(headers)
        self.authorization = found.get(b"authorization", b"").decode("latin-1")
        self.content_type = found.get(b"content-type", b"").decode("latin-1")
        self.content_encoding = found.get(b"content-encoding", b"").decode("latin-1")
        announced = found.get(b"content-length", b"")
        self.length = int(announced) if announced.isdigit() else None
        if self.length is None and b"transfer-encoding" not in found:
            self.length = 0


def _settle(pendings: Sequence[Pending]) -> None:
    for pending in pendings:
        _, told = pending.ticket
        if not told.done():
            told.set_result(None)


def _give_up(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_exception(problems.overloaded())


async def _refuse(send: Send, error: Exception) -> None:
    if isinstance(error, CutOffError):
        error = ingest.malformed(WireError(str(error)))
    response = problems.document(error)
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in response.headers.to_wsgi_list()
    ]
    await _send(send, response.status_code, headers, response.get_data())


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
