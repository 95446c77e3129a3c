"""Taking envelopes: checked, kept in one commit with others, and then acknowledged.

No address, user agent or time of a request is looked at, kept or logged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answering.requests import (
    ProblemError,
    overloaded,
    problem_of,
)
from deniable_aggregator.doors.http.browsers import NO_SNIFFING
from deniable_aggregator.doors.http.upload_limits import RETRY_SECONDS, RateLimiter
from deniable_aggregator.doors.server.bodies import (
    Deadlines,
    MemoryBudget,
    RequestBody,
    content_length,
    respond_problem,
)
from deniable_aggregator.keeping.group_commit import GROUP_WINDOW_SECONDS, MAX_AWAITED_UPLOADS
from deniable_shared.errors import WireError
from deniable_shared.sealing import CONTENT_TYPE, read_header
from deniable_shared.wire import ACCEPTED

if TYPE_CHECKING:
    from deniable_aggregator.doors.relay.envelopes import EnvelopeStore
    from deniable_aggregator.doors.relay.settings import RelaySettings
    from deniable_aggregator.doors.server.granian_adapter import Headers, HTTPProtocol

MOST_WAITING: Final = 4_096
"""So many envelopes may wait for a commit."""

ALL_DEVICES: Final = "devices"
"""What is counted for the limit of the rate: the relay cannot tell devices from one another."""

RATE: Final = "The devices of this relay may send {} together. Send it again later."


class CommitQueue:
    """Envelopes that wait for a commit, which all that wait share. Belongs to one event loop.

    Args:
        store: keeps them.
        seconds: how long one may wait.
    """

    def __init__(self, store: EnvelopeStore, seconds: float) -> None:
        self._store = store
        self._deadlines = Deadlines(seconds)
        self._waiting: dict[bytes, bytes] = {}
        self._told: list[asyncio.Future[None]] = []
        self._awaited = 1
        self._enough = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "deniable-relay-commit")

    async def add(self, tag: bytes, envelope: bytes) -> None:
        """Keeps an envelope; it is durable when this returns.

        Raises:
            ProblemError: ``overloaded`` or ``store_unavailable``.
        """
        if len(self._told) >= MOST_WAITING:
            raise overloaded()
        loop = asyncio.get_running_loop()
        kept: asyncio.Future[None] = loop.create_future()
        self._waiting[tag] = envelope
        self._told.append(kept)
        if len(self._told) >= self._awaited:
            self._enough.set()
        if self._work is None:
            self._work = loop.create_task(self._commit_all())
        deadline = self._deadlines.begin(partial(_give_up, kept))
        try:
            await kept
        finally:
            deadline.cancel()

    async def _commit_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._told:
            with suppress(TimeoutError):
                async with asyncio.timeout(GROUP_WINDOW_SECONDS):
                    await self._enough.wait()
            group, told = self._waiting, self._told
            self._waiting, self._told = {}, []
            # As many as have come together are likely to come together again.
            self._awaited = min(len(told), MAX_AWAITED_UPLOADS)
            self._enough.clear()
            problem: ProblemError | None = None
            try:
                await loop.run_in_executor(self._thread, self._store.add, group)
            except Exception as error:  # noqa: BLE001  every request is to be answered
                problem = problem_of(error)
            for kept in told:
                if kept.done():
                    continue
                if problem is None:
                    kept.set_result(None)
                else:
                    kept.set_exception(problem)
        self._work = None

    def close(self) -> None:
        """Waits for the commit that has begun."""
        self._thread.shutdown()


def _give_up(kept: asyncio.Future[None]) -> None:
    if not kept.done():
        kept.set_exception(overloaded())


class EnvelopeHandler:
    """Answers requests that bring an envelope. Belongs to one event loop.

    Args:
        store: keeps envelopes.
        settings: limits.

    Attributes:
        refused: how many requests were refused, by the code of the problem.
        used_share: what the file takes, of what it may; set from outside.
    """

    def __init__(self, store: EnvelopeStore, settings: RelaySettings) -> None:
        server = settings.server
        self.refused: Counter[str] = Counter()
        self.used_share = 0.0
        self._lengths = settings.lengths()
        self._longest = max(map(max, self._lengths.values()))
        self._queue = CommitQueue(store, server.queue_seconds)
        self._limiter = RateLimiter(server.rate_limit, sentence=RATE)
        self._memory = MemoryBudget(server.in_flight_bytes)
        self._deadlines = Deadlines(server.body_seconds)

    async def handle(self, headers: Headers, protocol: HTTPProtocol) -> None:
        """Answers one request: 204 once its envelope is durable, or a problem document."""
        body = RequestBody(self._memory)
        too_large = False
        try:
            await self._take(headers, protocol, body)
        except Exception as error:  # noqa: BLE001  every failure has its problem document
            problem = problem_of(error)
            self.refused[problem.code] += 1
            respond_problem(protocol, problem)
            too_large = problem.code == "upload_too_large"
        else:
            protocol.response_empty(ACCEPTED, [NO_SNIFFING])
        finally:
            body.release()
        if too_large:
            await body.discard(
                protocol,
                length=content_length(headers),
                limit=self._longest,
                seconds=self._deadlines.seconds,
            )

    async def _take(self, headers: Headers, protocol: HTTPProtocol, body: RequestBody) -> None:
        self._limiter.hit(ALL_DEVICES)
        if self.used_share >= 1:
            raise ProblemError(
                "storage_full",
                "Send it again later. The operator of the relay gives it more space.",
                headers={"Retry-After": str(RETRY_SECONDS)},
            )
        if headers.get("content-type") != CONTENT_TYPE or "content-encoding" in headers:
            detail = f"The header Content-Type must be {CONTENT_TYPE}, without Content-Encoding."
            raise ProblemError("unsupported_media_type", detail)
        length = content_length(headers)
        envelope = None
        if length is None or length <= self._longest:
            envelope = await body.read(
                protocol, length=length, limit=self._longest, deadlines=self._deadlines
            )
        if envelope is None:
            detail = f"An envelope has at most {self._longest:,} bytes."
            raise ProblemError("upload_too_large", detail, max_bytes=self._longest)
        await self._queue.add(self._checked_tag(envelope), envelope)

    def _checked_tag(self, envelope: bytes) -> bytes:
        """The tag of an envelope.

        Raises:
            ProblemError: if it is none, or sealed to another key.
        """
        try:
            header = read_header(envelope)
        except WireError as error:
            raise ProblemError("malformed_upload", f"{error}.") from None
        lengths = self._lengths.get(header.key_id)
        if lengths is None:
            raise ProblemError(
                "unknown_relay_key",
                "Send it again later: the operator of the relay starts it with --key and the key "
                "in [relay] of the application's metrics.toml.",
            )
        if len(envelope) not in lengths:
            detail = "No envelope that is sealed to this key has this length."
            raise ProblemError("malformed_upload", detail)
        return header.tag

    def close(self) -> None:
        """Waits for the commit that has begun."""
        self._queue.close()
