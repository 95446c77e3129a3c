"""Bodies of requests and answers in an event loop: a deadline and a bound for each.

Deadlines of many waiting requests, with one timer of the event loop for all of them.

A timer for each request was measured to cost a tenth of what a small upload costs.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

from deniable_aggregator.answering.requests import (
    MEDIA_TYPE,
    ProblemError,
    body_cut_off,
    overloaded,
    problem_response,
)
from deniable_aggregator.doors.http.browsers import NO_SNIFFING
from deniable_aggregator.doors.server.granian_adapter import Headers, HTTPProtocol, ProtocolClosed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from werkzeug import Response

    from deniable_aggregator.doors.server.wsgi_call import Response as WsgiCallResponse


PRECISION_SECONDS: Final = 0.1
"""A deadline takes effect this late, at most."""


class Deadline:
    """The end of one wait.

    Args:
        at: by the event loop's clock, in seconds.
        on_expiry: called once if the deadline was not cancelled by then.
    """

    __slots__ = ("_on_expiry", "at", "cancelled")

    def __init__(self, at: float, on_expiry: Callable[[], object]) -> None:
        self.at = at
        self.cancelled = False
        self._on_expiry = on_expiry

    def cancel(self) -> None:
        """Ends the wait; the deadline has no effect any more."""
        self.cancelled = True

    def expire(self) -> None:
        """Takes effect, unless it was cancelled."""
        if not self.cancelled:
            self.cancelled = True
            self._on_expiry()


class Deadlines:
    """Deadlines that are all equally far away when they begin. Belongs to one event loop.

    Args:
        seconds: how long each wait may take.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._waiting: deque[Deadline] = deque()  # by time, as all are equally long
        self._timer_is_set = False

    def begin(self, on_expiry: Callable[[], object]) -> Deadline:
        """Begins a wait.

        Args:
            on_expiry: called in the event loop when the time is up.
        """
        loop = asyncio.get_running_loop()
        deadline = Deadline(loop.time() + self.seconds, on_expiry)
        self._waiting.append(deadline)
        if not self._timer_is_set:
            self._timer_is_set = True
            loop.call_later(min(PRECISION_SECONDS, self.seconds), self._check, loop)
        return deadline

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        waiting = self._waiting
        while waiting and (waiting[0].cancelled or waiting[0].at <= now):
            waiting.popleft().expire()
        self._timer_is_set = bool(waiting)
        if waiting:
            loop.call_later(PRECISION_SECONDS, self._check, loop)


def content_length(headers: Headers) -> int | None:
    """The length of a request's body in bytes; None if it comes in chunks of unknown number."""
    announced = headers.get("content-length", "")
    if announced.isdecimal():
        return int(announced)
    return None if "transfer-encoding" in headers else 0


def respond_problem(
    protocol: HTTPProtocol, error: Exception, more: Iterable[tuple[str, str]] = ()
) -> None:
    """Answers a request with the problem document of an error.

    Args:
        protocol: of the request.
        error: why it is refused.
        more: further headers of the answer.
    """
    if isinstance(error, ProblemError):
        # Without making a response of Flask's, as a busy server refuses often.
        headers = [("content-type", MEDIA_TYPE), NO_SNIFFING, *error.headers.items(), *more]
        protocol.response_bytes(error.status, headers, error.body())
        return
    respond(protocol, problem_response(error), more)


def respond(
    protocol: HTTPProtocol, response: Response, more: Iterable[tuple[str, str]] = ()
) -> None:
    """Answers a request with a response that was made here.

    Args:
        protocol: of the request.
        response: the answer.
        more: further headers of it.
    """
    headers = [(name.lower(), value) for name, value in response.headers.to_wsgi_list()]
    headers += [NO_SNIFFING, *more]
    protocol.response_bytes(response.status_code, headers, response.get_data())


MAX_WHOLE_BYTES: Final = 64 << 10
"""A body of announced length is read in one piece up to this size, a larger one in several."""

DISCARDED_LIMITS: Final = 4
"""The rest of a body that was refused as too large is read up to so many times the limit."""


