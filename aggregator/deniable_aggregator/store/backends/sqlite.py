"""A store in an SQLite file: one connection that writes, several that only read."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool, StaticPool

from deniable_aggregator.store.backends.base import Database, IngestTransaction, new_epoch_key
from deniable_aggregator.store.backends.sqlite_files import StoreFiles
from deniable_aggregator.store.chunks import in_chunks
from deniable_aggregator.store.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine, Pool

    from deniable_aggregator.store.backends.base import InboxRow, Result, UploadName

BEGIN_WRITING: Final = "BEGIN IMMEDIATE"
BUSY_TIMEOUT_MS: Final = 5_000
READERS: Final = 4
CHECKPOINT_PAGES: Final = 4_000
"""The log is copied into the file at 16 MiB, four times SQLite's default: fewer syncs."""

CACHE_KIB: Final = 64 << 10
"""Upload ids are hashes, so every one of them lands on another page."""

LOG_LIMIT_BYTES: Final = 64 << 20


class SqliteDatabase(Database):
    """An open store file.

    Writing goes through one connection behind a lock, and every write transaction also holds a
    lock on a side file. The second lock is there because SQLite before 3.51.3 can lose a
    transaction when two connections write and checkpoint a WAL at the same moment (the WAL-reset
    race; Debian 12 ships 3.40.1). Commits checkpoint, so they happen under both locks.

    Args:
        path: the file; created, readable by its owner only, if absent.
        prepare: checks or changes the tables, see `open_database`.

    Raises:
        StoreRefusedError: if the file is not a store of this version, or is damaged.
        StoreUnavailableError: if another program keeps it locked, or the disk is full or fails.
    """

    locks_rows = False

    def __init__(self, path: Path, prepare: Callable[[Connection, str], None]) -> None:
        self.name = str(path)
        self._lock = threading.Lock()
        self._files = StoreFiles(path)
        self._driver = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._writer = _engine(lambda: self._driver, StaticPool)
        self._readers, self._lookups = (_reading_engine(path) for _ in range(2))
        try:
            with _translate_errors():
                _prepare(self._driver)
            with self.write() as connection:
                prepare(connection, self.name)
            with self._locked(), _translate_errors():
                # Not before, as it is written into the file, which may be another program's.
                self._driver.execute("PRAGMA journal_mode = WAL")
            with self.write():
                self._files.remember_identity()  # the log is there with the first transaction
        except StoreUnavailableError as error:
            if _is_temporary(error):
                self._close()
                raise StoreUnavailableError(f"{path}: cannot be opened now: {error}") from error
            self._close(refused=True)
            raise StoreRefusedError(
                f"{path}: is not a Deniable store, or is damaged ({error}). "
                "Restore it from a backup, or name a new file to start afresh."
            ) from error
        except StoreRefusedError:
            self._close(refused=True)
            raise
        except BaseException:
            self._close()
            raise

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction that is durable when the block ends, and undone when it raises.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """
        with self._lock, self._locked(), _translate_errors(), self._writer.begin() as connection:
            yield connection
            self._files.check_identity()

    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """Does the work of ingest in one transaction, on the driver's own cursor.

        SQLAlchemy's share of a small commit was measured at an eighth of all that an upload costs.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """
        with self._lock, self._locked(), _translate_errors():
            cursor = self._driver.execute(BEGIN_WRITING)
            try:
                answer = work(_SqliteIngest(cursor))
                self._files.check_identity()
                self._driver.commit()
            except BaseException:
                self._driver.rollback()
                raise
            finally:
                cursor.close()
        return answer

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view of what is committed; it neither blocks writers nor waits for them.

        Raises:
            StoreUnavailableError: if the file cannot be read.
        """
        self._check_open()
        with _translate_errors(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def look_up(self) -> Iterator[Connection]:
        """As `read`, for the little that requests wait for: never behind those who read much.

        Raises:
            StoreUnavailableError: if the file cannot be read.
        """
        self._check_open()
        with _translate_errors(), self._lookups.begin() as connection:
            yield connection

    def purge(self) -> None:
        """Copies the write-ahead log into the file and truncates it: deleted bytes go too.

        Raises:
            StoreUnavailableError: if somebody is reading what the log holds; try again later.
        """
        with self._lock, self._locked(), _translate_errors():
            # Not through SQLAlchemy, which would begin a transaction: that forbids it. Nor with
            # patience: ingest waits for this.
            self._driver.execute("PRAGMA busy_timeout = 0")
            try:
                (reading, *_) = self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        if reading:
            raise StoreUnavailableError("deleted ids stay in the log while somebody reads")

    def close(self) -> None:
        """Closes all connections. The last one to close a file checkpoints it: hence the locks."""
        self._close()

    def _close(self, *, refused: bool = False) -> None:
        with self._lock:
            if self._files.closed:
                return
            with self._locked():
                self._readers.dispose()
                self._lookups.dispose()
                self._writer.dispose()
                self._driver.close()  # the engine has not met it if opening failed early
                if refused:
                    self._files.discard()
            self._files.close()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._check_open()
        with self._files.locked():
            yield

    def _check_open(self) -> None:
        if self._files.closed:
            raise StoreUnavailableError("the store is closed")


class _SqliteIngest(IngestTransaction):
    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def epoch_keys(self, wanted: Collection[int]) -> Mapping[int, bytes | None]:
        between = (min(wanted), max(wanted))
        found = self._cursor.execute(
            "SELECT epoch, key FROM epochs WHERE epoch BETWEEN ? AND ?", between
        )
        keys: dict[int, bytes | None] = {row[0]: row[1] for row in found}
        for epoch in wanted - keys.keys():
            keys[epoch] = new_epoch_key()
            self._cursor.execute(
                "INSERT INTO epochs (epoch, key) VALUES (?, ?)", (epoch, keys[epoch])
            )
        return keys

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        # Nearly always all of them are new, which few statements find out: after every single one,
        # this thread would have to wait for others that run Python.
        self._cursor.execute("SAVEPOINT remembering")
        if sum(self._remember(some) for some in in_chunks(names)) == len(names):
            return set(names)
        self._cursor.execute("ROLLBACK TO remembering")
        fresh = {name for name in names if not self._cursor.execute(_RECOGNISE, name).fetchone()}
        for some in in_chunks(sorted(fresh)):
            self._remember(some)
        return fresh

    def _remember(self, names: Sequence[UploadName]) -> int:
        return self._cursor.execute(
            _REMEMBER % ", ".join(["(?, ?)"] * len(names)), [*chain.from_iterable(names)]
        ).rowcount

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        self._cursor.executemany(
            "INSERT INTO inbox (id, digest, epoch, key, payload) VALUES (?, ?, ?, ?, ?)", rows
        )


_TEMPORARY_CODES: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_PRIMARY_CODE: Final = 0xFF
"""The part of an error's code that says of which kind it is."""

