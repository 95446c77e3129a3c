"""The files of a device: its secret, its ledger and its spool, which belong together.

A device begins as a draft, so that its first `record` need not wait for the disk: nothing is
synced, and a power failure may leave any part of any file. Before the first upload the uploader
establishes the device: ledger, spool, secret and their names are synced, and only then a file says
so, whose name is synced before anything is sent. So of a draft nothing has left the device.
Whatever a power failure leaves of it, it may be thrown away, and the device begins anew with its
whole budget and another secret. A draft stays in use only if its ledger is intact and bound to its
secret. Such a ledger holds all debits up to some moment, and reports of later debits are dropped.

Of an established device something may have been sent, and what it must not forget was synced
before. So a file that is missing or damaged is no trace of a power failure, and nothing can be
recorded until the file is back.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from deniable._platform import files
from deniable._status import Dropped
from deniable._storage import sqlite
from deniable._storage.consent_file import CONSENT, ConsentFile
from deniable._storage.directory import (
    APPLICATION,
    BusyError,
    StorageError,
    claim_directory,
    overwrite,
    sync_names_above,
    write_durably,
    write_new,
)
from deniable._storage.ledger import DamagedLedgerError, Ledger
from deniable._storage.open_files import OpenFileCheck
from deniable._storage.spool import Spool

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

    from deniable._event_log import EventLog

SECRET_BYTES: Final = 32
LEDGER, SPOOL, SECRET, LOCK = "ledger.sqlite", "spool.sqlite", "secret", "lock"
ESTABLISHED: Final = "established"
"""An empty file, which says that something may have been sent."""

FILE_NAMES: Final = (LEDGER, SPOOL, SECRET, LOCK, APPLICATION, CONSENT, ESTABLISHED, "remote.json")

_LEDGER_MISSING: Final = "the ledger is missing: what was spent is not known"


class DeviceFiles:
    """Opens, checks, wipes and closes the files of one device.

    Not safe for threads or processes: `DeviceStorage` extends it by the lock that makes it so.

    Args:
        directory: made with mode 0700 when first used, not before.
        events: where problems and dropped reports are noted.
        application: the one that owns the directory; a directory of another one is refused.

    Attributes:
        ledger: valid while the files are open, as are the next two.
        spool: the reports that wait to be uploaded.
        secret: what the permanent answers of this device are derived from, 32 bytes.
        consent_file: the user's answer, if the application wants it to be remembered.
    """

    consent_file: ConsentFile
    ledger: Ledger
    spool: Spool
    secret: bytes

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        self.directory = directory
        self._events = events
        self._application = application
        self.consent_file = ConsentFile(directory, application, FILE_NAMES)
        self._file_check = OpenFileCheck(directory, LEDGER, SPOOL)

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        secret, ledger, spool = (self.directory / name for name in (SECRET, LEDGER, SPOOL))
        return secret.exists() or ledger.exists() or spool.exists()

    @property
    def is_established(self) -> bool:
        """Whether something may have been sent."""
        return (self.directory / ESTABLISHED).exists()

    def establish(self) -> None:
        """Has the files survive a power failure, if that was not done before; they must be open.

        Raises:
            BusyError: if somebody who reads the ledger keeps it from being written.
            sqlite3.Error, OSError: if the disk refuses.
        """
        if self.is_established:
            return
        sync_names_above(self.directory)
        # SQLite syncs the ledger's own file: closing a descriptor of it would release SQLite's
        # locks, see `sqlite.create_file`.
        if not self.ledger.empty_log():
            raise BusyError("another program reads the ledger")
        self.spool.empty_log()  # or the reports that wait might be lost in the midst of an upload
        files.sync_file(self.directory / SECRET)
        files.sync_directory(self.directory)
        sqlite.create_file(self.directory / ESTABLISHED)
        files.sync_directory(self.directory)

    def erase_traces(self, spent: int) -> None:
        """Removes what neither file needs: deleted reports, and the order of recording.

        The files must be open.

        Args:
            spent: see `Spool.hide_order`.
        """
        self.spool.hide_order(spent)
        self.ledger.empty_log()  # first: a report should not be on the disk before its debit is
        self.spool.empty_log()

    def wipe(self) -> int:
        """Deletes every report and replaces the secret; the spent budget stays spent.

        The files must be open. The steps stand in an order that is safe to interrupt: the ledger
        forgets, durably, what was paid for permanent answers before there is another secret. So an
        interruption can make a device pay twice for permanent answers, and never give unpaid ones.

        Returns:
            How many reports were pending.

        Raises:
            sqlite3.Error, OSError: if the disk refuses; then `wipe` has to be called again.
        """
        ledger, secret = self.directory / LEDGER, self.directory / SECRET
        count = self.spool.delete_everything(Dropped.CONSENT_WITHDRAWN)
        self.establish()
        self.ledger.set_secret(None)
        sqlite.sync_log(ledger)
        overwrite(secret, os.urandom(SECRET_BYTES))
        self.secret = os.urandom(SECRET_BYTES)
        write_durably(secret, self.secret)
        self.ledger.set_secret(self.secret)
        return count

    def _open_files(self) -> None:
        """Opens all files, and creates them for a new device.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if one of them cannot be used, or
                they do not belong together.
        """
        claim_directory(self.directory, self._application)
        if self.is_established:
            self._open_established()
        elif not self._open_draft():
            self._begin_anew()
        self.ledger.set_secret(self.secret)
        self.spool = Spool(self.directory / SPOOL, self._events)
        # A power failure cannot cause this: debits are synced before their reports are uploaded.
        if self.spool.spent_at_last_upload() > self.ledger.lifetime:
            raise StorageError("the ledger is an old copy: what was spent is not known")
        dropped = self.spool.drop_unpaid(self.ledger.lifetime)
        if dropped + self.spool.drop_unmarked(self.ledger.is_reported):
            # At once, or the next power failure could bring them back, and the ledger may have gone
            # on by then, so that they would look paid for.
            sqlite.sync_log(self.directory / SPOOL)
        self._file_check.remember()

    def _open_established(self) -> None:
        """Opens ledger and secret, both of which must be there."""
        if not (self.directory / SECRET).exists():
            raise StorageError("the device's secret is missing")
        if not self._read_secret():
            raise StorageError("the device's secret is damaged")
        if not (self.directory / LEDGER).exists():
            raise StorageError(_LEDGER_MISSING)
        self.ledger = Ledger(self.directory / LEDGER, new=False)

    def _open_draft(self) -> bool:
        """Opens ledger and secret, if both are whole and belong together.

        An error that is no damage is raised: it may pass, and is no reason to throw a draft away.
        """
        secret, ledger = self.directory / SECRET, self.directory / LEDGER
        if not (secret.exists() and self._read_secret() and ledger.exists()):
            return False
        try:
            self.ledger = Ledger(ledger, new=False)
        except DamagedLedgerError:
            return False
        if self.ledger.is_bound_to(self.secret):
            return True
        self._close_databases()
        return False

    def _begin_anew(self) -> None:
        """Makes ledger and secret for a new device, in place of what is left of a draft."""
        spool, ledger = self.directory / SPOOL, self.directory / LEDGER
        if spool.exists():
            with contextlib.closing(Spool(spool, self._events)) as old:
                if old.spent_at_last_upload() > 0:  # somebody has deleted files of this device
                    raise StorageError(_LEDGER_MISSING)
        sqlite.delete_files(ledger)
        self.secret = os.urandom(SECRET_BYTES)
        write_new(self.directory / SECRET, self.secret)
        sqlite.create_file(ledger)
        self.ledger = Ledger(ledger, new=True)

    def _read_secret(self) -> bool:
        """Whether the secret has its length."""
        self.secret = (self.directory / SECRET).read_bytes()
        return len(self.secret) == SECRET_BYTES

    def _close_databases(self) -> None:
        for name in ("spool", "ledger"):
            file = self.__dict__.pop(name, None)
            if file is not None:
                with contextlib.suppress(sqlite3.Error):
                    file.close()

    def _delete_reports_unopened(self, reason: Dropped) -> int:
        """Deletes every report without opening ledger or secret; see `DeviceStorage`."""
        path = self.directory / SPOOL
        try:
            with contextlib.closing(Spool(path, self._events)) as spool:
                return spool.delete_everything(reason)
        except (sqlite3.Error, OSError):
            sqlite.delete_files(path)
            return 0

    def _reset_unopened(self) -> int:
        """Deletes every report and replaces the secret, if there is one; see `DeviceStorage`."""
        count = self._delete_reports_unopened(Dropped.CONSENT_WITHDRAWN)
        secret = self.directory / SECRET
        if secret.exists():
            overwrite(secret, os.urandom(SECRET_BYTES))
            write_durably(secret, os.urandom(SECRET_BYTES))
        return count


def describe_error(error: BaseException) -> str:
    """An error in a few words, without the path, which may hold a user's name."""
    name = getattr(error, "sqlite_errorname", None)
    detail = name or (error.strerror if isinstance(error, OSError) else "")
    return f"{type(error).__name__} {detail}".strip()