class MemoryBudget:
    """Memory that the bodies of all connections share. Belongs to one event loop.

    A large body counts by the bytes that have arrived: announcing many costs a client nothing.

    Args:
        limit: in bytes.

    Attributes:
        used: in bytes.
    """

    def __init__(self, limit: int) -> None:
        self.used = 0
        self._limit = limit

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more are within the limit."""
        return self.used + size <= self._limit


class RequestBody:
    """The body of one request, which counts in the budget from its first byte to its release.

    Args:
        budget: the memory that it is part of.
    """

    __slots__ = ("_budget", "_iterating", "_size", "_taken_whole")

    def __init__(self, budget: MemoryBudget) -> None:
        self._iterating = False
        self._taken_whole = False
        self._budget = budget
        self._size = 0

    async def read(
        self, protocol: HTTPProtocol, *, length: int | None, limit: int, deadlines: Deadlines
    ) -> bytes | None:
        """Reads the body.

        Args:
            protocol: the connection.
            length: the announced length in bytes, at most `limit`; None if there is none.
            limit: the most bytes to read.
            deadlines: how long reading may take.

        Returns:
            The body; None if it is longer than the limit.

        Raises:
            ProblemError: ``overloaded``, ``body_too_slow`` or ``body_cut_off``.
        """
        if not self._budget.has_room(length or 0):
            raise overloaded()
        task = asyncio.current_task()
        assert task is not None
        cancelled_here: list[bool] = []
        deadline = deadlines.begin(lambda: cancelled_here.append(task.cancel()))
        try:
            if length is not None and length <= MAX_WHOLE_BYTES:
                return await self._read_whole(protocol, length)
            return await self._read_pieces(protocol, length, limit)
        except ProtocolClosed:
            raise body_cut_off() from None
        except asyncio.CancelledError:
            # Somebody else may have cancelled the task as well: then it must end.
            if not cancelled_here or task.uncancel():
                raise
            raise ProblemError(
                "body_too_slow",
                f"Send the whole body within {deadlines.seconds:g} seconds.",
                headers={"Connection": "close"},
            ) from None
        finally:
            deadline.cancel()

    async def _read_whole(self, protocol: HTTPProtocol, length: int) -> bytes:
        self._add(length)
        self._taken_whole = True
        data = await protocol()
        if len(data) != length:
            raise body_cut_off()
        return data

    async def _read_pieces(
        self, protocol: HTTPProtocol, length: int | None, limit: int
    ) -> bytes | None:
        pieces: list[bytes] = []
        self._iterating = True
        async for piece in protocol:
            self._add(len(piece))
            if self._size > limit:
                return None
            pieces.append(piece)
            if not self._budget.has_room(0):
                raise overloaded()
        if length is not None and self._size != length:
            raise body_cut_off()
        return b"".join(pieces)

    async def discard(
        self, protocol: HTTPProtocol, *, length: int | None, limit: int, seconds: float
    ) -> None:
        """Reads and drops the rest of a body after it was refused as too large.

        If the connection were closed at once, a proxy that is still sending would often miss the
        answer and send one of its own, after which the client tries the same upload again, for
        ever.

        Args:
            protocol: the connection, on which the answer was sent.
            length: the announced length in bytes; None if there is none.
            limit: of bodies that are accepted, in bytes.
            seconds: how long to read.
        """
        left = DISCARDED_LIMITS * limit
        if self._taken_whole or (length is not None and length > left):
            return
        with suppress(StopAsyncIteration, ProtocolClosed, TimeoutError):
            async with asyncio.timeout(seconds):
                pieces: Any = protocol
                if not self._iterating:
                    aiter(pieces)
                while left > 0:
                    left -= len(await anext(pieces))

    def _add(self, size: int) -> None:
        self._size += size
        self._budget.used += size

    def release(self) -> None:
        """Gives the body's memory back to the budget."""
        self._budget.used -= self._size
        self._size = 0


MOST_IN_MEMORY: Final = 1 << 20
"""Bytes of an answer beyond which it goes into a file."""

OPENED_SECONDS: Final = 10.0
"""By then the web server has opened a file that it was given; it does so at once."""


class AnswerBody:
    """What is received of an answer, in its order.

    A large answer goes into a file without a name. A client that reads slowly then takes neither
    memory nor the process that has answered, and nobody sees a part of an answer that breaks off.
    The web server would keep in memory what it is given piece by piece, and end what breaks off as
    if it were whole.

    Args:
        whole: all of it, where it is there.
    """

    def __init__(self, whole: bytes = b"") -> None:
        self._pieces = [whole]
        self._size = len(whole)
        self._file: IO[bytes] | None = None

    async def add(self, piece: bytes) -> None:
        """Adds a piece.

        Raises:
            OSError: if there is no room for the file.
        """
        self._size += len(piece)
        if self._file is None and self._size <= MOST_IN_MEMORY:
            self._pieces.append(piece)
        else:
            await asyncio.to_thread(self._write, piece)

    def _write(self, piece: bytes) -> None:
        if self._file is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115  closed by `close`
            self._write_whole(self._file, b"".join(self._pieces))
            self._pieces = []
        self._write_whole(self._file, piece)

    @staticmethod
    def _write_whole(file: IO[bytes], content: bytes) -> None:
        # A file without a buffer takes a part where the rest has no room, and raises nothing.
        if file.write(content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def respond(self, protocol: HTTPProtocol, response: WsgiCallResponse) -> None:
        """Answers a request.

        Args:
            protocol: of the request.
            response: the status and the headers.
        """
        if self._file is None:
            protocol.response_bytes(response.status, response.headers, b"".join(self._pieces))
            return
        headers = [each for each in response.headers if each[0] != "content-length"]
        headers.append(("content-length", str(self._size)))
        path = f"/proc/self/fd/{self._file.fileno()}"
        protocol.response_file(response.status, headers, path)
        asyncio.get_running_loop().call_later(OPENED_SECONDS, self.close)

    def close(self) -> None:
        """Gives the file back, if there is one."""
        if self._file is not None:
            self._file.close()
