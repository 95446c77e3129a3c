"""Doing pieces of work in their order, several at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    _T = TypeVar("_T")

FIRST_PAUSE_SECONDS: Final = 0.01
LONGER: Final = 1.2
"""While no piece is begun, `allowed` is asked after pauses each of which is so much longer."""

LONGEST_PAUSE_SECONDS: Final = 1.0


def run_parallel(
    work: Iterator[_T], do: Callable[[_T], bool], most: int, allowed: Callable[[], int]
) -> None:
    """Does pieces of work until `do` returns False; returns when all that was begun is done.

    Args:
        work: the pieces; asked for the next one by one thread at a time.
        do: does a piece; returns False if no further piece is to be begun.
        most: how many pieces are done at a time at most; 1 or more. If it is 1, this thread does
            them, otherwise helper threads do.
        allowed: how many pieces may be done at a time by now; asked again whenever a piece is done,
            and in between. A thread that has begun goes on, even if fewer are allowed later.

    Raises:
        BaseException: the first exception that `work` or `do` raised; nothing is begun after it.
    """
    changed = threading.Condition()
    running = 0
    ended = False
    failures: list[BaseException] = []

    def run() -> None:
        nonlocal running, ended
        try:
            while True:
                with changed:
                    if ended:
                        return
                    piece = next(work)
                if not do(piece):
                    ended = True
                with changed:
                    changed.notify()
        except StopIteration:
            ended = True
        except BaseException as error:  # noqa: BLE001  raised again by the caller's thread
            ended = True
            failures.append(error)
        finally:
            with changed:
                running -= 1
                changed.notify()

    name = threading.current_thread().name  # so that a thread's name tells whose it is
    pause = FIRST_PAUSE_SECONDS
    with changed:
        while most > 1 and (running or not ended):
            if not ended and running < min(most, allowed()):
                running += 1
                try:
                    threading.Thread(target=run, name=name, daemon=True).start()
                except RuntimeError:  # no more threads can be started: go on with fewer
                    running -= 1
                    most = running
                pause = FIRST_PAUSE_SECONDS
            else:
                changed.wait(None if ended or running == most else pause)
                pause = min(pause * LONGER, LONGEST_PAUSE_SECONDS)
        running += 1
    run()
    with changed:
        while running:
            changed.wait()
    if failures:
        failure = failures[0]
        failures.clear()  # each refers to frames of `run`, which refer to this list
        raise failure
