"""The spool: randomized reports that wait on this device to be uploaded.

Reports that the aggregator has taken are remembered for a while, so that the user can be shown what
this device has said: spec, day and payload, not the upload's id or any time. Of memoised reports
the payload is not kept, for whoever has the device's secret could recognise the value in it.
"""

from __future__ import annotations

import sqlite3

from deniable._status import Dropped
from deniable._storage import sqlite
from deniable._storage.spool_queue import SpoolQueue
from deniable_shared.periods import EVERY

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path
    from typing import Final

    from deniable._event_log import EventLog
    from deniable_shared.periods import Every

MAX_REPORTS: Final = 10_000
MAX_AGE_DAYS: Final = 30
"""Older reports are dropped if sending them has been tried, for the aggregator has long closed
their day. Delivered reports are remembered as long."""

MAX_MEMOIZED_AGE_DAYS: Final = 14
"""Older memoised reports are dropped even if sending them was never tried: whoever gets the
device's directory can read the value in them, and the aggregator has usually closed their day."""

_ADD: Final = """
INSERT INTO report (upload_id, digest, epoch, payload, spent, due, tries, claimant)
SELECT ?, digest, ?, ?, ?, ?, 0, 0 FROM spec WHERE digest = ?
"""
"""Adds nothing if the spec's description is missing: another process may have cleared the file."""

_DROP_MEMOIZED: Final = """
DELETE FROM report WHERE epoch < ? AND digest IN (SELECT digest FROM spec WHERE memoized)
"""
_DROP_OLDEST: Final = """
DELETE FROM report WHERE number IN (SELECT number FROM report ORDER BY epoch, number LIMIT ?)
"""
_FREE: Final = """
SELECT number, epoch, description FROM report JOIN spec USING (digest)
WHERE memoized OR instr(description, '"absent"')
"""
_COUNT: Final = "SELECT count(*) FROM report"


