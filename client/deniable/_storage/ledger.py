"""The ledger: which periods this device has reported, and how much epsilon that has cost.

Amounts are integer nano-nats and costs are rounded up, so sums are exact. Time only moves forward:
if the clock goes back, no period becomes free again, and a day that comes a second time is charged
to the latest day that was seen.

Reports of a memoising mechanism are charged until they have paid for every permanent answer that
this device can ever give under one secret and one spec. Later reports repeat these answers and are
free. The ledger does not record which answers were given, for that would be the true values.
"""

from __future__ import annotations

from deniable._status import Outcome
from deniable._storage import sqlite
from deniable._storage.ledger_schema import (
    AHEAD,
    CHARGED,
    DELTA,
    READ,
    READ_ACCOUNT,
    READ_ALL_ROWS,
    READ_DAYS,
    READ_DELTA,
    READ_MEMOIZED,
    READ_PERIODS,
    SCHEMA,
    VERSION,
    WRITE,
    WRITE_DAY,
    WRITE_DELTA,
    WRITE_IF_UNCHANGED,
    WRITE_MEMOIZED,
    WRITE_PERIOD,
    WRITE_ROW,
)
from deniable._storage.row_checksum import is_intact, name_checksum, row_checksum
from deniable_shared.periods import period as period_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Final

    from deniable._storage.cost import Charge
    from deniable_shared.periods import Every

_FINGERPRINT_DIGITS: Final = 32


class LedgerError(Exception):
    """The ledger cannot be trusted; nothing may be recorded."""


class DamagedLedgerError(LedgerError):
    """The ledger is not as it was written."""

    def __init__(self) -> None:
        super().__init__("the ledger is damaged")


class SecretReplacedError(LedgerError):
    """The user has opted out in another process: the secret has to be read again."""


