"""Threads for work that would block an event loop, with a bound on how much of it waits."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from deniable_aggregator.problems import overloaded

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class Pool:
    """Some threads. Belongs to one event loop.

    Args:
        name: of the threads.
        threads: how many.
        waiting: how much may wait for one of them.
    """

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, name)
        self._most = threads + waiting
        self._busy = 0

    async def run(self, work: Callable[..., Answer], *given: object) -> Answer:
        """Does some work in a thread.

        Raises:
            ProblemError: ``overloaded``, if too much waits already.
        """
        if self._busy >= self._most:
            raise overloaded()
        self._busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work, *given)
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Ends the threads when they have done what waits."""
        self._executor.shutdown()
