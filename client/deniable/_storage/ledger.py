"""The ledger: what this device has reported when, and how much epsilon that has cost.

Amounts are integer nano-nats, costs rounded up, so that sums are exact. Marks only move forward: a
clock that goes back frees no period, and a day that comes again is charged to the latest day seen.

Reports of a memoising mechanism are charged until they have paid for every permanent answer that
this device can ever give under one secret and one spec; what follows is drawn from these answers
and is free. Which answers were given is not written down: that would be the true values.
"""

from __future__ import annotations

import os

from deniable._status import Outcome
from deniable._storage import sqlite
from deniable._storage.row_checksum import is_intact, name_checksum, row_checksum

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Final

    from deniable._storage.cost import Charge

VERSION: Final = 1
"""Of the file's format."""

_FINGERPRINT_DIGITS: Final = 32
_SCHEMA: Final = """
CREATE TABLE entry (
    metric TEXT NOT NULL,
    every TEXT NOT NULL,
    period INTEGER NOT NULL,
    today INTEGER,
    spent INTEGER,
    digest BLOB,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (metric, every)
) WITHOUT ROWID;
INSERT INTO entry VALUES ('', '', 0, 0, 0, NULL, 0);
CREATE TABLE enrolment (
    metric TEXT NOT NULL,
    every TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (metric, every)
) WITHOUT ROWID
"""
# The entry without a metric is the account of the device: its latest day, what was spent in it and
# ever; in place of a kind of period stands the fingerprint of the secret. A metric's entry has its
# last period and, if it memoises, what was spent on the answers of the spec with this digest. One
# table, so that a debit is one statement and mostly one page; two ways, because every column costs.
# What a digest has turned into by damage is the digest of no spec, of which nothing has been paid.
_READ: Final = """
SELECT period, today, spent, checksum,
    (SELECT period FROM entry WHERE metric = ? AND every = ?), NULL, NULL
FROM entry WHERE metric = '' AND every = ?
"""
_WRITE: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum)
VALUES ('', ?, ?, ?, ?, ?), (?, ?, ?, NULL, ?, ?)
"""
# Where the account is known, one statement does the same, unless somebody else has changed it.
_WRITE_UNCHANGED: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum)
SELECT * FROM (VALUES ('', ?, ?, ?, ?, ?), (?, ?, ?, NULL, NULL, ?)) WHERE EXISTS (
    SELECT * FROM entry WHERE metric = '' AND every = ? AND period = ? AND today = ? AND spent = ?
) AND NOT EXISTS (SELECT * FROM entry WHERE metric = ? AND every = ? AND period >= ?)
"""
_READ_MEMOIZED: Final = """
SELECT account.period, account.today, account.spent, account.checksum,
    own.period, own.spent, own.digest
FROM entry AS account LEFT JOIN entry AS own ON own.metric = ? AND own.every = ?
WHERE account.metric = '' AND account.every = ?
"""
_WRITE_MEMOIZED: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum, digest)
VALUES ('', ?, ?, ?, ?, ?, NULL), (?, ?, ?, NULL, ?, ?, ?)
"""
_ROWS: Final = "SELECT metric, every, period, today, spent, checksum FROM entry"
_ACCOUNT: Final = f"{_ROWS} WHERE metric = ''"


class LedgerError(Exception):
    """The ledger cannot be trusted; nothing may be recorded."""


class SecretReplacedError(LedgerError):
    """The user has opted out in another process: the secret has to be read again."""


class Ledger:
    """The ledger file of one device. Not thread-safe: its owner holds a lock.

    Args:
        path: an existing file; an empty one is initialised if `new`.
        new: whether this device has never recorded anything.

    Attributes:
        lifetime: nano-nats that were ever spent, as of the last debit or reading here. It grows
            with every debit, so a report that is stored with it can be told from one whose debit a
            power failure undid.

    Raises:
        LedgerError: if the file is not an intact ledger.
        sqlite3.Error: if it cannot be read.
    """

    lifetime: int
    _last_account: tuple[int, int, int] | None = None
    _fingerprint = ""
    _account_name_checksum = 0

    def __init__(self, path: Path, *, new: bool) -> None:
        self._connection = sqlite.connect(path)
        try:
            if new and sqlite.schema_version(self._connection) == 0:
                sqlite.create_tables(self._connection, _SCHEMA, VERSION)
            found = sqlite.schema_version(self._connection)
            if found > VERSION:
                raise LedgerError("the ledger was written by a later version of this program")
            if found < VERSION or not sqlite.is_sound(self._connection):
                raise LedgerError("the ledger is damaged")
            sqlite.use_write_ahead_log(self._connection)
            self._check_rows()
        except UnicodeDecodeError:  # of SQLite's words about a damaged schema
            self._connection.close()
            raise LedgerError("the ledger is damaged") from None
        except BaseException:
            self._connection.close()
            raise

    def debit(self, charge: Charge, period: int, epoch: int, limits: tuple[int, int]) -> Outcome:
        """Marks a period as reported and spends its cost, both or neither.

        Args:
            charge: whose period it is, and what it costs.
            period: see `deniable_shared.periods.period`.
            epoch: today, in days since 1970-01-01.
            limits: of one day and of a lifetime, in nano-nats.

        Returns:
            ``RECORDED`` if it is committed; otherwise ``ALREADY_REPORTED`` or ``OVER_BUDGET``.

        Raises:
            LedgerError: if the ledger lost its account, or is bound to another secret by now.
            sqlite3.Error: if it cannot be written; nothing was spent.
        """
        metric, every, cost, digest, total = charge
        execute = self._debits.execute
        names = self._name_checksums.get((metric, every))
        if names is None:
            names = self._name_checksums[metric, every] = name_checksum(metric, every)
        if digest is None and self._last_account is not None:
            account = _account_after(self._last_account, cost, epoch)
            whole = row_checksum(self._account_name_checksum, *account)
            own = row_checksum(names, period, 0, 0)
            reported, secret = (metric, every, period), self._fingerprint
            both = (secret, *account, whole, *reported, own, secret, *self._last_account, *reported)
            if _is_within(limits, account) and execute(_WRITE_UNCHANGED, both).rowcount > 0:
                self._last_account, self.lifetime = account, account[2]
                return Outcome.RECORDED
        try:
            execute("BEGIN IMMEDIATE")
            query = _READ if digest is None else _READ_MEMOIZED
            found = execute(query, (metric, every, self._fingerprint)).fetchone()
            if found is None:
                self._read_account()
                raise SecretReplacedError("another process has replaced the secret")
            latest, today, lifetime, whole, mark, paid, paid_for = found
            if whole != row_checksum(self._account_name_checksum, latest, today, lifetime):
                raise LedgerError("the ledger is damaged")
            if mark is not None and period <= mark:
                execute("ROLLBACK")
                return Outcome.ALREADY_REPORTED
            if digest is not None:
                if paid_for != digest:
                    paid = 0  # other answers, which nothing has been paid for
                cost = min(cost, max(0, total - paid))
                paid += cost
            account = _account_after((latest, today, lifetime), cost, epoch)
            if not _is_within(limits, account):
                execute("ROLLBACK")
                return Outcome.OVER_BUDGET
            whole = row_checksum(self._account_name_checksum, *account)
            own = row_checksum(names, period, 0, paid or 0)
            row = (self._fingerprint, *account, whole, metric, every, period, paid, own)
            if digest is None:
                execute(_WRITE, row)
            else:
                execute(_WRITE_MEMOIZED, (*row, digest))
            execute("COMMIT")
            self._last_account, self.lifetime = account, account[2]
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        return Outcome.RECORDED

    def last_active_day(self, metric: str, every: str) -> int | None:
        """The last day on which the device was at work, if it owes reports of a metric.

        Args:
            metric: its name.
            every: the kind of its periods.

        Raises:
            sqlite3.Error: if it cannot be read.
        """
        query = "SELECT epoch FROM enrolment WHERE metric = ? AND every = ?"
        row = self._connection.execute(query, (metric, every)).fetchone()
        # What is no number is damage, and then the device takes part again from today on.
        return row[0] if row is not None and isinstance(row[0], int) else None

    def enrol(
        self, owed: Sequence[tuple[str, str]], excused: Sequence[tuple[str, str]], epoch: int
    ) -> None:
        """The device is at work on this day, and owes reports of its periods; at no cost so far.

        All in one transaction, since each waits for the disk now and then.

        Args:
            owed: names of metrics and the kinds of their periods.
            excused: those of which nothing is owed until they are enrolled again.
            epoch: today, in days since 1970-01-01.

        Raises:
            sqlite3.Error: if it cannot be written; then nothing is.
        """
        rows = [(*each, epoch) for each in owed]
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("REPLACE INTO enrolment VALUES (?, ?, ?)", rows)
            self._connection.executemany(
                "DELETE FROM enrolment WHERE metric = ? AND every = ?", excused
            )

    def set_secret(self, secret: bytes | None) -> None:
        """Says which secret the permanent answers come from.

        With another secret they are other answers, so what was paid for them counts no more, and
        the device is enrolled in nothing. The budget that was spent stays spent.

        Args:
            secret: the device's, or None while it is being replaced.

        Raises:
            sqlite3.Error: if it cannot be written.
        """
        fingerprint = ""
        if secret is not None:
            import hashlib  # loaded with the registry, and only then

            digest = hashlib.sha256(b"deniable fingerprint" + secret).hexdigest()
            fingerprint = digest[:_FINGERPRINT_DIGITS]
        names = name_checksum("", fingerprint)
        known, *account = self._read_account()
        if known != fingerprint or not fingerprint:
            execute = self._connection.execute
            row = (fingerprint, row_checksum(names, *account))
            with self._connection:
                execute("BEGIN IMMEDIATE")
                execute("UPDATE entry SET every = ?, checksum = ? WHERE metric = ''", row)
                execute("UPDATE entry SET digest = NULL WHERE metric != ''")
                execute("DELETE FROM enrolment")
        self._fingerprint, self._account_name_checksum = fingerprint, names

    def spending(self, epoch: int) -> tuple[int, int]:
        """Nano-nats spent today and over the lifetime.

        Args:
            epoch: today, in days since 1970-01-01.

        Raises:
            LedgerError: if the ledger lost its account.
        """
        _, latest, today, self.lifetime = self._read_account()
        return (0 if epoch > latest else today), self.lifetime

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def abandon(self) -> None:
        """Lets nothing more be done with the file, which another process goes on to use."""
        sqlite.refuse_statements(self._connection)

    def _check_rows(self) -> None:
        """Fails closed unless every row is as it was written."""
        self._debits = self._connection.cursor()  # making one for each statement is felt
        self._name_checksums: dict[tuple[str, str], int] = {}
        if not all(map(is_intact, self._connection.execute(_ROWS))):
            raise LedgerError("the ledger is damaged")
        self.spending(0)

    def _read_account(self) -> tuple[str, int, int, int]:
        rows = self._connection.execute(_ACCOUNT).fetchall()
        if len(rows) != 1:
            raise LedgerError("the ledger has lost its account")
        if not is_intact(rows[0]):
            raise LedgerError("the ledger is damaged")
        _, every, latest, today, lifetime, _ = rows[0]
        return every, latest, today, lifetime


def _account_after(account: tuple[int, int, int], cost: int, epoch: int) -> tuple[int, int, int]:
    """The latest day, what was spent in it, and ever, once this cost is spent today."""
    latest, today, lifetime = account
    if epoch > latest:
        latest, today = epoch, 0
    return latest, today + cost, lifetime + cost


def _is_within(limits: tuple[int, int], account: tuple[int, int, int]) -> bool:
    return account[1] <= limits[0] and account[2] <= limits[1]


def sync_to_disk(path: Path) -> None:
    """Brings every committed debit of a ledger to the disk, so that a power failure keeps it.

    A commit lives in the log until SQLite copies it into the file, which SQLite syncs itself. Needs
    no lock, so that recording never waits for the disk.

    Args:
        path: the ledger's file.

    Raises:
        OSError: if the disk refuses; then nothing may be uploaded.
    """
    for name in (f"{path}-wal", path.parent):
        try:
            descriptor = os.open(name, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
