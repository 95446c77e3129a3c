"""The storage of one device: its files, used by one thread of one process at a time."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from deniable._platform.remedies import remedy
from deniable._storage import sqlite
from deniable._storage.directory import BusyError, StorageError, claim_directory, make_private
from deniable._storage.files import (
    FILE_NAMES,
    LEDGER,
    LOCK,
    SPOOL,
    DeviceFiles,
    describe_error,
)
from deniable._storage.ledger import LedgerError, SecretReplacedError
from deniable._storage.lock import DirectoryLock

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import ClassVar, Final, TypeVar, TypeVarTuple

    from deniable._event_log import EventLog
    from deniable._status import Dropped

    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")

REOPEN_SECONDS: Final = 60.0
"""After a failure the storage is left alone this long, so that `record` stays quick."""

STORAGE_ERRORS: Final = (StorageError, LedgerError, sqlite3.Error, OSError)
"""What using a `DeviceStorage` can raise."""

_LOCK_WAIT_SECONDS: Final = 1.0
_ABANDONED: Final[list[object]] = []
"""Files of the parent of a fork; they are referred to for ever, and so never closed."""


class DeviceStorage(DeviceFiles):
    """The files of one device behind a lock; opened at first use.

    Ledger, spool and secret are used by actions that are given to `run_locked`, and by nothing
    else. If an action raises a storage error, the files are closed, and stay closed for
    `REOPEN_SECONDS`, unless another process has replaced the secret: then the next use opens them.
    Any other exception closes them too, because nobody knows what it interrupted, and the next use
    opens them.

    Args:
        directory: see `DeviceFiles`, as are the next two.
        events: see there.
        application: see there.

    Attributes:
        in_files: whether the directory is used; not by the storage of tests.
        fork_handler: returns what is to be called in the child of a fork, in place of
            `after_fork_in_child`; or None.
    """

    in_files: ClassVar[bool] = True

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        super().__init__(directory, events, application)
        self._lock = DirectoryLock()
        self._ready = False  # whether the files are open, and no action is at work or was cut short
        self._keeps_open = True
        self._retry_at = 0.0
        self._last_failure = StorageError()
        self._process = os.getpid()
        self.fork_handler: Callable[[], Callable[[], None] | None] = lambda: None

    def run_locked(
        self,
        action: Callable[[*_Ts], _T],
        *arguments: *_Ts,
        wait_seconds: float | None = None,
    ) -> _T:
        """Calls an action that uses the files, while no other thread or process uses them.

        Args:
            action: what to call.
            arguments: what to call it with.
            wait_seconds: how long to wait for others; 0 or more, `_LOCK_WAIT_SECONDS` if None.

        Returns:
            What the action returns.

        Raises:
            BusyError: if others need longer.
            StorageError: if the storage cannot be used.
        """
        if os.getpid() != self._process:
            self.detect_fork()
        wait = _LOCK_WAIT_SECONDS if wait_seconds is None else wait_seconds
        deadline = time.monotonic() + wait
        return self._lock.run_exclusively(wait, self._run, wait, deadline, action, arguments)

    def sync_ledger(self) -> None:
        """Has every debit survive a power failure; called before anything is uploaded.

        The first call establishes the device, and `record` waits for it; later ones need no lock.
        Must not be called by an action of `run_locked`.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if that cannot be done; then nothing
                may be uploaded.
        """
        if not self.is_established:
            # Less than `_LOCK_WAIT_SECONDS`: whoever reads the ledger meanwhile stops no recording.
            self.run_locked(self.establish, wait_seconds=_LOCK_WAIT_SECONDS / 2)
        try:
            sqlite.sync_log(self.directory / LEDGER)
        except OSError as error:
            self._events.problem("storage_unavailable", describe_error(error))
            raise

    def allow_retry(self) -> None:
        """Lets the next use try the storage even if it failed a moment ago."""
        self._retry_at = 0.0

    def delete_reports(self, reason: Dropped, wait_seconds: float = _LOCK_WAIT_SECONDS) -> int:
        """Deletes every report of a device whose files cannot be opened together.

        Must not be called by an action of `run_locked`. Secret and ledger stay as they are. The
        spool's note of what the ledger had spent, by which an old copy of the ledger is recognised,
        stays too, unless the spool is so damaged that its file has to be deleted.

        Args:
            reason: what the pending reports are counted as.
            wait_seconds: see `run_locked`.

        Returns:
            How many reports were pending, as far as they could be counted.

        Raises:
            StorageError, sqlite3.Error, OSError: if that cannot be done either.
        """
        return self._run_on_closed_files(wait_seconds, self._delete_reports_unopened, reason)

    def reset_unreadable(self, wait_seconds: float = _LOCK_WAIT_SECONDS) -> int:
        """Does as much of `wipe` as can be done if the files cannot be opened together.

        Must not be called by an action of `run_locked`. Deletes the reports and replaces the
        secret, if there is one. If the ledger comes back, it finds another secret than the one it
        knows, and counts nothing as paid for in advance.

        Args:
            wait_seconds: see `run_locked`.

        Returns:
            How many reports were pending, as far as they could be counted.

        Raises:
            StorageError, sqlite3.Error, OSError: if that cannot be done either.
        """
        return self._run_on_closed_files(wait_seconds, self._reset_unopened)

    def close(self, wait_seconds: float = _LOCK_WAIT_SECONDS / 2) -> None:
        """Closes the files; from now on each use opens them, and closes them again.

        Args:
            wait_seconds: how long to wait for an action of another thread, and for other processes.
        """
        self._keeps_open = False
        deadline = time.monotonic() + wait_seconds
        with contextlib.suppress(BusyError):
            self._lock.run_exclusively(wait_seconds, self._close_locked, deadline)

    def detect_fork(self) -> None:
        """Calls the fork handler if this process is a forked child in which it has not been called.

        Python's own hooks are not enough: a program in C may fork by itself, and a signal may end a
        hook before its first step. Two processes with the same random bytes would reveal the noise.
        """
        if os.getpid() != self._process:
            (self.fork_handler() or self.after_fork_in_child)()

    def before_fork(self) -> None:
        """Closes the files, and keeps other threads out until `after_fork_in_parent`.

        SQLite connections must not cross a fork, not even to be closed on the other side.
        """
        if self._lock.block_for_fork(_LOCK_WAIT_SECONDS) and self._lock.file is not None:
            # Closing keeps the logs, for the host waits until this is done.
            kept = self.directory / LEDGER, self.directory / SPOOL
            self._close_locked(time.monotonic() + _LOCK_WAIT_SECONDS, *kept)

    def after_fork_in_parent(self) -> None:
        """Lets other threads in again."""
        self._lock.unblock()

    def after_fork_in_child(self) -> None:
        """Gives up all files and locks of the parent.

        Files are still open here if a thread of the parent was stuck in an action. Their
        connections are never closed and never used again. If the thread that forked was itself in
        an action, which a signal handler can do, that action goes on here: every statement that it
        executes on such a connection is refused.
        """
        files = [self.__dict__.pop(name, None) for name in ("ledger", "spool")]
        _ABANDONED.extend(files)
        if self._lock.after_fork_in_child():
            for file in files:
                if file is not None:
                    file.abandon()
        self._close_files()
        self._process = os.getpid()

    def __del__(self) -> None:
        if self._lock.file is not None and os.getpid() == self._process:
            # Whoever drops the last reference must not wait for the disk: the logs are kept. And
            # nothing is to be printed when the interpreter is too far gone to import anything.
            with contextlib.suppress(Exception):
                self._close_locked(0.0, self.directory / LEDGER, self.directory / SPOOL)

    def _run(
        self,
        wait_seconds: float,
        deadline: float,
        action: Callable[[*_Ts], _T],
        arguments: tuple[*_Ts],
    ) -> _T:
        usable = started = False
        try:
            if self._ready:
                self._lock.lock_file(deadline)
                self._ready = False
                usable = self._file_check.still_in_place()
            if not usable:
                self._open(deadline)
            started = True
            result = action(*arguments)
        except BusyError as error:
            if wait_seconds >= _LOCK_WAIT_SECONDS:
                self._suspend_use(error)  # the next use would wait in vain, too
            raise
        except BaseException as error:
            failed = isinstance(error, STORAGE_ERRORS)
            if started and failed and not isinstance(error, SecretReplacedError):
                self._suspend_use(error)
            else:
                # Possibly raised by a signal handler: close the files rather than continue
                # half-done work.
                self._close_files()
            raise
        # The lock file is closed if the action forked and this is the child.
        self._ready = self._lock.file is not None
        if self._ready and not self._keeps_open:
            self._ready = False
            self._close_locked(deadline, self.directory / LEDGER, self.directory / SPOOL)
        return result

    def _open(self, deadline: float) -> None:
        self._close_files()
        if time.monotonic() < self._retry_at:
            raise self._failure_again()
        try:
            make_private(self.directory, FILE_NAMES)
            self._lock.open_file(self.directory / LOCK)
            self._lock.lock_file(deadline)
            self._open_files()
        except BusyError:
            self._close_files()
            raise
        except (OSError, sqlite3.Error, LedgerError, StorageError) as error:
            self._suspend_use(error)
            raise self._failure_again() from error

    def _run_on_closed_files(
        self, wait_seconds: float, action: Callable[[*_Ts], _T], *arguments: *_Ts
    ) -> _T:
        """Calls an action for files that cannot be opened together, while nobody else uses them."""
        deadline = time.monotonic() + wait_seconds

        def run() -> _T:
            self._close_files()
            make_private(self.directory, FILE_NAMES)  # refuses a directory that is not ours
            self._lock.open_file(self.directory / LOCK)
            try:
                self._lock.lock_file(deadline)
                claim_directory(self.directory, self._application)
                return action(*arguments)
            finally:
                self._close_files()

        return self._lock.run_exclusively(wait_seconds, run)

    def _close_locked(self, deadline: float, *kept: Path) -> None:
        """Closes the files under the directory's lock: SQLite moves the log when the last closes.

        If another process does not give the lock back in time, SQLite's own locks must do.

        Args:
            deadline: of the monotonic clock.
            kept: the files whose logs are left for whoever opens them next.
        """
        with contextlib.suppress(StorageError, OSError):
            self._lock.lock_file(deadline)
        with sqlite.keep_logs(*kept):
            self._close_files()

    def _close_files(self) -> None:
        self._ready = False
        self._close_databases()
        self._lock.close_file()

    def _suspend_use(self, error: BaseException) -> None:
        """Closes the files, and refuses to open them again for `REOPEN_SECONDS`."""
        self._close_files()
        own = isinstance(error, (StorageError, LedgerError))
        problem = str(error) if own else describe_error(error)
        if (order := remedy(error)) is not None:
            problem += f": {order}"
        self._last_failure = StorageError(problem)
        self._retry_at = time.monotonic() + REOPEN_SECONDS
        self._events.problem("storage_unavailable", str(self._last_failure))

    def _failure_again(self) -> StorageError:
        """The latest failure as a new error, for one that was raised before holds its frames."""
        return StorageError(*self._last_failure.args)
