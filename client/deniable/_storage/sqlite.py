"""Opening the two SQLite files of a device.

Write-ahead logging with synchronous=NORMAL: a commit survives the death of the process at once, and
a power failure once the log is synced, which the uploader does before anything leaves. The callers
hold the lock of the device's directory around every use, checkpoints included, because SQLite
before 3.51.3 can corrupt a log that two connections reset and write at the same moment.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Final

PAGE_BYTES: Final = 1_024
"""Small pages: a commit copies and checksums whole pages, and the rows are short."""

BUSY_SECONDS: Final = 1.0
LOG_PAGES: Final = 1_000
"""Once so many pages are in the log, a commit copies them into the file, and waits for the disk, as
does the next one. Four times as many make that rarer, and every commit two microseconds slower."""

_PRIVATE_FILE: Final = 0o600
_DAMAGE: Final = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_ERROR,  # a table or a column is missing
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_SCHEMA,
        sqlite3.SQLITE_TOOBIG,
    }
)


def create_file(path: Path) -> None:
    """Makes an empty file, if there is none, that only its owner can read, as its log will be.

    One that is there is not even opened: closing it again would release the locks that SQLite holds
    on it for other clients of this process, and another process could then delete their log.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE_FILE))


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection in autocommit mode to a file that exists.

    Args:
        path: absolute.
        mode: "rw", or "ro" for one that only reads.

    Raises:
        sqlite3.Error: if there is no such file, or it cannot be opened.
    """
    from urllib.parse import quote  # loaded with the transport, and only then

    return sqlite3.connect(
        f"file://{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema version of a file; 0 for one that was just made."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def create_tables(connection: sqlite3.Connection, schema: str, number: int) -> None:
    """Creates the tables of a new file, all or none of them, durably."""
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.executescript(f"BEGIN; {schema}; PRAGMA user_version = {number}; COMMIT;")


def is_sound(connection: sqlite3.Connection) -> bool:
    """Whether the structure of a file is intact; takes 0.1 ms, and 8 for 10,000 reports."""
    found: str = connection.execute("PRAGMA quick_check").fetchone()[0]
    return found == "ok"


def use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switches to write-ahead logging for everything that follows."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")


@contextlib.contextmanager
def keep_logs(*paths: Path) -> Iterator[None]:
    """What is closed inside leaves its log for the next one to open the file; nothing is synced.

    The last connection to a file copies the log into it, and waits for the disk, unless it cannot
    lock all others out. One that only reads cannot, so it is made the last.

    Args:
        paths: of the files that will be closed.
    """
    with contextlib.ExitStack() as readers:
        with contextlib.suppress(sqlite3.Error):  # then it takes longer
            for path in paths:
                schema_version(readers.enter_context(contextlib.closing(connect(path, "ro"))))
        yield


def refuse_statements(connection: sqlite3.Connection) -> None:
    """Has every statement refused from now on, without touching the file or its locks."""
    connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)


def damage_error(what: str) -> sqlite3.DatabaseError:
    """The error of a file that SQLite finds nothing wrong with, and that is not what was written.

    Args:
        what: in a few words without any value.
    """
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def is_damage(error: BaseException) -> bool:
    """Whether an error says that a file is damaged, not merely busy, full or unreadable.

    What a signal handler of the host raised says nothing about the file.
    """
    if isinstance(error, UnicodeDecodeError):  # of SQLite's words about a damaged schema
        return True
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # of this module's own errors only that of a text that is none
        return isinstance(error, sqlite3.OperationalError)
    return isinstance(code, int) and code & 0xFF in _DAMAGE


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no room."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF == sqlite3.SQLITE_FULL
