"""The spool as a queue: reports that are due, claimed, sent or refused."""

from __future__ import annotations

import os
import sqlite3

from deniable._storage import sqlite
from deniable._storage.spool_file import SpoolFile
from deniable._storage.stored_report import RESCHEDULED, StoredReport, report_from_row

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

MAX_SENT: Final = 2_000
"""At most this many delivered reports are remembered: the latest ones."""

_KEEP_SENT: Final = """
INSERT INTO sent (digest, epoch, payload)
SELECT digest, ?, CASE WHEN memoized THEN NULL ELSE ? END FROM spec WHERE digest = ?
"""
"""Nothing is kept if it is not known whether the spec's mechanism memoises."""

_PRUNE_SENT: Final = "DELETE FROM sent WHERE number <= (SELECT max(number) FROM sent) - ?"
_OVERDUE: Final = """
SELECT number FROM report WHERE due <= ? AND (? OR claimant != ? AND epoch > ?) OR due > ?
"""


class SpoolQueue(SpoolFile):
    """What the uploader needs of the spool; see `SpoolFile` for its arguments and errors."""

    def numbers(self) -> list[int]:
        """The numbers of all reports."""
        return self._select_numbers("SELECT number FROM report", ())

    def due_numbers(self, now: float, horizon: float) -> list[int]:
        """The numbers of the reports that are due.

        Args:
            now: in seconds since 1970-01-01.
            horizon: reports due later than this count as due now, because a clock that was ahead
                wrote their times.
        """
        query = "SELECT number FROM report WHERE due <= ? OR due > ?"
        return self._select_numbers(query, (now, horizon))

    def reports(self, numbers: Iterable[int]) -> list[StoredReport]:
        """The reports with these numbers, in this order; without those deleted meanwhile."""
        query = "SELECT * FROM report WHERE number = ?"

        def read() -> list[StoredReport]:
            execute = self._connection.execute
            rows = [row for number in numbers for row in execute(query, (number,))]
            return [report_from_row(columns) for columns in rows]

        return self._repairing(read)

    def reschedule_overdue(
        self,
        report: StoredReport,
        now: float,
        horizon: float,
        time: Callable[[], float],
        *,
        late: int,
        again: bool,
    ) -> None:
        """Gives every overdue report but one a new time, so that they are not sent together.

        Args:
            report: the one that is sent now.
            now: see `due_numbers`, as is the next one.
            horizon: see there.
            time: returns a new time for a report.
            late: reports of this day, in days since 1970-01-01, and of earlier days keep their
                time, and so do reports that were given a new time before, unless `again` is set.
            again: whether these, too, are given a new time.
        """
        row = (now, again, RESCHEDULED, late, horizon)
        numbers = self._select_numbers(_OVERDUE, row)
        query = "UPDATE report SET due = ?, claimant = ? WHERE number = ?"
        rows = [(time(), RESCHEDULED, number) for number in numbers if number != report.number]

        def write() -> None:
            with self._connection:  # one commit: thousands would keep other processes waiting
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(query, rows)

        if rows:
            self._repairing(write)

    def next_due_time(self) -> float | None:
        """When the next report is due, or None if there is none."""
        query = "SELECT due FROM report ORDER BY due LIMIT 1"
        return self._repairing(lambda: self._single_value(query, float))

    def claim(self, report: StoredReport, due: float) -> bool:
        """Claims a report for one attempt to send it: other processes leave it alone until then.

        Args:
            report: as it was read.
            due: its new due time, when others may send it.

        Returns:
            False if another process has sent, dropped or claimed it meanwhile.
        """
        query = "UPDATE report SET due = ?, tries = ?, claimant = ? WHERE number = ? AND due = ?"
        row = (due, report.tries + 1, os.getpid(), report.number, report.due)
        return self._repairing(lambda: self._connection.execute(query, row).rowcount == 1)

    def postpone(self, report: StoredReport, due: float) -> None:
        """Ends the claim of a report, which is to be sent at another time."""
        query = "UPDATE report SET due = ?, claimant = 0 WHERE number = ? AND upload_id = ?"
        row = (due, report.number, report.upload_id)
        self._repairing(lambda: self._connection.execute(query, row))

    def hide_order(self, spent: int) -> None:
        """Removes the order of recording: from the places of reports, and from what was `spent`.

        Reports get places in the order of their random ids, and the same `StoredReport.spent`.
        Nothing is done while a report is being sent: its process knows it by its place.

        Args:
            spent: nano-nats that the ledger had ever spent; durable, so that no power failure makes
                any of these reports look unpaid.
        """
        execute = self._connection.execute

        def write() -> None:
            with self._connection:
                execute("BEGIN IMMEDIATE")
                if execute("SELECT count(*) FROM report WHERE claimant > 0").fetchone()[0]:
                    return
                execute("UPDATE report SET spent = ? WHERE spent < ?", (spent, spent))
                found = execute("SELECT * FROM report ORDER BY upload_id").fetchall()
                numbers = [columns[0] for columns in found]
                if numbers == sorted(numbers):
                    return  # nothing was recorded since the last time
                execute("DELETE FROM report")
                again = "INSERT INTO report VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)"
                self._connection.executemany(again, [columns[1:] for columns in found])

        self._repairing(write)

    def spent_at_last_upload(self) -> int:
        """The largest `StoredReport.spent` of all reports that were uploaded; in nano-nats."""
        return self._integer("SELECT spent FROM uploaded")

    def move_to_sent(self, report: StoredReport) -> bool:
        """Moves a report that the aggregator has taken to the remembered ones.

        Of a memoised report it is remembered that there was one, but not its payload.

        Returns:
            False if it was no longer there.
        """
        row = (report.epoch, report.payload, report.digest)
        # Delete first: a failure in between forgets the report, but never sends it twice.
        if not self.delete_refused(report):
            return False
        try:
            self._repairing(lambda: self._connection.execute(_KEEP_SENT, row))
        except sqlite3.Error as error:
            if not sqlite.is_full(error):
                raise
            return True  # the room is for reports that wait to be sent
        self._repairing(lambda: self._connection.execute(_PRUNE_SENT, (MAX_SENT,)))
        return True

    def delete_refused(self, report: StoredReport) -> bool:
        """Deletes a report that the aggregator will never take; False if it was no longer there."""
        mark = "UPDATE uploaded SET spent = max(spent, ?)"
        self._repairing(lambda: self._connection.execute(mark, (report.spent,)))
        query = "DELETE FROM report WHERE number = ? AND upload_id = ?"
        row = (report.number, report.upload_id)
        return self._repairing(lambda: self._connection.execute(query, row).rowcount == 1)

    def _select_numbers(self, query: str, row: tuple[float, ...]) -> list[int]:
        return self._repairing(
            lambda: [number for (number,) in self._connection.execute(query, row)]
        )
