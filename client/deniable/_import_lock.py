"""A lock for imports by the client, on whichever thread, which makes forks wait for them.

Python locks a module while a thread imports it, and the lock stays held in a child that is forked
meanwhile: any code in the child that imports the module, the host's own included, would wait for
ever. So a fork waits until these imports are over.
"""

from __future__ import annotations

import os
import threading

TYPE_CHECKING = False

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Final

FORK_WAIT_SECONDS: Final = 2.0
"""A fork waits no longer; imports take less."""

_lock = threading.RLock()  # a signal handler may fork or import while its thread imports
_forking: set[int] = set()  # identifiers of threads
_process = os.getpid()


def hold() -> AbstractContextManager[bool]:
    """Use as ``with _import_lock.hold(): import ...``."""
    if os.getpid() != _process:  # a program in C has forked, without Python's hooks
        after_fork_in_child()
    return _lock


def before_fork() -> None:
    """Waits until imports have ended, and lets no other begin."""
    hold()
    _forking.add(threading.get_ident())
    _lock.acquire(timeout=FORK_WAIT_SECONDS)


def after_fork_in_parent() -> None:
    """Undoes as much of `before_fork` as was done."""
    me = threading.get_ident()
    if me in _forking:
        try:
            _lock.release()
        except RuntimeError:
            pass  # the lock could not be acquired in time
        finally:
            _forking.discard(me)


def after_fork_in_child() -> None:
    """Makes a new lock, for a thread of the parent may have held the old one."""
    global _lock, _process
    _lock, _process = threading.RLock(), os.getpid()
    _forking.clear()
