"""The private directory of one device: its secret, its ledger, its spool and the lock over them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time

from deniable._status import Dropped
from deniable._storage import sqlite
from deniable._storage.directory import (
    APPLICATION,
    BusyError,
    StorageError,
    claim_directory,
    make_private,
    overwrite,
    write_durably,
)
from deniable._storage.ledger import Ledger, LedgerError, SecretReplacedError, sync_to_disk
from deniable._storage.lock import DirectoryLock
from deniable._storage.open_files import OpenFileCheck
from deniable._storage.spool import Spool
from deniable._storage.spool_file import delete_files

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Final, TypeVar, TypeVarTuple

    from deniable._status import EventLog

    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")

SECRET_BYTES: Final = 32
REOPEN_SECONDS: Final = 60.0
"""After a failure the storage is left alone this long, so that `record` stays quick."""

_LOCK_WAIT_SECONDS: Final = 1.0
_LEDGER, _SPOOL, _SECRET, _LOCK = "ledger.sqlite", "spool.sqlite", "secret", "lock"
_ABANDONED: Final[list[object]] = []
_FILE_NAMES: Final = (_LEDGER, _SPOOL, _SECRET, _LOCK, APPLICATION, "remote.json")


STORAGE_ERRORS: Final = (StorageError, LedgerError, sqlite3.Error, OSError)
"""What using a `Device` can raise."""


class DeviceStorage:
    """One device's storage, opened at first use.

    Ledger, spool and secret are touched by what is given to `use`, and by nothing else: only one
    thread of one process is there at a time. Any storage error there closes the files, and they are
    opened again after `REOPEN_SECONDS`, or at once if another process has replaced the secret. Any
    other exception closes them, too, whatever it interrupted, and the next use opens them.

    A device exists as soon as it has a secret. From then on, a ledger that is missing, damaged or
    older than what was uploaded means that the spent budget is not known: nothing can be recorded
    until it is back. The same holds for a ledger with spent budget whose secret is missing.

    Args:
        directory: made with mode 0700 when first entered, not before.
        events: where problems and dropped reports are noted.
        application: whose it is; another one's is not used.

    Attributes:
        ledger: valid in `use`, as are the next two.
        spool: see there.
        secret: see there.
        has_forked: returns what is to be called in the child of a fork, if not only `forked`.
    """

    ledger: Ledger
    spool: Spool
    secret: bytes

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        self.directory = directory
        self._events = events
        self._application = application
        self._lock = DirectoryLock()
        self._ready = False
        self._file_check = OpenFileCheck(directory, _LEDGER, _SPOOL)
        self._retry_at = 0.0
        self._last_failure = StorageError()
        self._process = os.getpid()
        self.fork_handler: Callable[[], Callable[[], None] | None] = lambda: None

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return (self.directory / _SECRET).exists() or (self.directory / _LEDGER).exists()

    def run_locked(
        self,
        action: Callable[[*_Ts], _T],
        *arguments: *_Ts,
        wait_seconds: float | None = None,
    ) -> _T:
        """Does something with the files, while nobody else does.

        Args:
            action: what is to be done.
            arguments: what it is called with.
            wait_seconds: how long to wait for others; 0 or more, `_LOCK_WAIT_SECONDS` if None.

        Raises:
            BusyError: if others need longer.
            StorageError: if the storage cannot be used.
        """
        if os.getpid() != self._process:
            self.detect_fork()
        wait = _LOCK_WAIT_SECONDS if wait_seconds is None else wait_seconds
        deadline = time.monotonic() + wait
        return self._lock.run_exclusively(wait, self._run, wait, deadline, action, arguments)

    def detect_fork(self) -> None:
        """Has everything that must not cross a fork dropped, if no hook of Python has done it.

        A program in C may fork on its own, and a signal may end a hook before its first step. Two
        processes with the same random bytes would give away what is noise.
        """
        if os.getpid() != self._process:
            (self.fork_handler() or self.after_fork_in_child)()

    def sync_ledger(self) -> None:
        """Makes every debit survive a power failure; called before anything is uploaded.

        Raises:
            OSError: if the disk refuses; then nothing may be uploaded.
        """
        try:
            sync_to_disk(self.directory / _LEDGER)
        except OSError as error:
            self._events.problem("storage_unavailable", describe_error(error))
            raise

    def allow_retry(self) -> None:
        """Lets the next use try the storage even if it failed a moment ago."""
        self._retry_at = 0.0

    def wipe(self) -> int:
        """Deletes every report and starts with a new secret; what was spent stays spent.

        Used inside `use`. Whenever this is interrupted, permanent answers may be paid for twice,
        and never given without being paid for: the ledger forgets what was paid, on the disk,
        before there is another secret.

        Returns:
            How many reports were pending.

        Raises:
            sqlite3.Error, OSError: if the disk refuses; then it has to be done again.
        """
        ledger, secret = self.directory / _LEDGER, self.directory / _SECRET
        count = self.spool.delete_everything(Dropped.CONSENT_WITHDRAWN)
        self.ledger.set_secret(None)
        sync_to_disk(ledger)
        overwrite(secret, os.urandom(SECRET_BYTES))
        self.secret = os.urandom(SECRET_BYTES)
        write_durably(secret, self.secret)
        self.ledger.set_secret(self.secret)
        return count

    def delete_reports(self, reason: Dropped, wait_seconds: float = _LOCK_WAIT_SECONDS) -> int:
        """Deletes every report of a device whose files cannot be used together.

        Not used inside `use`, which cannot be entered. Secret and ledger stay, and so does
        what tells an old copy of the ledger, unless the spool is deleted as a whole because
        nothing else can be done with it.

        Args:
            reason: what the pending reports are counted as.
            wait_seconds: see `use`.

        Returns:
            How many reports were pending, as far as they could be counted.

        Raises:
            StorageError, sqlite3.Error, OSError: if that cannot be done, either.
        """
        return self._run_on_closed_files(wait_seconds, self._delete_reports, reason)

    def reset_unreadable(self, wait_seconds: float = _LOCK_WAIT_SECONDS) -> int:
        """What is left of `wipe` where the files cannot be used together; used as `clear` is.

        A secret that is there is replaced. If the ledger comes back, it finds another secret than
        it knows, of which nothing has been paid for in advance.

        Args:
            wait_seconds: see `use`.

        Returns:
            As `clear` does.

        Raises:
            StorageError, sqlite3.Error, OSError: if that cannot be done, either.
        """
        return self._run_on_closed_files(wait_seconds, self._reset)

    def close(self, wait_seconds: float = _LOCK_WAIT_SECONDS / 2) -> None:
        """Closes the files; the next use opens them again.

        Args:
            wait_seconds: how long to wait for a thread that is inside, and for other processes.
        """
        deadline = time.monotonic() + wait_seconds
        with contextlib.suppress(BusyError):
            self._lock.run_exclusively(wait_seconds, self._close_locked, deadline)

    def before_fork(self) -> None:
        """Before a fork: closes the files and keeps every other thread out until `resume`.

        SQLite connections must not cross a fork, not even to be closed on the other side.
        """
        if self._lock.block_for_fork(_LOCK_WAIT_SECONDS) and self._lock.file is not None:
            # The host waits for this, and for whoever records next.
            kept = self.directory / _LEDGER, self.directory / _SPOOL
            self._close_locked(time.monotonic() + _LOCK_WAIT_SECONDS, *kept)

    def after_fork_in_parent(self) -> None:
        """After a fork, in the parent."""
        self._lock.unblock()

    def after_fork_in_child(self) -> None:
        """After a fork, in the child."""
        files = [self.__dict__.pop(name, None) for name in ("ledger", "spool")]
        # Some thread was stuck inside. Its connections stay open, untouched, to the end; this one
        # finds that they do nothing, if it was a signal handler of its own that forked.
        _ABANDONED.extend(files)
        if self._lock.after_fork_in_child():
            for file in files:
                if file is not None:
                    file.abandon()
        self._close_files()
        self._process = os.getpid()

    def __del__(self) -> None:
        if os.getpid() == self._process:
            self._close_locked(0.0)

    def _run(
        self,
        wait_seconds: float,
        deadline: float,
        action: Callable[[*_Ts], _T],
        arguments: tuple[*_Ts],
    ) -> _T:
        fit = inside = False
        try:
            if self._ready:
                self._lock.lock_file(deadline)
                self._ready = False
                fit = self._file_check.still_in_place()
            if not fit:
                self._open(deadline)
            inside = True
            result = action(*arguments)
        except BusyError as error:
            if wait_seconds >= _LOCK_WAIT_SECONDS:
                self._suspend_use(error)  # the next one would wait in vain, too
            raise
        except BaseException as error:
            trouble = isinstance(error, STORAGE_ERRORS)
            if inside and trouble and not isinstance(error, SecretReplacedError):
                self._suspend_use(error)
            else:
                # An exception of a signal handler perhaps: what is half done is not gone on with.
                self._close_files()
            raise
        # Not if a fork has left this behind in its child.
        self._ready = self._lock.file is not None
        return result

    def _close_locked(self, deadline: float, *kept: Path) -> None:
        """Takes the directory's lock to close the files: the last one to close moves the log.

        If another process is stuck with it, SQLite's own locks must do.
        """
        with contextlib.suppress(StorageError, OSError):
            self._lock.lock_file(deadline)
        with sqlite.keep_logs(*kept):
            self._close_files()

    def _open(self, deadline: float) -> None:
        self._close_files()
        if time.monotonic() < self._retry_at:
            raise self._failure_again()
        try:
            make_private(self.directory, _FILE_NAMES)
            self._lock.open_file(self.directory / _LOCK)
            self._lock.lock_file(deadline)
            self._open_files()
        except BusyError:
            self._close_files()
            raise
        except (OSError, sqlite3.Error, LedgerError, StorageError) as error:
            self._suspend_use(error)
            raise self._failure_again() from error

    def _open_files(self) -> None:
        claim_directory(self.directory, self._application)
        ledger, secret = self.directory / _LEDGER, self.directory / _SECRET
        known = secret.exists()
        if known:
            self.secret = secret.read_bytes()
            if len(self.secret) != SECRET_BYTES:
                raise StorageError("the device's secret is damaged")
            if not ledger.exists():
                raise StorageError("the ledger is missing: what was spent is not known")
        else:
            sqlite.create_file(ledger)
        self.ledger = Ledger(ledger, new=not known)
        if not known:
            if self.ledger.lifetime > 0:
                raise StorageError("the device's secret is missing")
            self.secret = os.urandom(SECRET_BYTES)
            write_durably(secret, self.secret)
        self.ledger.set_secret(self.secret)
        self.spool = Spool(self.directory / _SPOOL, self._events)
        # No power failure does this: a debit is on the disk before its report is uploaded.
        if self.spool.spent_at_last_upload() > self.ledger.lifetime:
            raise StorageError("the ledger is an old copy: what was spent is not known")
        self.spool.drop_unpaid(self.ledger.lifetime)
        self._file_check.remember()

    def _suspend_use(self, error: BaseException) -> None:
        self._close_files()
        ours = isinstance(error, (StorageError, LedgerError))
        self._last_failure = StorageError(str(error) if ours else describe_error(error))
        self._retry_at = time.monotonic() + REOPEN_SECONDS
        self._events.problem("storage_unavailable", str(self._last_failure))

    def _failure_again(self) -> StorageError:
        """The latest refusal, as an error that was not raised before."""
        return StorageError(*self._last_failure.args)

    def _run_on_closed_files(
        self, wait_seconds: float, action: Callable[[*_Ts], _T], *arguments: *_Ts
    ) -> _T:
        """Does something to files that cannot be opened together, while nobody else is there."""
        deadline = time.monotonic() + wait_seconds

        def work() -> _T:
            self._close_files()
            make_private(self.directory, _FILE_NAMES)  # or it is not ours to delete anything from
            self._lock.open_file(self.directory / _LOCK)
            try:
                self._lock.lock_file(deadline)
                claim_directory(self.directory, self._application)
                return action(*arguments)
            finally:
                self._close_files()

        return self._lock.run_exclusively(wait_seconds, work)

    def _delete_reports(self, reason: Dropped) -> int:
        path = self.directory / _SPOOL
        try:
            with contextlib.closing(Spool(path, self._events)) as spool:
                return spool.delete_everything(reason)
        except (sqlite3.Error, OSError):
            delete_files(path)
            return 0

    def _reset(self) -> int:
        count = self._delete_reports(Dropped.CONSENT_WITHDRAWN)
        secret = self.directory / _SECRET
        if secret.exists():
            overwrite(secret, os.urandom(SECRET_BYTES))
            write_durably(secret, os.urandom(SECRET_BYTES))
        return count

    def _close_files(self) -> None:
        self._ready = False
        for name in ("spool", "ledger"):
            file = self.__dict__.pop(name, None)
            if file is not None:
                with contextlib.suppress(sqlite3.Error):
                    file.close()
        self._lock.close_file()


def describe_error(error: BaseException) -> str:
    """An error in a few words, without the path, which may hold a user's name."""
    name = getattr(error, "sqlite_errorname", None)
    detail = name or (error.strerror if isinstance(error, OSError) else "")
    return f"{type(error).__name__} {detail}".strip()
