"""Doing pieces of work in their order, several at a time."""

from __future__ import annotations

import threading
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _T = TypeVar("_T")


def run_parallel(work: Iterator[_T], do: Callable[[_T], bool], limit: int) -> None:
    """Does pieces of work in this thread and in helper threads, until `do` returns False.

    The first piece is done alone, so that nothing else is begun if it returns False. Returns when
    all threads are done.

    Args:
        work: the pieces; asked for the next one by one thread at a time.
        do: does a piece; returns False if no further piece is to be begun.
        limit: how many pieces are done at a time at most; 1 or more.

    Raises:
        BaseException: the first exception that `work` or `do` raised; nothing is begun after it.
    """
    lock = threading.Lock()
    stopped = False
    failures: list[BaseException] = []

    def run() -> None:
        nonlocal stopped
        try:
            while True:
                with lock:
                    if stopped:
                        return
                    piece = next(work)
                if not do(piece):
                    stopped = True
        except StopIteration:
            stopped = True
        except BaseException as error:  # noqa: BLE001  raised again by the caller's thread
            stopped = True
            failures.append(error)

    if limit > 1:
        first = list(islice(work, 1))
        if not (first and do(first[0])):
            return
        second = list(islice(work, 1))
        if not second:
            return  # no helpers are needed
        work = chain(second, work)
    name = threading.current_thread().name  # so that a thread's name tells whose it is
    helpers = [threading.Thread(target=run, name=name, daemon=True) for _ in range(limit - 1)]
    started = []
    for helper in helpers:
        try:
            helper.start()
        except RuntimeError:  # no more threads can be started: do the work with fewer
            break
        started.append(helper)
    run()
    for helper in started:
        helper.join()
    if failures:
        raise failures[0]
