"""Ledgers that earlier versions of this program wrote, brought to the form of today.

Nothing that was spent, and no period that was reported, is ever forgotten on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable._storage.row_checksum import seal_of_row

if TYPE_CHECKING:
    import sqlite3

FIRST: Final = 1

# What the account of version 1 has in place of a fingerprint is that of no secret, so the ledger
# takes the device's for a new one, of which nothing has been paid for in advance. Version 2 did not
# know when a device was last at work: it takes part again from the day on that it is seen. What
# stands in version 3, which had no seals, is believed; a process of that version that still runs
# cannot write without one, nor replace the secret, for it does not find the table of enrolments.
_STEPS: Final = {
    1: """
ALTER TABLE entry RENAME COLUMN lifetime TO spent;
ALTER TABLE entry ADD COLUMN digest BLOB;
CREATE TABLE enrolled (metric TEXT NOT NULL)
""",
    2: """
DROP TABLE enrolled;
CREATE TABLE enrolled (
    metric TEXT NOT NULL,
    every TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (metric, every)
) WITHOUT ROWID
""",
    3: """
CREATE TABLE sealed (
    metric TEXT NOT NULL,
    every TEXT NOT NULL,
    period INTEGER NOT NULL,
    today INTEGER,
    spent INTEGER,
    digest BLOB,
    seal INTEGER NOT NULL,
    PRIMARY KEY (metric, every)
) WITHOUT ROWID;
INSERT INTO sealed
SELECT metric, every, period, today, spent, digest, seal_of_row(metric, every, period, today, spent)
FROM entry;
DROP TABLE entry;
ALTER TABLE sealed RENAME TO entry;
ALTER TABLE enrolled RENAME TO enrolment
""",
}


def bring_up(connection: sqlite3.Connection, found: int, wanted: int) -> None:
    """Changes the tables of an earlier ledger, in one transaction: all of it or nothing.

    Args:
        connection: to the ledger, in autocommit mode.
        found: its version, at least `FIRST`.
        wanted: the version of today.

    Raises:
        sqlite3.Error: if it cannot be written, or is not what its version says.
    """
    connection.create_function("seal_of_row", 5, seal_of_row)
    steps = ";".join(_STEPS[version] for version in range(found, wanted))
    connection.executescript(f"BEGIN IMMEDIATE; {steps}; PRAGMA user_version = {wanted}; COMMIT;")
