"""Reading bodies in an event loop: a deadline for each, and a bound on all of them together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.problems import ProblemError, overloaded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from deniable_aggregator.deadlines import Deadlines

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

CUT_OFF: Final = "body ended before its announced end"


class CutOffError(Exception):
    """The client hung up before the end of its body."""


class Budget:
    """Memory that the bodies of all connections share. Belongs to one event loop.

    What counts is what has arrived, not what was announced: announcing costs nothing.

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


class Body:
    """The body of one request, in memory from its first byte until it is released.

    Args:
        budget: the memory that it is part of.
    """

    __slots__ = ("_budget", "_size")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._size = 0

    async def read(
        self, receive: Receive, *, length: int | None, limit: int, deadlines: Deadlines
    ) -> bytes | None:
        """Reads it.

        Args:
            receive: as ASGI has it.
            length: what was announced, at most `limit`; None if nothing was.
            limit: the most to read, in bytes.
            deadlines: for the whole of it.

        Returns:
            The body; None if it is longer than the limit.

        Raises:
            ProblemError: ``overloaded``, or ``body_too_slow``.
            CutOffError: if the client has hung up.
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
            return await self._collect(receive, limit)
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

    async def _collect(self, receive: Receive, limit: int) -> bytes | None:
        chunks: list[bytes] = []
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise CutOffError(CUT_OFF)
            chunk: bytes = message.get("body", b"")
            more = message.get("more_body", False)
            self._size += len(chunk)
            self._budget.used += len(chunk)
            if self._size > limit:
                return None
            if more and not self._budget.has_room(0):
                raise overloaded()
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def release(self) -> None:
        """Gives the memory back."""
        self._budget.used -= self._size
        self._size = 0
