"""The files of a device: its secret, its ledger and its spool, which belong together."""

from __future__ import annotations

import contextlib
import os
import sqlite3

from deniable._status import Dropped
from deniable._storage import sqlite
from deniable._storage.directory import (
    APPLICATION,
    StorageError,
    claim_directory,
    overwrite,
    write_durably,
)
from deniable._storage.ledger import Ledger
from deniable._storage.open_files import OpenFileCheck
from deniable._storage.spool import Spool
from deniable._storage.spool_file import delete_files

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

    from deniable._event_log import EventLog

SECRET_BYTES: Final = 32
LEDGER, SPOOL, SECRET, LOCK = "ledger.sqlite", "spool.sqlite", "secret", "lock"
FILE_NAMES: Final = (LEDGER, SPOOL, SECRET, LOCK, APPLICATION, "remote.json")


class DeviceFiles:
    """Opens, checks, wipes and closes the files of one device.

    Not safe for threads or processes: `DeviceStorage` extends it by the lock that makes it so.

    A device exists as soon as it has a secret. From then on, a ledger that is missing, damaged or
    older than what was uploaded means that the spent budget is unknown: nothing can be recorded
    until the ledger is back. The same holds for a ledger with spent budget whose secret is missing.

    Args:
        directory: made with mode 0700 when first used, not before.
        events: where problems and dropped reports are noted.
        application: the one that owns the directory; a directory of another one is refused.

    Attributes:
        ledger: valid while the files are open, as are the next two.
        spool: the reports that wait to be uploaded.
        secret: what the permanent answers of this device are derived from, 32 bytes.
    """

    ledger: Ledger
    spool: Spool
    secret: bytes

    def __init__(self, directory: Path, events: EventLog, application: str) -> None:
        self.directory = directory
        self._events = events
        self._application = application
        self._file_check = OpenFileCheck(directory, LEDGER, SPOOL)

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return (self.directory / SECRET).exists() or (self.directory / LEDGER).exists()

    def sync_ledger(self) -> None:
        """Makes every debit survive a power failure; called before a report is uploaded.

        Needs no lock, so that recording never waits for the disk.

        Raises:
            OSError: if the disk refuses; then nothing may be uploaded.
        """
        try:
            sqlite.sync_log(self.directory / LEDGER)
        except OSError as error:
            self._events.problem("storage_unavailable", describe_error(error))
            raise

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
        ledger, secret = self.directory / LEDGER, self.directory / SECRET
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
        self.spool = Spool(self.directory / SPOOL, self._events)
        # A power failure cannot cause this: debits are synced before their reports are uploaded.
        if self.spool.spent_at_last_upload() > self.ledger.lifetime:
            raise StorageError("the ledger is an old copy: what was spent is not known")
        self.spool.drop_unpaid(self.ledger.lifetime)
        self._file_check.remember()

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
            delete_files(path)
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
