"""The tables of the ledger, and the statements that read and write them.

Table ``entry`` has two kinds of rows. The row with an empty metric is the account of the device:
its latest day (``period``), what was spent in that day (``today``) and ever (``spent``), and in
``every`` the fingerprint of the device's secret. Every other row belongs to a metric: the latest
period that it reported and, if its mechanism memoises, what was spent on the permanent answers of
the spec with this ``digest``. Both kinds stand in one table, so that a debit is one statement and
usually changes one page. There are statements with and without ``digest``, because each column
takes time. The digest is not part of the checksum: a damaged digest is that of no spec, so nothing
counts as paid for it.

A row named `DELTA` holds in ``spent`` the sum of the deltas of all reports, in units of 10^-12; it
appears with the first report that has one.

Rows named `CHARGED` hold the days that were ever charged: in ``period`` the first day of a run, and
in ``spent`` its last. A row named `AHEAD` has in ``period`` the day on which the latest day was
first seen to lie ahead. See `deniable._recording.charged_days`.

Table ``enrolment`` holds, for metrics that report absence, the last day on which the device was at
work.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

VERSION: Final = 1
"""Of the file's format."""

SCHEMA: Final = """
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

DELTA: Final = "*delta"
"""No name of a metric."""

CHARGED: Final = "*charged"
AHEAD: Final = "*ahead"

READ_DAYS: Final = """
SELECT metric, period, spent FROM entry WHERE metric IN ('*charged', '*ahead') ORDER BY period
"""
READ_PERIODS: Final = """
SELECT metric, every, spent FROM entry WHERE metric GLOB '[^*]*' AND every != 'once'
"""
WRITE_DAY: Final = "UPDATE entry SET period = ?, today = ?, checksum = ? WHERE metric = ''"
WRITE_PERIOD: Final = "UPDATE entry SET period = ?, checksum = ? WHERE metric = ? AND every = ?"
WRITE_ROW: Final = (
    "INSERT INTO entry (metric, every, period, spent, checksum) VALUES (?, ?, ?, ?, ?)"
)

READ_DELTA: Final = "SELECT spent FROM entry WHERE metric = '*delta'"
WRITE_DELTA: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum)
VALUES ('*delta', '', 0, NULL, ?, ?)
"""

READ: Final = """
SELECT period, today, spent, checksum,
    (SELECT period FROM entry WHERE metric = ? AND every = ?), NULL, NULL
FROM entry WHERE metric = '' AND every = ?
"""
WRITE: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum)
VALUES ('', ?, ?, ?, ?, ?), (?, ?, ?, NULL, ?, ?)
"""

WRITE_IF_UNCHANGED: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum)
SELECT * FROM (VALUES ('', ?, ?, ?, ?, ?), (?, ?, ?, NULL, NULL, ?)) WHERE EXISTS (
    SELECT * FROM entry WHERE metric = '' AND every = ? AND period = ? AND today = ? AND spent = ?
) AND NOT EXISTS (SELECT * FROM entry WHERE metric = ? AND every = ? AND period >= ?)
"""
"""A whole debit in one statement, for a process that knows the account. Changes no row if another
process has changed the account meanwhile, or the metric has reported this period."""

READ_MEMOIZED: Final = """
SELECT account.period, account.today, account.spent, account.checksum,
    own.period, own.spent, own.digest
FROM entry AS account LEFT JOIN entry AS own ON own.metric = ? AND own.every = ?
WHERE account.metric = '' AND account.every = ?
"""
WRITE_MEMOIZED: Final = """
REPLACE INTO entry (metric, every, period, today, spent, checksum, digest)
VALUES ('', ?, ?, ?, ?, ?, NULL), (?, ?, ?, NULL, ?, ?, ?)
"""

READ_ALL_ROWS: Final = "SELECT metric, every, period, today, spent, checksum FROM entry"
READ_ACCOUNT: Final = f"{READ_ALL_ROWS} WHERE metric = ''"
