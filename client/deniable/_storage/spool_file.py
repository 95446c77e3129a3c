"""The file of the spool: opened, checked, and replaced if it is damaged."""

from __future__ import annotations

import sqlite3

from deniable._status import Dropped
from deniable._storage import sqlite

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Final, TypeVar

    from deniable._event_log import EventLog

    _T = TypeVar("_T")

VERSION: Final = 1
MAX_BYTES: Final = 16 << 20
SCHEMA: Final = """
CREATE TABLE report (
    number INTEGER PRIMARY KEY,
    upload_id BLOB NOT NULL,
    digest BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    payload BLOB NOT NULL,
    spent INTEGER NOT NULL,
    due REAL NOT NULL,
    tries INTEGER NOT NULL,
    claimant INTEGER NOT NULL
);
CREATE TABLE sent (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    payload BLOB
);
CREATE TABLE spec (
    digest BLOB NOT NULL UNIQUE,
    description TEXT NOT NULL,
    memoized INTEGER NOT NULL
);
CREATE TABLE uploaded (spent INTEGER NOT NULL);
INSERT INTO uploaded VALUES (0)
"""


class SpoolFile:
    """A file of reports that replaces itself if it is damaged. Its owner holds a lock.

    A file that is damaged, or of another version, is deleted and counted, and an empty one takes
    its place. A copy would keep reports for ever beside the secret that explains them.

    Deleted rows are overwritten in the file; `sqlite.empty_log` removes them from the log.

    Args:
        path: of the file; it is created if it does not exist.
        events: where dropped reports are counted.

    Raises:
        sqlite3.Error: if the file cannot be used for another reason than damage.
        OSError: if it cannot be created.
    """

    def __init__(self, path: Path, events: EventLog) -> None:
        self._path = path
        self._events = events
        try:
            self._open_connection()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not sqlite.is_damage(error):
                raise
            self._delete_damaged_file()
            self._open_connection()

    def empty_log(self) -> None:
        """Moves the log into the file: its old pages hold reports that were deleted since."""
        sqlite.empty_log(self._connection)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def abandon(self) -> None:
        """Prevents any further use of the file, which another process goes on to use."""
        sqlite.refuse_statements(self._connection)

    def _open_connection(self) -> None:
        self._connection = self._open()
        self._insert_cursor = self._connection.cursor()  # a cursor per report costs measurable time

    def _replace_damaged_file(self) -> None:
        self._connection.close()
        self._delete_damaged_file()
        self._open_connection()

    def _open(self) -> sqlite3.Connection:
        sqlite.create_file(self._path)
        new = not sqlite.has_log(self._path)
        connection = sqlite.connect(self._path)
        try:
            if sqlite.schema_version(connection) == 0:
                sqlite.create_tables(connection, SCHEMA, VERSION)
            if sqlite.schema_version(connection) != VERSION:
                raise sqlite.damage_error("the spool is of another version")
            if not sqlite.is_sound(connection):
                raise sqlite.damage_error("the structure of the spool is damaged")
            sqlite.use_write_ahead_log(connection, new=new)
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(f"PRAGMA max_page_count = {MAX_BYTES // sqlite.PAGE_BYTES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _is_at_size_limit(self) -> bool:
        pages: int = self._connection.execute("PRAGMA page_count").fetchone()[0]
        return pages >= MAX_BYTES // sqlite.PAGE_BYTES

    def _integer(self, query: str) -> int:
        def read() -> int:
            number = self._single_value(query, int)
            if number is None:
                raise sqlite.damage_error("a row is missing")
            return number

        return self._repairing(read)

    def _single_value(self, query: str, kind: type[_T]) -> _T | None:
        """The value in the first row, or None if there is no row."""
        row = self._connection.execute(query).fetchone()
        if row is None:
            return None
        if type(row[0]) is not kind:
            raise sqlite.damage_error("a value has another type")
        value: _T = row[0]
        return value

    def _repairing(self, operation: Callable[[], _T]) -> _T:
        """Does something with the file; if the file is damaged, once more with an empty one."""
        try:
            return operation()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if not sqlite.is_damage(error):
                raise
        self._replace_damaged_file()
        return operation()

    def _delete_damaged_file(self) -> None:
        sqlite.delete_files(self._path)
        self._events.count_dropped(Dropped.SPOOL_CORRUPT)
        self._events.problem(
            "spool_corrupt", "the spool was damaged, or of another version, and was replaced"
        )
