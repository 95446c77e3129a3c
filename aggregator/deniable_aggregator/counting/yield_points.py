"""Places in long work where others may take their turn, and where work ends that nobody waits for.

Whoever shares a process among several pieces of work says what happens there (`yielding_by`). In
any other thread, such as that of a command, a yield point does nothing.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_A_PIECE: Final = 1_000

Item = TypeVar("Item")


class _OfThread(threading.local):
    at_point: Callable[[bool], None] | None = None
    held: int = 0


_thread = _OfThread()


def yield_point() -> None:
    """Lets others take their turn. Long loops call this between pieces of work.

    Raises:
        Exception: or a `BaseException`, if the work is to end.
    """
    if _thread.at_point is not None:
        _thread.at_point(_thread.held <= 0)  # below if another thread has closed a reader of it


def in_pieces(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, with a yield point before each thousand of them.

    Args:
        items: each is soon dealt with.
    """
    for place, item in enumerate(items):
        if not place % _A_PIECE:
            yield_point()
        yield item


@contextmanager
def without_yielding() -> Iterator[None]:
    """Until the block ends, this thread may be told to end, but never waits for others.

    For whoever holds what others need to get on: a lock, or a connection to a database. Up to
    Python 3.11 `functools.cached_property` holds a lock, so what it works out has no yield point.
    """
    _thread.held += 1
    try:
        yield
    finally:
        _thread.held -= 1


@contextmanager
def yielding_by(at_point: Callable[[bool], None]) -> Iterator[None]:
    """Says what happens at the yield points of this thread until the block ends.

    Args:
        at_point: called there, and told whether it may wait.
    """
    _thread.at_point = at_point
    try:
        yield
    finally:
        _thread.at_point = None