_REMEMBER: Final = "INSERT INTO seen (epoch, hash) VALUES %s ON CONFLICT DO NOTHING"
_RECOGNISE: Final = "SELECT 1 FROM seen WHERE epoch = ? AND hash = ?"


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    # The driver's own words ("database or disk is full"); they never quote parameters.
    except DBAPIError as error:
        raise StoreUnavailableError(str(error.orig)) from error
    except PoolTimeoutError as error:
        raise StoreUnavailableError("too many readers at once") from error
    except sqlite3.Error as error:
        raise StoreUnavailableError(str(error)) from error


def _is_temporary(error: StoreUnavailableError) -> bool:
    """Whether a failure says nothing about the file: no backup is to take its place."""
    driver: Any = error.__cause__
    code = getattr(getattr(driver, "orig", driver), "sqlite_errorcode", 0)
    return code & _PRIMARY_CODE in _TEMPORARY_CODES


def _engine(creator: Callable[[], sqlite3.Connection], pool: type[Pool], **options: Any) -> Engine:
    # Parameters are payloads and hashes: they stay out of messages and logs.
    engine = create_engine(
        "sqlite://", creator=creator, poolclass=pool, hide_parameters=True, **options
    )
    event.listen(engine, "begin", _begin)
    return engine


def _reading_engine(path: Path) -> Engine:
    url = f"{path.absolute().as_uri()}?mode=ro"
    return _engine(
        lambda: sqlite3.connect(
            url,
            uri=True,
            timeout=BUSY_TIMEOUT_MS / 1_000,
            isolation_level=None,  # transactions begin where _begin says
            check_same_thread=False,
        ),
        QueuePool,
        pool_size=READERS,
        max_overflow=0,
    )


def _prepare(connection: sqlite3.Connection) -> None:
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "synchronous = FULL",  # a 204 survives power loss, not only kill -9
        "secure_delete = FAST",  # a deleted epoch key is overwritten
        f"cache_size = -{CACHE_KIB}",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"journal_size_limit = {LOG_LIMIT_BYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    reading = isinstance(connection.engine.pool, QueuePool)
    connection.exec_driver_sql("BEGIN" if reading else BEGIN_WRITING)
