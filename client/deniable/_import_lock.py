"""Imports on the client's own threads, which no fork may interrupt.

A module that one thread is importing is locked, and stays so in a child that is forked meanwhile:
whoever imports it there, the host application too, would wait for ever. So a fork waits until these
imports are over.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Final

FORK_WAIT_SECONDS: Final = 2.0
"""Imports take less, and a host that forks must not wait for ever."""

_lock = threading.RLock()  # a signal handler may fork, or import, while its thread does
_forking: set[int] = set()  # threads, by their numbers


def hold() -> AbstractContextManager[bool]:
    """What is held while something is imported."""
    return _lock


def before_fork() -> None:
    """Before a fork: lets imports end and none begin."""
    _forking.add(threading.get_ident())
    _lock.acquire(timeout=FORK_WAIT_SECONDS)


def after_fork_in_parent() -> None:
    """After a fork, in the parent; undoes as much of `suspend` as was done."""
    me = threading.get_ident()
    if me in _forking:
        try:
            _lock.release()
        except RuntimeError:
            pass  # it was not taken
        finally:
            _forking.discard(me)


def after_fork_in_child() -> None:
    """After a fork, in the child."""
    global _lock
    _lock = threading.RLock()
    _forking.clear()
