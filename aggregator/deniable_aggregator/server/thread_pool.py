"""Threads for work that would block an event loop, with a bound on how much of it waits."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deniable_aggregator.http.problems import overloaded

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = TypeVar("Answer")


class WorkAbandonedError(Exception):
    """Nobody waits for this work any longer."""


class _Task(Generic[Answer]):
    __slots__ = ("work",)

    def __init__(self, work: Callable[[], Answer]) -> None:
        self.work: Callable[[], Answer] | None = work

    def __call__(self) -> Answer:
        work = self.work
        if work is None:
            raise WorkAbandonedError
        return work()


class BoundedThreadPool:
    """Some threads. Belongs to one event loop.

    Args:
        name: of the threads.
        threads: how many.
        waiting: how much may wait for one of them.
        seconds: how long a caller waits; None for as long as the work takes.
    """

    def __init__(
        self, name: str, *, threads: int, waiting: int, seconds: float | None = None
    ) -> None:
        self._executor = ThreadPoolExecutor(threads, name)
        self._most = threads + waiting
        self._seconds = seconds
        self._busy = 0

    async def run(self, work: Callable[..., Answer], *given: object) -> Answer:
        """Does some work in a thread.

        Raises:
            ProblemError: ``overloaded``, if too much waits already, or nothing was heard in time.
        """
        if self._busy >= self._most:
            raise overloaded()
        task = _Task(partial(work, *given))
        done = asyncio.get_running_loop().run_in_executor(self._executor, task)
        self._busy += 1
        done.add_done_callback(self._end)
        await asyncio.wait((done,), timeout=self._seconds)
        if not done.done():
            # What was not begun is not done any more, and keeps no memory; it takes its place
            # until a thread has got to it, so that there is a bound on how much there is of it.
            task.work = None
            raise overloaded()
        return await done

    def _end(self, done: asyncio.Future[Any]) -> None:
        self._busy -= 1
        if not done.cancelled():
            done.exception()  # nobody may be there to hear of it

    def close(self) -> None:
        """Ends the threads when they have done what waits."""
        self._executor.shutdown()
