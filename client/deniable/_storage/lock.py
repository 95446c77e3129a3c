"""The gate to a directory: one thread of one process at a time, whatever happens to that thread."""

from __future__ import annotations

import fcntl
import os
import threading
import time

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
    """A lock of threads, and within it the lock file that processes respect.

    Signal handlers of the host may raise, and do it when a function begins or a call returns. So
    nothing is used as a context whose end is a function in Python: it may be over before it began.
    What gives a lock back is the first call in its ``finally``, and no call stands between taking
    one and the ``try``.

    Attributes:
        file: the descriptor of the lock file while it is open.
    """

    def __init__(self) -> None:
        self.file: int | None = None
        self._lock: Any = threading.RLock()
        self._forking: set[int] = set()  # threads, by their numbers

    def run_exclusively(
        self, wait_seconds: float, action: Callable[[*_Ts], _T], *arguments: *_Ts
    ) -> _T:
        """Does something while no other thread is inside.

        Args:
            wait_seconds: how long to wait for another thread; 0 or more.
            action: may `seize` the lock file, which is given back at the end.
            arguments: what it is called with.

        Raises:
            BusyError: if others need longer, or if this thread is inside already: a signal handler
                may record while its own thread does, and must not wait for itself.
        """
        lock = self._lock
        if lock._is_owned():  # as threading.Condition asks
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
                    fcntl.flock(self.file, fcntl.LOCK_UN)
            finally:
                lock.release()

    def open_file(self, path: Path) -> None:
        """Opens the lock file, and makes it if there is none."""
        self.file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)

    def lock_file(self, deadline: float) -> None:
        """Keeps other processes out, until the end of `through` or `close_file`.

        Args:
            deadline: of the monotonic clock; it is tried once at least.

        Raises:
            BusyError: if another process was inside until then.
            OSError: if the lock file cannot be used.
        """
        while self.file is not None:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise BusyError("another process holds the directory's lock") from None
                time.sleep(_LOCK_POLL_SECONDS)
            else:
                return

    def close_file(self) -> None:
        """Closes the lock file."""
        # Taken first: closed twice, the number might be that of a file of the host by then.
        file, self.file = self.file, None
        if file is not None:
            try:  # noqa: SIM105  no call may come between
                os.close(file)
            except OSError:
                pass

    def block_for_fork(self, wait_seconds: float) -> bool:
        """Before a fork: keeps other threads out until `unbar`.

        Args:
            wait_seconds: how long to wait for another thread; 0 or more.

        Returns:
            False if others need longer, or if this thread is inside.
        """
        if self._lock._is_owned():
            return False
        self._forking.add(threading.get_ident())
        return bool(self._lock.acquire(timeout=wait_seconds))

    def unblock(self) -> None:
        """After a fork, in the parent; undoes as much of `bar` as was done, and once."""
        me = threading.get_ident()
        if me in self._forking:
            if self._lock._is_owned():
                try:
                    if self.file is not None:
                        fcntl.flock(self.file, fcntl.LOCK_UN)
                finally:
                    self._lock.release()
            self._forking.discard(me)

    def after_fork_in_child(self) -> bool:
        """After a fork, in the child: a new lock, for others may have held the old one.

        Returns:
            Whether this thread was inside, and will find itself there.
        """
        inside = self._lock._is_owned() and threading.get_ident() not in self._forking
        self._lock = threading.RLock()
        self._forking.clear()
        return bool(inside)
