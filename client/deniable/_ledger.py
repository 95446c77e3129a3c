"""The ledger: what this device has reported when, and how much epsilon that has cost.

Amounts are integer nano-nats, costs rounded up, so that sums are exact. Marks only move forward: a
clock that goes back frees no period, and a day that comes again is charged to the latest day seen.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from deniable import _database
from deniable._status import Outcome

if TYPE_CHECKING:
    from pathlib import Path

VERSION: Final = 1
NANO: Final = 10**9
_SCHEMA: Final = """
CREATE TABLE entry (
    metric TEXT NOT NULL,
    every TEXT NOT NULL,
    period INTEGER NOT NULL,
    today INTEGER,
    lifetime INTEGER,
    PRIMARY KEY (metric, every)
) WITHOUT ROWID;
INSERT INTO entry VALUES ('', 'day', 0, 0, 0)
"""
# The entry without a metric is the account of the device: its latest day, and what was spent. One
# table, so that a debit is one statement and mostly one page.
_READ: Final = """
SELECT period, today, lifetime, (SELECT period FROM entry WHERE metric = ? AND every = ?)
FROM entry WHERE metric = '' AND every = 'day'
"""
_WRITE: Final = "REPLACE INTO entry VALUES ('', 'day', ?, ?, ?), (?, ?, ?, NULL, NULL)"


def cost_nano_nats(epsilon: float) -> int:
    """What a report of this epsilon costs, rounded up."""
    return math.ceil(Fraction(epsilon) * NANO)


def limit_nano_nats(epsilon: float) -> int:
    """A limit that a registry states in decimal digits, to the nearest nano-nat."""
    return round(epsilon * NANO)


class LedgerError(Exception):
    """The ledger cannot be trusted; nothing may be recorded."""


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

    def __init__(self, path: Path, *, new: bool) -> None:
        self._connection = _database.connect(path)
        try:
            if new and _database.version(self._connection) == 0:
                _database.initialise(self._connection, _SCHEMA, VERSION)
            if _database.version(self._connection) != VERSION:
                raise LedgerError("the ledger is not one of this version")
            if self._connection.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                raise LedgerError("the ledger is damaged")
            _database.log_ahead(self._connection)
            self.spent(0)
        except BaseException:
            self._connection.close()
            raise

    def debit(
        self,
        metric: str,
        every: str,
        period: int,
        epoch: int,
        cost: int,
        limits: tuple[int, int],
    ) -> Outcome:
        """Marks a period as reported and spends its cost, both or neither.

        Args:
            metric: whose period it is.
            every: the kind of period, since periods of different kinds are not comparable.
            period: see `deniable_shared.periods.period`.
            epoch: today, in days since 1970-01-01.
            cost: in nano-nats.
            limits: of one day and of a lifetime, in nano-nats.

        Returns:
            ``RECORDED`` if it is committed; otherwise ``ALREADY_REPORTED`` or ``OVER_BUDGET``.

        Raises:
            LedgerError: if the ledger lost its account.
            sqlite3.Error: if it cannot be written; nothing was spent.
        """
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            row = execute(_READ, (metric, every)).fetchone()
            if row is None:
                raise LedgerError("the ledger has lost its account")
            latest, today, lifetime, mark = row
            if mark is not None and period <= mark:
                execute("ROLLBACK")
                return Outcome.ALREADY_REPORTED
            if epoch > latest:
                latest, today = epoch, 0
            today += cost
            lifetime += cost
            if today > limits[0] or lifetime > limits[1]:
                execute("ROLLBACK")
                return Outcome.OVER_BUDGET
            execute(_WRITE, (latest, today, lifetime, metric, every, period))
            execute("COMMIT")
            self.lifetime = lifetime
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        return Outcome.RECORDED

    def spent(self, epoch: int) -> tuple[int, int]:
        """Nano-nats spent today and over the lifetime.

        Args:
            epoch: today, in days since 1970-01-01.

        Raises:
            LedgerError: if the ledger lost its account.
        """
        row = self._connection.execute(_READ, ("", "")).fetchone()
        if row is None:
            raise LedgerError("the ledger has lost its account")
        latest, today, self.lifetime, _ = row
        return (0 if epoch > latest else today), self.lifetime

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


def sync(path: Path) -> None:
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
