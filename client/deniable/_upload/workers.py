"""Doing one thing after another, several at a time."""

from __future__ import annotations

import threading
from itertools import chain, islice

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")


def run_parallel(work: Iterator[_T], do: Callable[[_T], bool], limit: int) -> None:
    """Takes up work in its order, in this thread and helpers, until one says that it is enough.

    The first piece is done alone, since it may say so. Returns when nobody is at work any more.

    Args:
        work: asked for the next piece by one thread at a time.
        do: does a piece; False if no more is to be begun.
        limit: how many are done at a time at most; 1 or more.

    Raises:
        BaseException: the first one that `work` or `do` raised; nothing is begun after it.
    """
    lock = threading.Lock()
    enough = False
    failures: list[BaseException] = []

    def run() -> None:
        nonlocal enough
        try:
            while True:
                with lock:
                    if enough:
                        return
                    piece = next(work)
                if not do(piece):
                    enough = True
        except StopIteration:
            enough = True
        except BaseException as error:  # noqa: BLE001  raised by the thread that waits for all
            enough = True
            failures.append(error)

    if limit > 1:
        first = list(islice(work, 1))
        if not (first and do(first[0])):
            return
        second = list(islice(work, 1))
        if not second:
            return  # nothing to help with
        work = chain(second, work)
    name = threading.current_thread().name  # whose threads they are is asked by their names
    helpers = [threading.Thread(target=run, name=name, daemon=True) for _ in range(limit - 1)]
    started = []
    for helper in helpers:
        try:
            helper.start()
        except RuntimeError:  # no more threads: those that there are do it
            break
        started.append(helper)
    run()
    for helper in started:
        helper.join()
    if failures:
        raise failures[0]
