"""The lock of a directory: one thread of one process at a time, even if signals raise or fork."""

from __future__ import annotations

import os
import threading
import time

from deniable._platform import locks
from deniable._platform.permissions import PRIVATE_FILE
from deniable._storage.directory import BusyError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any, Final, TypeVar, TypeVarTuple

    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")

_LOCK_POLL_SECONDS: Final = 0.001


class DirectoryLock:
    """A lock between threads, and a lock file between processes.

    A signal handler of the host may raise whenever a Python function begins or a call returns. Do
    not use Python-level context managers here: a signal may raise between acquiring a lock and
    entering the block, and leak the lock. Instead, no call stands between acquiring a lock and its
    ``try``, and releasing it is the first call in the ``finally``.

    Attributes:
        file: the descriptor of the lock file while it is open, or None.
    """

    def __init__(self) -> None:
        self.file: int | None = None
        self._lock: Any = threading.RLock()
        self._forking: set[int] = set()  # identifiers of threads

    def run_exclusively(
        self, wait_seconds: float, action: Callable[[*_Ts], _T], *arguments: *_Ts
    ) -> _T:
        """Calls an action while no other thread is in one.

        Args:
            wait_seconds: how long to wait for another thread; 0 or more.
            action: may call `lock_file`; the lock file is unlocked when the action ends.
            arguments: what to call it with.

        Raises:
            BusyError: if another thread needs longer, or if this thread is in an action already: a
                signal handler may record while its thread records, and must not wait for itself.
        """
        lock = self._lock
        if lock._is_owned():  # private, but threading.Condition relies on it, too
            raise BusyError("the storage is in use")
        try:
            entered = lock.acquire(timeout=wait_seconds)
        except BaseException:
            if lock._is_owned():
                lock.release()
            raise
        if not entered:
            raise BusyError("the storage is in use")
        try:
            return action(*arguments)
        finally:
            try:
                if self.file is not None:
                    locks.change_lock(self.file, locks.UNLOCK)
            finally:
                lock.release()

    def open_file(self, path: Path) -> None:
        """Opens the lock file, and creates it if there is none."""
        self.file = os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE_FILE)

    def lock_file(self, deadline: float) -> None:
        """Keeps other processes out until `run_exclusively` ends or the file is closed.

        Does nothing if the lock file is not open.

        Args:
            deadline: when to give up, by the monotonic clock; at least one attempt is made.

        Raises:
            BusyError: if another process held the lock until then.
            OSError: if the lock file cannot be used.
        """
        while self.file is not None:
            try:
                locks.change_lock(self.file, locks.LOCK)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise BusyError("another process holds the directory's lock") from None
                time.sleep(_LOCK_POLL_SECONDS)
            else:
                return

    def close_file(self) -> None:
        """Closes the lock file."""
        # Forget the descriptor before closing it: a descriptor that is closed twice may by then be
        # that of a file of the host.
        file, self.file = self.file, None
        if file is not None:
            try:  # noqa: SIM105  suppress() would be one more call that a signal may interrupt
                os.close(file)
            except OSError:
                pass

    def block_for_fork(self, wait_seconds: float) -> bool:
        """Keeps other threads out while this one forks, until `unblock`.

        Args:
            wait_seconds: how long to wait for another thread; 0 or more.

        Returns:
            False if another thread needs longer, or if this thread is in an action.
        """
        if self._lock._is_owned():
            return False
        self._forking.add(threading.get_ident())
        return bool(self._lock.acquire(timeout=wait_seconds))

    def unblock(self) -> None:
        """Undoes as much of `block_for_fork` as was done; a second call does nothing."""
        me = threading.get_ident()
        if me in self._forking:
            if self._lock._is_owned():
                try:
                    if self.file is not None:
                        locks.change_lock(self.file, locks.UNLOCK)
                finally:
                    self._lock.release()
            self._forking.discard(me)

    def after_fork_in_child(self) -> bool:
        """Makes a new lock in a forked child, because threads of the parent may hold the old one.

        Returns:
            Whether this thread forked within an action, which goes on in the child.
        """
        inside = self._lock._is_owned() and threading.get_ident() not in self._forking
        self._lock = threading.RLock()
        self._forking.clear()
        return bool(inside)
