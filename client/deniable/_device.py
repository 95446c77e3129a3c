"""The private directory of one device: its secret, its ledger, its spool and the lock over them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
import time

from deniable import _database
from deniable._directory import (
    BusyError,
    DistrustError,
    StorageError,
    make_private,
    overwrite,
    seize,
    write_durably,
)
from deniable._ledger import Ledger, LedgerError, SecretReplacedError, sync
from deniable._spool import Spool
from deniable._status import Dropped

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Final, Self

    from deniable._status import Journal

SECRET_BYTES: Final = 32
REOPEN_SECONDS: Final = 60.0
"""After a failure the storage is left alone this long, so that `record` stays quick."""

_LOCK_WAIT_SECONDS: Final = 1.0
_LEDGER, _SPOOL, _SECRET, _LOCK = "ledger.sqlite", "spool.sqlite", "secret", "lock"
_CLOCK_TICK_NANOSECONDS: Final = 10**8  # ten times what file systems of today need
_ABANDONED: Final[list[object]] = []
_OURS: Final = (_LEDGER, _SPOOL, _SECRET, _LOCK, "remote.json")


STORAGE_ERRORS: Final = (StorageError, LedgerError, sqlite3.Error, OSError)
"""What using a `Device` can raise."""


class Device:
    """One device's storage, opened at first use.

    It is used as a context, which locks it::

        with device:
            device.ledger.debit(...)
            device.spool.add(...)

    Only one thread of one process is inside at a time. Entering raises `StorageError` if the
    storage cannot be used; any storage error inside closes the files, and they are opened again
    after `REOPEN_SECONDS`, or at once if another process has replaced the secret.

    A device exists as soon as it has a secret. From then on, a ledger that is missing, damaged or
    older than what was uploaded means that the spent budget is not known: nothing can be recorded
    until it is back. The same holds for a ledger with spent budget whose secret is missing.

    Args:
        directory: made with mode 0700 when first entered, not before.
        journal: where troubles and dropped reports are noted.

    Attributes:
        ledger: valid inside the context.
        spool: valid inside the context.
        secret: valid inside the context.
    """

    ledger: Ledger
    spool: Spool
    secret: bytes

    def __init__(self, directory: Path, journal: Journal) -> None:
        self.directory = directory
        self._journal = journal
        self._lock = threading.RLock()
        self._inside = False
        self._lock_file: int | None = None
        self._path = str(directory)
        self._paths = [str(directory / name) for name in (_LEDGER, _SPOOL)]
        self._opened: list[int] = []
        self._seen: tuple[int, int] | None = None
        self._suspended = False
        self._retry_at = 0.0
        self._refusal = StorageError()

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return (self.directory / _SECRET).exists() or (self.directory / _LEDGER).exists()

    def __enter__(self) -> Self:
        return self.enter(_LOCK_WAIT_SECONDS)

    def enter(self, wait_seconds: float) -> Self:
        """Enters the context as ``with`` does, and waits for others as long as it is told to.

        Args:
            wait_seconds: 0 or more.

        Raises:
            BusyError: if others need longer.
            StorageError: if it cannot be used.
        """
        deadline = time.monotonic() + wait_seconds
        if not self._acquire(wait_seconds):
            raise BusyError("the storage is in use")
        try:
            if self._lock_file is None:
                self._open(deadline)
            else:
                seize(self._lock_file, deadline)
                if not self._in_place():
                    # Somebody deleted or replaced the files: what is written to these is lost, and
                    # the budget that they remember would be spent once more by the next process.
                    self._close_files()
                    self._open(deadline)
        except BusyError as error:
            if wait_seconds >= _LOCK_WAIT_SECONDS:
                self._refuse(error)  # the next one would wait in vain, too
            self._release()
            raise
        except BaseException:
            # Whatever it was, an exception of a signal handler perhaps: the lock must not be kept,
            # nor what is half open be taken for open.
            self._close_files()
            self._release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, SecretReplacedError):
                self._close_files()
            elif isinstance(error, STORAGE_ERRORS):
                self._refuse(error)
            if self._lock_file is not None:
                fcntl.flock(self._lock_file, fcntl.LOCK_UN)
        finally:
            self._inside = False
            self._lock.release()

    @contextlib.contextmanager
    def within(self, wait_seconds: float) -> Iterator[Self]:
        """The context with a wait of one's own; see `enter`."""
        with contextlib.ExitStack() as inside:
            inside.push(self.enter(wait_seconds))
            yield self

    def sync(self) -> None:
        """Makes every debit survive a power failure; called before anything is uploaded.

        Raises:
            OSError: if the disk refuses; then nothing may be uploaded.
        """
        try:
            sync(self.directory / _LEDGER)
        except OSError as error:
            self._journal.trouble("storage_unavailable", _say(error))
            raise

    def wipe(self) -> None:
        """Deletes every report and starts with a new secret; what was spent stays spent.

        Used inside the context. Whenever this is interrupted, permanent answers may be paid for
        twice, and never given without being paid for: the ledger forgets what was paid, on the
        disk, before there is another secret.

        Raises:
            sqlite3.Error, OSError: if the disk refuses; then it has to be done again.
        """
        ledger, secret = self.directory / _LEDGER, self.directory / _SECRET
        self.spool.clear(Dropped.CONSENT_WITHDRAWN)
        self.ledger.bind(None)
        sync(ledger)
        overwrite(secret, os.urandom(SECRET_BYTES))
        self.secret = os.urandom(SECRET_BYTES)
        write_durably(secret, self.secret)
        self.ledger.bind(self.secret)

    def clear(self, reason: Dropped, wait_seconds: float = _LOCK_WAIT_SECONDS) -> int:
        """Deletes every report of a device whose secret and ledger cannot be trusted.

        Not used inside the context, which cannot be entered. Secret and ledger stay, and so does
        what tells an old copy of the ledger.

        Args:
            reason: what the pending reports are counted as.
            wait_seconds: see `enter`.

        Returns:
            How many reports were pending.

        Raises:
            StorageError, sqlite3.Error, OSError: if that cannot be done, either.
        """
        with self._unopened(wait_seconds):
            return self._clear(reason)

    def disown(self, wait_seconds: float = _LOCK_WAIT_SECONDS) -> None:
        """What is left of `wipe` where secret and ledger cannot be trusted; used as `clear` is.

        A secret that is there is replaced. If the ledger comes back, it finds another secret than
        it knows, of which nothing has been paid for in advance.

        Args:
            wait_seconds: see `enter`.

        Raises:
            StorageError, sqlite3.Error, OSError: if that cannot be done, either.
        """
        with self._unopened(wait_seconds):
            self._clear(Dropped.CONSENT_WITHDRAWN)
            secret = self.directory / _SECRET
            if secret.exists():
                overwrite(secret, os.urandom(SECRET_BYTES))
                write_durably(secret, os.urandom(SECRET_BYTES))

    def close(self, wait_seconds: float = _LOCK_WAIT_SECONDS / 2) -> None:
        """Closes the files; the next use opens them again.

        Args:
            wait_seconds: how long to wait for a thread that is inside, and for other processes.
        """
        deadline = time.monotonic() + wait_seconds
        if self._acquire(wait_seconds):
            try:
                self._be_alone(deadline)
                self._close_files()
            finally:
                self._release()

    def suspend(self) -> None:
        """Before a fork: closes the files and keeps every other thread out until `resume`.

        SQLite connections must not cross a fork, not even to be closed on the other side.
        """
        self._suspended = self._acquire(_LOCK_WAIT_SECONDS)
        if self._suspended and self._lock_file is not None:
            # The host waits for this, and for whoever records next.
            ledger, spool = self.directory / _LEDGER, self.directory / _SPOOL
            self._be_alone(time.monotonic() + _LOCK_WAIT_SECONDS)
            with _database.logs_kept(ledger, spool):
                self._close_files()

    def resume(self) -> None:
        """After a fork, in the parent."""
        if self._suspended:
            self._release()

    def forked(self) -> None:
        """After a fork, in the child."""
        if not self._suspended:
            # Some thread was stuck inside. Its connections stay open, untouched, to the end.
            _ABANDONED.append((self.__dict__.pop("ledger", None), self.__dict__.pop("spool", None)))
            self._close_files()
        self._lock = threading.RLock()
        self._inside = False

    def __del__(self) -> None:
        self._be_alone(0.0)
        self._close_files()

    def _acquire(self, timeout_seconds: float) -> bool:
        if not self._lock.acquire(timeout=timeout_seconds):
            return False
        # A signal handler may record while its own thread is in here; it must not wait for itself.
        if self._inside:
            self._lock.release()
            return False
        self._inside = True
        return True

    def _release(self) -> None:
        self._inside = False
        self._lock.release()

    def _open(self, deadline: float) -> None:
        if time.monotonic() < self._retry_at:
            raise self._refused()
        try:
            make_private(self.directory, _OURS)
            self._lock_file = os.open(self.directory / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            seize(self._lock_file, deadline)
            self._open_files()
        except BusyError:
            self._close_files()
            raise
        except (OSError, sqlite3.Error, LedgerError, StorageError) as error:
            self._refuse(error)
            raise self._refused() from error

    def _open_files(self) -> None:
        ledger, secret = self.directory / _LEDGER, self.directory / _SECRET
        known = secret.exists()
        if known:
            self.secret = secret.read_bytes()
            if len(self.secret) != SECRET_BYTES:
                raise DistrustError("the device's secret is damaged")
            if not ledger.exists():
                raise DistrustError("the ledger is missing: what was spent is not known")
        else:
            _database.create(ledger)
        self.ledger = Ledger(ledger, new=not known)
        if not known:
            if self.ledger.lifetime > 0:
                raise DistrustError("the device's secret is missing")
            self.secret = os.urandom(SECRET_BYTES)
            write_durably(secret, self.secret)
        self.ledger.bind(self.secret)
        self.spool = Spool(self.directory / _SPOOL, self._journal)
        # No power failure does this: a debit is on the disk before its report is uploaded.
        if self.spool.uploaded() > self.ledger.lifetime:
            raise DistrustError("the ledger is an old copy: what was spent is not known")
        self.spool.drop_unpaid(self.ledger.lifetime)
        self._opened, self._seen = self._on_disk(), None

    def _in_place(self) -> bool:
        """Whether the files that are open still stand in the directory under their names."""
        try:
            directory = os.stat(self._path)  # noqa: PTH116  every call of record does this
        except FileNotFoundError:
            return False
        seen = (directory.st_ino, directory.st_mtime_ns)
        if seen == self._seen:
            return True  # nothing was made, renamed or deleted in it since
        if self._on_disk() != self._opened:
            return False
        # Two changes can have the same time if the clock of the file system is coarse.
        if time.time_ns() - directory.st_mtime_ns > _CLOCK_TICK_NANOSECONDS:
            self._seen = seen
        return True

    def _on_disk(self) -> list[int]:
        """Which files stand in the directory under the names of ledger and spool; 0 for none."""
        files = []
        for path in self._paths:
            try:
                files.append(os.stat(path).st_ino)  # noqa: PTH116  as above
            except FileNotFoundError:
                files.append(0)
        return files

    def _refuse(self, error: BaseException) -> None:
        self._close_files()
        ours = isinstance(error, (StorageError, LedgerError))
        # The spool replaces a damaged file itself.
        unknown = isinstance(error, (DistrustError, LedgerError)) or _database.is_corrupt(error)
        kind = DistrustError if unknown else StorageError
        self._refusal = kind(str(error) if ours else _say(error))
        self._retry_at = time.monotonic() + REOPEN_SECONDS
        self._journal.trouble("storage_unavailable", str(self._refusal))

    def _refused(self) -> StorageError:
        """The latest refusal, as an error that was not raised before."""
        return type(self._refusal)(*self._refusal.args)

    @contextlib.contextmanager
    def _unopened(self, wait_seconds: float) -> Iterator[None]:
        """Keeps everybody else out while files are changed that cannot be opened together."""
        deadline = time.monotonic() + wait_seconds
        if not self._acquire(wait_seconds):
            raise BusyError("the storage is in use")
        try:
            self._close_files()
            self._lock_file = os.open(self.directory / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            seize(self._lock_file, deadline)
            yield
        finally:
            self._close_files()
            self._release()

    def _clear(self, reason: Dropped) -> int:
        with contextlib.closing(Spool(self.directory / _SPOOL, self._journal)) as spool:
            return spool.clear(reason)

    def _be_alone(self, deadline: float) -> None:
        """Takes the directory's lock to close the files: the last one to close moves the log.

        If another process is stuck with it, SQLite's own locks must do.
        """
        if self._lock_file is not None:
            with contextlib.suppress(StorageError, OSError):
                seize(self._lock_file, deadline)

    def _close_files(self) -> None:
        for name in ("spool", "ledger"):
            file = self.__dict__.pop(name, None)
            if file is not None:
                with contextlib.suppress(sqlite3.Error):
                    file.close()
        # Taken first: closed twice, the number might be that of a file of the host by then.
        lock_file, self._lock_file = self._lock_file, None
        if lock_file is not None:
            with contextlib.suppress(OSError):
                os.close(lock_file)


def _say(error: BaseException) -> str:
    """An error in a few words, without the path, which may hold a user's name."""
    name = getattr(error, "sqlite_errorname", None)
    detail = name or (error.strerror if isinstance(error, OSError) else "")
    return f"{type(error).__name__} {detail}".strip()
