"""The lock of a directory: one thread of one process at a time, even if signals raise or fork."""

from __future__ import annotations

import os
import threading
import time

from deniable._platform import files, locks
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
_OPEN: Final = os.O_CREAT | os.O_RDWR | files.BINARY


class DirectoryLock:
    """A lock between threads, and a lock file between processes, which is open while it is held.

    A signal handler of the host may raise whenever a Python function begins or a call returns. Do
    not use Python-level context managers here: a signal may raise between acquiring a lock and
    entering the block, and leak the lock. Instead, no call stands between acquiring a lock and its
    ``try``, and releasing it is the first call in the ``finally``.

    Args:
        path: of the lock file.

    Attributes:
        file: the descriptor of the lock file while it is open, or None.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self.file: int | None = None
        self.checks = False  # whether actions take long, so that a host may close descriptors
        self._identity: tuple[int, int] | None = None
        self._lock: Any = threading.RLock()
        self._entered = self._lock  # another one in a child that a signal handler has forked

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
            self._entered = lock
            return action(*arguments)
        finally:
            # Forget the descriptor before closing it: a descriptor that is closed twice may by then
            # be that of a file of the host.
            file, self.file = self.file, None
            try:
                if file is not None:
                    ours = True
                    try:
                        if self._identity is not None:
                            status = os.fstat(file)
                            ours = (status.st_dev, status.st_ino) == self._identity
                    except OSError:
                        ours = False
                    finally:
                        if ours:
                            try:
                                # Closing alone would not do: a child forked meanwhile shares the
                                # lock. And a child that a signal handler has forked within must
                                # leave it alone.
                                if lock is self._lock:
                                    locks.change_lock(file, locks.UNLOCK)
                            finally:
                                os.close(file)
            finally:
                lock.release()

    def lock_file(self, deadline: float) -> None:
        """Keeps other processes out until `run_exclusively` ends.

        Args:
            deadline: when to give up, by the monotonic clock; at least one attempt is made.

        Raises:
            BusyError: if another process held the lock until then.
            OSError: if the lock file cannot be used.
        """
        self.file = os.open(self._path, _OPEN, PRIVATE_FILE)
        while True:
            if self._entered is not self._lock:
                raise BusyError("the process has forked meanwhile")
            try:
                locks.change_lock(self.file, locks.LOCK)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise BusyError("another process holds the directory's lock") from None
                time.sleep(_LOCK_POLL_SECONDS)
            else:
                self._identity = files.identify(self.file) if self.checks else None
                return

    def after_fork_in_child(self) -> bool:
        """Makes a new lock in a forked child, because threads of the parent may hold the old one.

        Returns:
            Whether this thread forked within an action, which goes on in the child.
        """
        inside = self._lock._is_owned()
        self._lock = threading.RLock()
        return bool(inside)
