"""Threads for work that would block the event loop, with a bound on how much work waits."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deniable_aggregator.http.problems import overloaded

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class WorkAbandonedError(Exception):
    """Nobody waits for this work any longer."""


class _Task(Generic[Result]):
    """Work that can be taken away until a thread begins it."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[], Result]) -> None:
        self.work: Callable[[], Result] | None = work

    def __call__(self) -> Result:
        work = self.work
        if work is None:
            raise WorkAbandonedError
        return work()


class BoundedThreadPool:
    """Some threads. Belongs to one event loop.

    Args:
        name: of the threads.
        threads: how many.
        waiting: how many pieces of work may wait for a thread.
        seconds: how long a caller waits; None for as long as the work takes.
    """

    def __init__(
        self, name: str, *, threads: int, waiting: int, seconds: float | None = None
    ) -> None:
        self._executor = ThreadPoolExecutor(threads, name)
        self._max_unfinished = threads + waiting
        self._seconds = seconds
        self._unfinished = 0

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        """Does some work in a thread.

        Raises:
            ProblemError: ``overloaded``, if too much waits already, or the work takes too long.
        """
        if self._unfinished >= self._max_unfinished:
            raise overloaded()
        task = _Task(partial(work, *arguments))
        done = asyncio.get_running_loop().run_in_executor(self._executor, task)
        self._unfinished += 1
        done.add_done_callback(self._finish)
        await asyncio.wait((done,), timeout=self._seconds)
        if not done.done():
            # Free the memory of work that no thread has begun. Its place stays taken until a
            # thread gets to it, so that abandoned work is bounded too.
            task.work = None
            raise overloaded()
        return await done

    def _finish(self, done: asyncio.Future[Any]) -> None:
        self._unfinished -= 1
        if not done.cancelled():
            done.exception()  # marks it as seen, as the caller may have gone

    def close(self) -> None:
        """Ends the threads when they have done what waits."""
        self._executor.shutdown()