class Ledger:
    """The ledger file of one device. Not thread-safe: its owner holds a lock.

    Args:
        path: an existing file; an empty one is initialised if `new`.
        new: whether this device has never recorded anything.

    Attributes:
        lifetime: nano-nats that were ever spent, when this object last read or wrote them. Every
            debit increases it. It is stored with each report, and reveals a report whose debit was
            lost in a power failure.
        refused_until: the last day of which the latest debit that was ``OVER_BUDGET`` is known to
            be refused again, see `debit`; infinite if what is left of the lifetime is too little.

    Raises:
        DamagedLedgerError: if the file is not an intact ledger.
        LedgerError: if a later version of this program wrote it.
        sqlite3.Error: if it cannot be read.
    """

    lifetime: int
    refused_until: float
    _last_account: tuple[int, int, int] | None = None
    _fingerprint = ""
    _account_name_checksum = 0

    def __init__(self, path: Path, *, new: bool) -> None:
        new_log = not sqlite.has_log(path)
        self._connection = sqlite.connect(path)
        try:
            if new and sqlite.schema_version(self._connection) == 0:
                sqlite.create_tables(self._connection, SCHEMA, VERSION)
            version = sqlite.schema_version(self._connection)
            if version > VERSION:
                raise LedgerError("the ledger was written by a later version of this program")
            if version < VERSION or not sqlite.is_sound(self._connection):
                raise DamagedLedgerError
            sqlite.use_write_ahead_log(self._connection, new=new_log)
            self._check_rows()
        except BaseException as error:
            self._connection.close()
            if sqlite.is_damage(error):
                raise DamagedLedgerError from None
            raise

    def debit(self, charge: Charge, period: int, epoch: int, limits: tuple[int, int]) -> Outcome:
        """Marks a period as reported and spends the cost of its report: both or neither.

        Args:
            charge: the metric and what its report costs.
            period: the number of the period, see `deniable_shared.periods.period`.
            epoch: today, in days since 1970-01-01.
            limits: what one day and a lifetime may cost, in nano-nats.

        Returns:
            ``RECORDED`` if the debit is committed; otherwise ``ALREADY_REPORTED`` or
            ``OVER_BUDGET``. What does not fit now never fits again up to the day `refused_until`,
            unless a later day was charged by then and the clock went back: what was spent in a day
            and ever only grows, an earlier day is charged to the latest one, and what others pay
            for permanent answers of the same spec lowers the cost by no more than they spend.

        Raises:
            LedgerError: if the account is missing or damaged, or bound to another secret by now.
            sqlite3.Error: if the file cannot be written; then nothing was spent.
        """
        metric, every, cost, digest, total, delta = charge
        execute = self._debit_cursor.execute
        names = self._name_checksums.get((metric, every))
        if names is None:
            names = self._name_checksums[metric, every] = name_checksum(metric, every)
        if digest is None and not delta and self._last_account is not None:
            account = _account_after(self._last_account, cost, epoch)
            checksum = row_checksum(self._account_name_checksum, *account)
            own = row_checksum(names, period, 0, 0)
            mark, secret = (metric, every, period), self._fingerprint
            row = (secret, *account, checksum, *mark, own, secret, *self._last_account, *mark)
            if _is_within(limits, account) and execute(WRITE_IF_UNCHANGED, row).rowcount > 0:
                self._last_account, self.lifetime = account, account[2]
                return Outcome.RECORDED
        try:
            execute("BEGIN IMMEDIATE")
            query = READ if digest is None else READ_MEMOIZED
            found = execute(query, (metric, every, self._fingerprint)).fetchone()
            if found is None:
                self._read_account()
                raise SecretReplacedError("another process has replaced the secret")
            latest, today, lifetime, checksum, reported, paid, paid_for = found
            if checksum != row_checksum(self._account_name_checksum, latest, today, lifetime):
                raise DamagedLedgerError
            if reported is not None and period <= reported:
                execute("ROLLBACK")
                return Outcome.ALREADY_REPORTED
            if digest is not None:
                if paid_for != digest:
                    paid = 0  # the answers of another spec: nothing has been paid for these
                cost = min(cost, max(0, total - paid))
                paid += cost
            account = _account_after((latest, today, lifetime), cost, epoch)
            if not _is_within(limits, account):
                execute("ROLLBACK")
                self.refused_until = account[0] if account[2] <= limits[1] else float("inf")
                return Outcome.OVER_BUDGET
            checksum = row_checksum(self._account_name_checksum, *account)
            own = row_checksum(names, period, 0, paid or 0)
            written = (self._fingerprint, *account, checksum, metric, every, period, paid, own)
            if digest is None:
                execute(WRITE, written)
            else:
                execute(WRITE_MEMOIZED, (*written, digest))
            if delta:
                delta += self.delta_spent()
                execute(WRITE_DELTA, (delta, row_checksum(name_checksum(DELTA, ""), 0, 0, delta)))
            execute("COMMIT")
            self._last_account, self.lifetime = account, account[2]
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise
        return Outcome.RECORDED

    def is_reported(self, metric: str, every: Every, epoch: int) -> bool:
        """Whether a metric has reported the period of a day, or a later one.

        Args:
            metric: its name.
            every: the kind of its periods.
            epoch: the day, in days since 1970-01-01.

        Raises:
            sqlite3.Error: if it cannot be read.
        """
        query = "SELECT period FROM entry WHERE metric = ? AND every = ?"
        row = self._connection.execute(query, (metric, every)).fetchone()
        return row is not None and bool(row[0] >= period_of(every, epoch))

    def latest_day(self) -> int:
        """The day to which reports are charged, in days since 1970-01-01; 0 if none was.

        Raises:
            LedgerError: if the account is missing or damaged.
            sqlite3.Error: if it cannot be read.
        """
        return self._read_account()[1]

    def charged_days(self) -> tuple[tuple[tuple[int, int], ...], int | None]:
        """What `note_days` has noted: runs of days, and since when the latest day lies ahead."""
        rows = self._connection.execute(READ_DAYS).fetchall()
        ahead = [first for metric, first, _ in rows if metric == AHEAD]
        runs = tuple((first, last) for metric, first, last in rows if metric == CHARGED)
        return runs, (ahead[0] if ahead else None)

    def note_days(
        self,
        runs: Sequence[tuple[int, int]],
        ahead: int | None,
        day: int | None = None,
        silent: int | None = None,
    ) -> None:
        """Notes the days that were charged, and perhaps begins another one: both or neither.

        Args:
            runs: first and last day of each run, in days since 1970-01-01.
            ahead: since when the latest day lies ahead, or None.
            day: the latest day from now on, even if it is earlier than before; None leaves it.
            silent: nano-nats that count as spent in this day, whose periods then count as reported
                by every metric but those that report once, and the device is enrolled in none;
                None to begin it afresh.

        Raises:
            LedgerError: if the account is missing or damaged, or bound to another secret by now.
            sqlite3.Error: if the file cannot be written; then nothing has changed.
        """
        execute = self._connection.execute
        with self._connection:
            execute("BEGIN IMMEDIATE")
            fingerprint, _, _, lifetime = self._read_account()
            if fingerprint != self._fingerprint:
                raise SecretReplacedError("another process has replaced the secret")
            execute("DELETE FROM entry WHERE metric IN (?, ?)", (CHARGED, AHEAD))
            rows = [(CHARGED, str(n), *run) for n, run in enumerate(runs)]
            rows += [] if ahead is None else [(AHEAD, "", ahead, 0)]
            for metric, every, first, last in rows:
                checksum = row_checksum(name_checksum(metric, every), first, 0, last)
                execute(WRITE_ROW, (metric, every, first, last, checksum))
            if day is not None:
                checksum = row_checksum(self._account_name_checksum, day, silent or 0, lifetime)
                execute(WRITE_DAY, (day, silent or 0, checksum))
                self._last_account = None
            if day is not None and silent is not None:
                execute("DELETE FROM enrolment")
                for metric, every, spent in execute(READ_PERIODS).fetchall():
                    number = period_of(every, day)
                    checksum = row_checksum(name_checksum(metric, every), number, 0, spent or 0)
                    execute(WRITE_PERIOD, (number, checksum, metric, every))

    def last_active_day(self, metric: str, every: str) -> int | None:
        """The last day on which the device was at work, or None if it is not enrolled in a metric.

        Args:
            metric: its name.
            every: the kind of its periods.

        Raises:
            sqlite3.Error: if it cannot be read.
        """
        query = "SELECT epoch FROM enrolment WHERE metric = ? AND every = ?"
        row = self._connection.execute(query, (metric, every)).fetchone()
        # A value of another type is damage: the device counts as enrolled from today on.
        return row[0] if row is not None and isinstance(row[0], int) else None

    def enrol(
        self, metrics: Sequence[tuple[str, str]], dropped: Sequence[tuple[str, str]], epoch: int
    ) -> None:
        """Notes that the device is at work today, and so owes a report for today's periods.

        They are paid for before, see `debit`. All in one transaction, since each transaction may
        have to wait for the disk.

        Args:
            metrics: names of metrics that report absence, with the kinds of their periods.
            dropped: those in which the device is no longer enrolled, until it is enrolled again.
            epoch: today, in days since 1970-01-01.

        Raises:
            sqlite3.Error: if the file cannot be written; then nothing has changed.
        """
        rows = [(*metric, epoch) for metric in metrics]
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("REPLACE INTO enrolment VALUES (?, ?, ?)", rows)
            self._connection.executemany(
                "DELETE FROM enrolment WHERE metric = ? AND every = ?", dropped
            )

    def set_secret(self, secret: bytes | None) -> None:
        """Tells the ledger which secret the permanent answers are derived from.

        Another secret gives other answers, so what was paid for the earlier ones counts no longer,
        and the device is no longer enrolled in any metric. The spent budget stays spent.

        Args:
            secret: the device's, or None while it is being replaced.

        Raises:
            sqlite3.Error: if the file cannot be written.
        """
        fingerprint = "" if secret is None else _fingerprint_of(secret)
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

    def is_bound_to(self, secret: bytes) -> bool:
        """Whether `set_secret` was called with this secret last.

        Raises:
            LedgerError: if the account is missing or damaged.
        """
        return self._read_account()[0] == _fingerprint_of(secret)

    def spending(self, epoch: int) -> tuple[int, int]:
        """Nano-nats that were spent today and over the lifetime.

        Args:
            epoch: today, in days since 1970-01-01.

        Raises:
            LedgerError: if the account is missing or damaged.
        """
        _, latest, today, self.lifetime = self._read_account()
        return (0 if epoch > latest else today), self.lifetime

    def empty_log(self) -> bool:
        """Moves the log into the file: its old pages tell the order of all recent debits.

        Returns:
            Whether all of it is there now, and survives a power failure.
        """
        return sqlite.empty_log(self._connection)

    def delta_spent(self) -> int:
        """The sum of the deltas of all reports of this device, in units of 10^-12.

        Raises:
            sqlite3.Error: if it cannot be read.
        """
        row = self._connection.execute(READ_DELTA).fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def abandon(self) -> None:
        """Prevents any further use of the file, which another process goes on to use."""
        sqlite.refuse_statements(self._connection)

    def _check_rows(self) -> None:
        """Fails closed unless every row is as it was written."""
        self._debit_cursor = self._connection.cursor()  # a cursor per debit costs measurable time
        self._name_checksums: dict[tuple[str, str], int] = {}
        if not all(map(is_intact, self._connection.execute(READ_ALL_ROWS))):
            raise DamagedLedgerError
        self.spending(0)

    def _read_account(self) -> tuple[str, int, int, int]:
        """The fingerprint, the latest day, what was spent in it, and what was ever spent."""
        rows = self._connection.execute(READ_ACCOUNT).fetchall()
        if len(rows) != 1:
            raise DamagedLedgerError
        if not is_intact(rows[0]):
            raise DamagedLedgerError
        _, fingerprint, latest, today, lifetime, _ = rows[0]
        return fingerprint, latest, today, lifetime


def _fingerprint_of(secret: bytes) -> str:
    import hashlib  # costs start-up time; the registry loads it anyway

    digest = hashlib.sha256(b"deniable fingerprint" + secret).hexdigest()
    return digest[:_FINGERPRINT_DIGITS]


def _account_after(account: tuple[int, int, int], cost: int, epoch: int) -> tuple[int, int, int]:
    """The account (latest day, spent in that day, ever spent) after a cost is spent today."""
    latest, today, lifetime = account
    if epoch > latest:
        latest, today = epoch, 0
    return latest, today + cost, lifetime + cost


def _is_within(limits: tuple[int, int], account: tuple[int, int, int]) -> bool:
    return account[1] <= limits[0] and account[2] <= limits[1]