class Spool(SpoolQueue):
    """Stores the reports of one device up to a limit, and deletes them. Its owner holds a lock.

    Args:
        path: see `SpoolFile`, as is the next one.
        events: see there.

    Raises:
        sqlite3.Error, OSError: see there.
    """

    def __init__(self, path: Path, events: EventLog) -> None:
        self._counted_from = self._count_at = 0
        self._described: set[bytes] = set()
        super().__init__(path, events)

    def add(
        self,
        upload_id: bytes,
        digest: bytes,
        epoch: int,
        payload: bytes,
        spent: int,
        due: float,
        description: str,
        *,
        memoized: bool,
    ) -> None:
        """Stores a report; if the spool is full, the oldest reports are dropped and counted.

        Args:
            upload_id: see `StoredReport`, as are the next five.
            digest: see there.
            epoch: see there.
            payload: see there.
            spent: see there.
            due: see there.
            description: what `disclosure` needs to explain reports of this spec; kept once for each
                spec, and written again by the first report that this object adds.
            memoized: whether the spec's mechanism memoises its answers; kept once for each spec.
        """
        row = (upload_id, epoch, payload, spent, due, digest)
        try:
            number = self._insert(row, description, memoized=memoized)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if sqlite.is_damage(error):
                self._replace_damaged_file()
            elif not (sqlite.is_full(error) and self._make_room()):
                raise
            number = self._insert(row, description, memoized=memoized)
        # Other processes add reports too, and numbers start again once the spool was empty. So
        # count as soon as the number says that there could be too many.
        if not self._counted_from <= number < self._count_at:
            self._keep_newest(number)

    def count(self) -> int:
        """How many reports are stored."""
        return self._integer(_COUNT)

    def drop_old(self, today: int, absence_digests: Iterable[bytes]) -> None:
        """Drops and counts pending reports that are too old, and forgets delivered ones.

        A report that was never tried is kept, for the clock may be wrong: the aggregator decides.
        Memoised reports are dropped nevertheless, see `MAX_MEMOIZED_AGE_DAYS`.

        Args:
            today: in days since 1970-01-01.
            absence_digests: digests of metrics that report absence. Their reports are dropped even
                if they were never tried, because absence on such days is no longer reported, so a
                report would reveal that there was a value.
        """
        epoch = today - MAX_AGE_DAYS
        query = "DELETE FROM report WHERE epoch < ? AND (tries > 0 OR digest = ?)"
        rows = [(epoch, digest) for digest in (b"", *absence_digests)]
        count = self._repairing(lambda: self._connection.executemany(query, rows).rowcount)
        row = (today - MAX_MEMOIZED_AGE_DAYS,)
        count += self._repairing(lambda: self._connection.execute(_DROP_MEMOIZED, row).rowcount)
        forget = "DELETE FROM sent WHERE epoch < ?"
        self._repairing(lambda: self._connection.execute(forget, (epoch,)))
        self._events.count_dropped(Dropped.TOO_OLD, count)

    def drop_ahead(self, latest: int) -> None:
        """Drops and counts pending reports of days that lie ahead; what was paid stays paid.

        Args:
            latest: the last day that does not, in days since 1970-01-01.
        """
        query = "DELETE FROM report WHERE epoch > ?"
        count = self._repairing(lambda: self._connection.execute(query, (latest,)).rowcount)
        self._events.count_dropped(Dropped.CLOCK_AHEAD, count)

    def drop_unpaid(self, lifetime: int) -> int:
        """Drops and counts reports whose debit is missing in the ledger.

        A power failure can undo a debit and keep its report; the period is then free, and will be
        reported and paid for again.

        Args:
            lifetime: nano-nats that were ever spent, as the ledger says.

        Returns:
            How many there were.
        """
        query = "DELETE FROM report WHERE spent > ?"
        count = self._repairing(lambda: self._connection.execute(query, (lifetime,)).rowcount)
        self._events.count_dropped(Dropped.DEBIT_LOST, count)
        return count

    def drop_unmarked(self, is_reported: Callable[[str, Every, int], bool]) -> int:
        """Drops and counts reports that cost nothing and whose period the ledger does not know.

        Permanent answers that were paid for are free, and so are reports of metrics that report
        absence, which pay before. So `drop_unpaid` cannot tell that the ledger has lost such a
        report; without this, the period would be reported twice.

        Args:
            is_reported: says of a metric's name, the kind of its periods and a day whether the
                ledger knows the period of that day as reported.

        Returns:
            How many there were.
        """
        rows = self._repairing(lambda: self._connection.execute(_FREE).fetchall())
        if not rows:
            return 0
        metrics = {text: _metric_of(text) for text in {text for _, _, text in rows}}
        lost = [
            (number,)
            for number, epoch, text in rows
            if (metric := metrics[text]) is not None and not is_reported(*metric, epoch)
        ]
        if lost:
            query = "DELETE FROM report WHERE number = ?"
            self._repairing(lambda: self._connection.executemany(query, lost))
            self._events.count_dropped(Dropped.DEBIT_LOST, len(lost))
        return len(lost)

    def delete_everything(self, reason: Dropped = Dropped.CONSENT_WITHDRAWN) -> int:
        """Deletes everything: pending and delivered reports, and descriptions.

        Args:
            reason: what the pending reports are counted as.

        Returns:
            How many reports were pending.
        """
        count = self._repairing(self._wipe)
        self._events.count_dropped(reason, count)
        return count

    def _insert(self, row: tuple[object, ...], description: str, *, memoized: bool) -> int:
        digest = row[-1]
        assert isinstance(digest, bytes)
        execute = self._insert_cursor.execute
        if digest in self._described:
            added = execute(_ADD, row)
            if added.rowcount:
                return added.lastrowid or 0
        execute("REPLACE INTO spec VALUES (?, ?, ?)", (digest, description, memoized))
        self._described.add(digest)
        return execute(_ADD, row).lastrowid or 0

    def _wipe(self) -> int:
        execute = self._connection.execute
        count = execute("DELETE FROM report").rowcount
        execute("DELETE FROM sent")
        execute("DELETE FROM spec")
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return count

    def _keep_newest(self, number: int) -> None:
        count = self.count()
        if count > MAX_REPORTS:
            # Drop a twentieth more than needed: counting takes milliseconds, and fewer than one
            # call of `record` in a hundred should have to wait for it.
            count -= self._drop_oldest(count - MAX_REPORTS + MAX_REPORTS // 20)
        self._counted_from = number
        self._count_at = number + MAX_REPORTS - count + 1

    def _make_room(self) -> bool:
        if not self._is_at_size_limit():
            return False  # the disk is full, not the spool: dropping reports would not help
        if self._repairing(lambda: self._connection.execute("DELETE FROM sent").rowcount):
            return True
        self._drop_oldest(-(-self.count() // 10))
        return True

    def _drop_oldest(self, count: int) -> int:
        dropped = self._repairing(lambda: self._connection.execute(_DROP_OLDEST, (count,)).rowcount)
        self._events.count_dropped(Dropped.SPOOL_FULL, dropped)
        return dropped


def _metric_of(description: str) -> tuple[str, Every] | None:
    """The name of a metric and the kind of its periods; None if the description is damaged."""
    import json  # costs start-up time, and most devices never get here

    try:
        spec = json.loads(description)["spec"]
        name, every = spec["name"], spec["every"]
    except (ValueError, LookupError, TypeError):
        return None
    return (name, every) if every in EVERY else None
