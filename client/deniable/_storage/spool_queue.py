"""The spool as a queue: reports that are due, claimed, sent or refused."""

from __future__ import annotations

import os
import sqlite3

from deniable._storage import sqlite
from deniable._storage.spool_file import SpoolFile
from deniable._storage.stored_report import RESCHEDULED, StoredReport, report_from_row

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

MAX_SENT: Final = 2_000
"""At most this many delivered reports are remembered: the latest ones."""

_OVERDUE: Final = """
SELECT number FROM report WHERE due <= ? AND (? OR claimant != ? AND epoch > ?) OR due > ?
"""


class SpoolQueue(SpoolFile):
    """What the uploader needs of the spool; see `SpoolFile` for its arguments and errors."""

    def due_reports(self, now: float, horizon: float, limit: int) -> list[StoredReport]:
        """Reports that are due, the longest overdue first.

        Args:
            now: in seconds since 1970-01-01.
            horizon: reports due later than this count as due now, because a clock that was ahead
                wrote their times.
            limit: how many at most.
        """
        query = "SELECT * FROM report WHERE due <= ? OR due > ? ORDER BY due LIMIT ?"
        return self._select(query, (now, horizon, limit))

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
            now: see `due_reports`, as is the next one.
            horizon: see there.
            time: returns a new time for a report.
            late: reports of this day, in days since 1970-01-01, and of earlier days keep their
                time, and so do reports that were given a new time before, unless `again` is set.
            again: whether these, too, are given a new time.
        """
        row = (now, again, RESCHEDULED, late, horizon)
        numbers = self._repairing(lambda: self._connection.execute(_OVERDUE, row).fetchall())
        query = "UPDATE report SET due = ?, claimant = ? WHERE number = ?"
        rows = [(time(), RESCHEDULED, number) for (number,) in numbers if number != report.number]

        def write() -> None:
            with self._connection:  # one commit: thousands would keep other processes waiting
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(query, rows)

        if rows:
            self._repairing(write)

    def reports_between(self, after: int, last: int, limit: int) -> list[StoredReport]:
        """Reports with numbers in (after, last], in the order in which they were recorded."""
        query = "SELECT * FROM report WHERE number > ? AND number <= ? ORDER BY number LIMIT ?"
        return self._select(query, (after, last, limit))

    def last_number(self) -> int:
        """The number of the newest report, 0 if there is none."""
        return self._integer("SELECT ifnull(max(number), 0) FROM report")

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

    def spent_at_last_upload(self) -> int:
        """The largest `StoredReport.spent` of all reports that were uploaded; in nano-nats."""
        return self._integer("SELECT spent FROM uploaded")

    def move_to_sent(self, report: StoredReport) -> bool:
        """Moves a report that the aggregator has taken to the remembered ones.

        Returns:
            False if it was no longer there.
        """
        keep = "INSERT INTO sent (digest, epoch, payload) VALUES (?, ?, ?)"
        row = (report.digest, report.epoch, report.payload)
        # Delete first: a failure in between forgets the report, but never sends it twice.
        if not self.delete_refused(report):
            return False
        try:
            number = self._repairing(lambda: self._connection.execute(keep, row).lastrowid or 0)
        except sqlite3.Error as error:
            if not sqlite.is_full(error):
                raise
            return True  # the room is for reports that wait to be sent
        if number > MAX_SENT:
            prune = "DELETE FROM sent WHERE number <= ?"
            self._repairing(lambda: self._connection.execute(prune, (number - MAX_SENT,)))
        return True

    def delete_refused(self, report: StoredReport) -> bool:
        """Deletes a report that the aggregator will never take; False if it was no longer there."""
        mark = "UPDATE uploaded SET spent = max(spent, ?)"
        self._repairing(lambda: self._connection.execute(mark, (report.spent,)))
        query = "DELETE FROM report WHERE number = ? AND upload_id = ?"
        row = (report.number, report.upload_id)
        return self._repairing(lambda: self._connection.execute(query, row).rowcount == 1)

    def _select(self, query: str, row: tuple[float, ...]) -> list[StoredReport]:
        def read() -> list[StoredReport]:
            return [report_from_row(columns) for columns in self._connection.execute(query, row)]

        return self._repairing(read)
