"""SQLite as the ledger and the spool use it: how files are made, opened and found to be damaged.

Both files use write-ahead logging with synchronous=NORMAL. So a commit survives the death of the
process at once, and a power failure once the log is synced, which the uploader does before it sends
a report. After a power failure a file holds all commits up to some moment, and none after it.
Callers hold the lock of the device's directory whenever they use a file, checkpoints included,
because SQLite before 3.51.3 can corrupt a log that one connection resets while another one writes
to it.

Two things are done so that recording seldom waits for the disk. The tables of a new file are made
with synchronous=OFF: a power failure may leave any part of such a file until `empty_log` has once
succeeded. And a log is begun by a commit that changes nothing, because SQLite syncs the file of a
log before its first commit.

Whoever finds a log commits something random to it before anything else: see
`_part_from_lost_commits`.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from deniable._platform import databases, files
from deniable._platform.permissions import PRIVATE_FILE

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Final

PAGE_BYTES: Final = 1_024
"""Pages are small because a commit copies and checksums whole pages, and the rows are short."""

BUSY_SECONDS: Final = 1.0
LOG_PAGES: Final = 1_000
"""When the log has this many pages, a commit copies them into the file and waits for the disk, and
so does the commit after it. Four times as many pages would make this rarer, and every commit two
microseconds slower."""

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
    """Makes an empty file that only its owner can read, unless the file exists.

    SQLite gives the log the same permissions. An existing file is not even opened: closing it would
    release the locks that SQLite holds on it for other clients of this process (POSIX locks belong
    to the process), and another process could then delete their log.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE_FILE))


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """Opens a connection in autocommit mode to an existing file.

    Args:
        path: absolute.
        mode: "rw", or "ro" for a connection that only reads.

    Raises:
        sqlite3.Error: if there is no such file, or it cannot be opened.
    """
    return sqlite3.connect(
        databases.uri(path, f"mode={mode}"),
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema version that is written in a file; 0 in a new one."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return number


def create_tables(connection: sqlite3.Connection, schema: str, number: int) -> None:
    """Creates the tables of a new file in one transaction, and writes its schema version.

    Does not wait for the disk.
    """
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(f"BEGIN; {schema}; PRAGMA user_version = {number}; COMMIT;")


def is_sound(connection: sqlite3.Connection) -> bool:
    """Whether the structure of a file is intact; takes 0.1 ms, or 8 ms with 10,000 reports."""
    answer: str = connection.execute("PRAGMA quick_check").fetchone()[0]
    return answer == "ok"


def has_log(path: Path) -> bool:
    """Whether there is a log beside a file; to be asked before the file is opened."""
    return os.path.exists(f"{path}-wal")  # noqa: PTH110  faster than pathlib


def use_write_ahead_log(connection: sqlite3.Connection, *, new: bool) -> None:
    """Has the connection write to a log first.

    Args:
        connection: to a file with tables.
        new: whether there was no log before this connection; then it is begun without waiting for
            the disk, for nothing earlier can be found in its file after a power failure.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
    for pragma in databases.DURABLE:
        connection.execute(f"PRAGMA {pragma} = ON")
    if new:
        connection.execute("PRAGMA synchronous = OFF")
        with contextlib.suppress(sqlite3.OperationalError):  # then the first commit has to wait
            _begin_log(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if not new:
        with contextlib.suppress(sqlite3.OperationalError):  # the disk is full
            _part_from_lost_commits(connection)


@contextlib.contextmanager
def keep_logs(*paths: Path) -> Iterator[None]:
    """Makes closing these files quick: a file closed within the block keeps its log beside it.

    When the last connection to a file is closed, SQLite copies the log into the file and waits for
    the disk. A connection that only reads cannot do so, so the block keeps one open to the end.

    Args:
        paths: the files that will be closed.
    """
    with contextlib.ExitStack() as readers:
        with contextlib.suppress(sqlite3.Error):  # then closing takes longer
            for path in paths:
                schema_version(readers.enter_context(contextlib.closing(connect(path, "ro"))))
        yield


def sync_log(path: Path) -> None:
    """Waits until every commit to a file is on the disk, so that a power failure keeps it.

    A commit stands in the log until SQLite copies it into the file, and SQLite itself syncs what it
    copies; so only the log and the directory have to be synced here. Needs no lock.

    Args:
        path: of the SQLite file.

    Raises:
        OSError: if the disk refuses.
    """
    with contextlib.suppress(FileNotFoundError):
        files.sync_file(f"{path}-wal")
    with contextlib.suppress(FileNotFoundError):
        files.sync_directory(path.parent)


def empty_log(connection: sqlite3.Connection) -> bool:
    """Moves the log into the file, so that no earlier state of the file can be read in the log.

    Waits for the disk, so that a power failure loses nothing of the file. Begins the log anew, so
    that the next commit need not wait. An error is ignored: the next call does what is left to do.

    Returns:
        Whether all of the log is in the file.
    """
    with contextlib.suppress(sqlite3.Error):
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        _begin_log(connection)
        return not busy
    return False


def delete_files(path: Path) -> None:
    """Deletes a file and its logs, whether or not they exist.

    Raises:
        OSError: if one cannot be deleted.
    """
    for suffix in ("", "-wal", "-shm", "-journal"):
        files.delete(path.with_name(path.name + suffix))


def refuse_statements(connection: sqlite3.Connection) -> None:
    """Makes SQLite refuse every further statement, without touching the file or its locks."""
    connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)


def damage_error(what: str) -> sqlite3.DatabaseError:
    """Makes the error for damage that SQLite itself does not notice.

    Args:
        what: what is damaged, in a few words without any value.
    """
    error = sqlite3.DatabaseError(what)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def is_damage(error: BaseException) -> bool:
    """Whether an error says that a file is damaged, and not merely busy, full or unreadable."""
    if isinstance(error, UnicodeDecodeError):  # SQLite quoted a damaged schema in its message
        return True
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by the module sqlite3 itself: "Could not decode to UTF-8"
        return isinstance(error, sqlite3.OperationalError)
    return isinstance(code, int) and code & 0xFF in _DAMAGE


def is_full(error: BaseException) -> bool:
    """Whether an error says that the disk, or the file with its size limit, is full."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF == sqlite3.SQLITE_FULL


def _part_from_lost_commits(connection: sqlite3.Connection) -> None:
    """Commits something random, so that no earlier commit can follow what is committed from now on.

    A power failure may take a commit and leave the one after it in the log, where it counts for
    nothing, as its checksum does not continue what is before it. If the lost commit were made again
    with the same bytes, it would continue that, and whoever opened the file next would find the
    second commit in force: a debit without its report.
    """
    number = int.from_bytes(os.urandom(4), "little", signed=True)
    connection.execute(f"PRAGMA application_id = {number}")


def _begin_log(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA user_version = {schema_version(connection)}")
