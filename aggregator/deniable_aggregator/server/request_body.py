"""Reading bodies in an event loop: a deadline for each, and a bound on all of them together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.http.problems import ProblemError, body_cut_off, overloaded
from deniable_aggregator.server.granian_adapter import ProtocolClosed

if TYPE_CHECKING:
    from deniable_aggregator.server.deadlines import Deadlines
    from deniable_aggregator.server.granian_adapter import HTTPProtocol

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

    __slots__ = ("_budget", "_iterating", "_size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._iterating = False
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
        if length is not None and length > left:
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
