"""Reading bodies in an event loop: a deadline for each, and a bound on all of them together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from granian._granian import RSGIProtocolClosed

from deniable_aggregator.http.problems import ProblemError, body_cut_off, overloaded

if TYPE_CHECKING:
    from granian._granian import RSGIHTTPProtocol as HTTPProtocol

    from deniable_aggregator.server.deadlines import Deadlines

WHOLE_BYTES: Final = 64 << 10
"""A body of announced length is read at once up to this size, larger ones piece by piece."""

DISCARDED_LIMITS: Final = 4
"""So many times the limit may a body be long whose sender is heard out after it was refused."""


class MemoryBudget:
    """Memory that the bodies of all connections share. Belongs to one event loop.

    What counts of large bodies is what has arrived, not what was announced: announcing costs
    nothing.

    Args:
        limit: in bytes.

    Attributes:
        used: in bytes.
    """

    def __init__(self, limit: int) -> None:
        self.used = 0
        self._limit = limit

    def has_room(self, size: int) -> bool:
        """Whether so much more fits."""
        return self.used + size <= self._limit


class RequestBody:
    """The body of one request, in memory from its first byte until it is released.

    Args:
        budget: the memory that it is part of.
    """

    __slots__ = ("_begun", "_budget", "_size")

    def __init__(self, budget: MemoryBudget) -> None:
        self._begun = False
        self._budget = budget
        self._size = 0

    async def read(
        self, protocol: HTTPProtocol, *, length: int | None, limit: int, deadlines: Deadlines
    ) -> bytes | None:
        """Reads it.

        Args:
            protocol: where it comes from.
            length: what was announced, at most `limit`; None if nothing was.
            limit: the most to read, in bytes.
            deadlines: for the whole of it.

        Returns:
            The body; None if it is longer than the limit.

        Raises:
            ProblemError: ``overloaded``, ``body_too_slow`` or ``body_cut_off``.
        """
        # Nothing is read that might have to be thrown away.
        if not self._budget.has_room(length or 0):
            raise overloaded()
        task = asyncio.current_task()
        assert task is not None
        slow: list[bool] = []

        def pass_deadline() -> None:
            slow.append(task.cancel())

        deadline = deadlines.begin(pass_deadline)
        try:
            if length is not None and length <= WHOLE_BYTES:
                return await self._at_once(protocol, length)
            return await self._by_pieces(protocol, length, limit)
        except RSGIProtocolClosed:
            raise body_cut_off() from None
        except asyncio.CancelledError:
            if not slow or task.uncancel():
                raise
            raise ProblemError(
                "body_too_slow",
                f"Send the whole body within {deadlines.seconds:g} seconds.",
                headers={"Connection": "close"},
            ) from None
        finally:
            deadline.over = True

    async def _at_once(self, protocol: HTTPProtocol, length: int) -> bytes:
        self._take(length)
        data = await protocol()
        if len(data) != length:
            raise body_cut_off()
        return data

    async def _by_pieces(
        self, protocol: HTTPProtocol, length: int | None, limit: int
    ) -> bytes | None:
        pieces: list[bytes] = []
        self._begun = True
        async for piece in protocol:
            self._take(len(piece))
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
        """Lets the sender of a body that was refused as too large send on, for a while.

        Were the connection closed at once, a proxy that is still sending would often miss the
        answer and make up one of its own, after which the same upload comes again, for ever.

        Args:
            protocol: where the body comes from; already answered.
            length: what was announced; None if nothing was.
            limit: of bodies that are accepted, in bytes.
            seconds: how long to wait for its end.
        """
        left = DISCARDED_LIMITS * limit
        if length is not None and length > left:
            return
        with suppress(StopAsyncIteration, RSGIProtocolClosed, TimeoutError):
            async with asyncio.timeout(seconds):
                pieces: Any = protocol
                if not self._begun:
                    aiter(pieces)
                while left > 0:
                    left -= len(await anext(pieces))

    def _take(self, size: int) -> None:
        self._size += size
        self._budget.used += size

    def release(self) -> None:
        """Gives the memory back."""
        self._budget.used -= self._size
        self._size = 0
