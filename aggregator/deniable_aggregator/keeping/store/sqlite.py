"""A store in an SQLite file: one connection that writes, several that only read."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, Pool, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool, StaticPool

from deniable_aggregator.counting.yield_points import without_yielding
from deniable_aggregator.keeping.store.base import (
    BeingReadError,
    Database,
    InboxRow,
    IngestTransaction,
    OpenElsewhereError,
    RelayGroup,
    Result,
    StoreRefusedError,
    StoreUnavailableError,
    UploadName,
    in_chunks,
    new_epoch_key,
)
from deniable_aggregator.keeping.store.schema import REVISION
from deniable_aggregator.keeping.store.sqlite_files import Logged, StoreFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path


BEGIN_WRITING: Final = "BEGIN IMMEDIATE"
BUSY_TIMEOUT_MS: Final = 5_000
READERS: Final = 4
LOG_COMMITS: Final = 64
LOG_SECONDS: Final = 45.0
"""The log shows in which order commits came, so it is emptied after so many, or so long: with the
pause between two looks, 60 seconds. That costs a sync of each of the two files."""

MOST_REWRITTEN: Final = 4_000
MOST_REWRITTEN_BYTES: Final = 2 << 20
"""Before the log is emptied, up to so many waiting rows, or bytes of reports in them, are written
anew, as a page has its rows in the order in which they came. Where more wait, a fold is due, and
each commit has many reports."""

BUSY_LOG_SECONDS: Final = 1.0
"""If somebody reads what the log holds, emptying it is tried again after so long."""

CHECKPOINT_PAGES: Final = 4_000
"""SQLite copies its log into the file at 16 MiB, four times its default, which saves syncs."""

CACHE_KIB: Final = 64 << 10
"""Upload ids are hashes, so each of them lands on another page."""

LOG_LIMIT_BYTES: Final = 64 << 20

_TEMPORARY_CODES: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
_PRIMARY_CODE: Final = 0xFF
"""The bits of an extended error code that say of which kind the error is."""


def writing_connection(path: Path) -> sqlite3.Connection:
    """The connection that writes. It may be used by one thread at a time."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False)


def set_pragmas(connection: sqlite3.Connection) -> None:
    """Sets how a connection writes, and of an empty file that it can shrink."""
    if not connection.execute("PRAGMA page_count").fetchone()[0]:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "synchronous = FULL",  # a 204 survives power loss, not only kill -9
        "secure_delete = FAST",  # a deleted epoch key is overwritten
        f"cache_size = -{CACHE_KIB}",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"journal_size_limit = {LOG_LIMIT_BYTES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def writing_engine(connection: sqlite3.Connection) -> Engine:
    """SQLAlchemy on the connection that writes."""
    return _engine(lambda: connection, BEGIN_WRITING, StaticPool)


def reading_engine(path: Path, how: str = "mode=ro") -> Engine:
    """SQLAlchemy on up to `READERS` connections that only read.

    Args:
        how: the parameters of SQLite's address of the file.
    """
    url = f"{path.absolute().as_uri()}?{how}"
    return _engine(
        lambda: sqlite3.connect(
            url,
            uri=True,
            timeout=BUSY_TIMEOUT_MS / 1_000,
            isolation_level=None,  # _engine begins transactions
            check_same_thread=False,
        ),
        "BEGIN",
        QueuePool,
        pool_size=READERS,
        max_overflow=0,
    )


def _engine(
    creator: Callable[[], sqlite3.Connection], begin: str, pool: type[Pool], **options: Any
) -> Engine:
    # Parameters are payloads and hashes: they stay out of messages and logs.
    engine = create_engine(
        "sqlite://", creator=creator, poolclass=pool, hide_parameters=True, **options
    )

    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "begin", begin_transaction)
    return engine


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raises the driver's errors as errors of the store.

    Their words are the driver's ("database or disk is full"), which never quote parameters.

    Raises:
        StoreUnavailableError: for any error of SQLite or SQLAlchemy.
    """
    try:
        yield
    except DBAPIError as error:
        raise StoreUnavailableError(str(error.orig)) from error
    except PoolTimeoutError as error:
        raise StoreUnavailableError("too many readers at once") from error
    except sqlite3.Error as error:
        raise StoreUnavailableError(str(error)) from error


def is_temporary(error: StoreUnavailableError) -> bool:
    """Whether a failure says nothing against the file: a lock, a full disk, an I/O error."""
    driver: Any = error.__cause__
    code = getattr(getattr(driver, "orig", driver), "sqlite_errorcode", 0)
    return code & _PRIMARY_CODE in _TEMPORARY_CODES


_KEYS: Final = "SELECT epoch, key FROM epochs WHERE epoch BETWEEN ? AND ?"
_OPEN: Final = "INSERT INTO epochs (epoch, key) VALUES (?, ?)"
_REMEMBER: Final = "INSERT INTO seen (epoch, hash) VALUES %s ON CONFLICT DO NOTHING"
_FIND: Final = "SELECT 1 FROM seen WHERE epoch = ? AND hash = ?"
_APPEND: Final = (
    "INSERT INTO inbox (id, digest, epoch, key, payload, largest) VALUES (?, ?, ?, ?, ?, ?)"
)
_COUNT_RELAYED: Final = (
    "INSERT INTO relayed (digest, epoch, key, relay_key, batch, reports) "
    "VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET reports = relayed.reports + excluded.reports"
)

_WAITING: Final = (
    "SELECT id, digest, epoch, key, payload, largest FROM inbox WHERE gathered IS NULL "
    "ORDER BY id LIMIT ?"
)
_PAYLOAD: Final = 4
"""The place of the payload in such a row."""

_IS_OURS: Final = "SELECT 1 FROM alembic_version WHERE version_num = ?"
_TAKE: Final = "DELETE FROM inbox WHERE gathered IS NULL"


class SqliteIngest(IngestTransaction):
    """A transaction that has begun.

    Args:
        cursor: the cursor that began it.
    """

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def epoch_keys(self, days: Collection[int]) -> Mapping[int, bytes | None]:
        """See `IngestTransaction.epoch_keys`."""
        rows = self._cursor.execute(_KEYS, (min(days), max(days)))
        keys: dict[int, bytes | None] = {row[0]: row[1] for row in rows}
        for epoch in days - keys.keys():
            keys[epoch] = new_epoch_key()
            self._cursor.execute(_OPEN, (epoch, keys[epoch]))
        return keys

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        """See `IngestTransaction.remember_uploads`."""
        # Nearly always all uploads are new, which one statement finds out. With a statement for
        # each, this thread would wait after every one for other threads that run Python.
        self._cursor.execute("SAVEPOINT remembering")
        if sum(self._remember(chunk) for chunk in in_chunks(names)) == len(names):
            return set(names)
        self._cursor.execute("ROLLBACK TO remembering")
        fresh = {name for name in names if not self._cursor.execute(_FIND, name).fetchone()}
        for chunk in in_chunks(sorted(fresh)):
            self._remember(chunk)
        return fresh

    def _remember(self, names: Sequence[UploadName]) -> int:
        """Inserts upload names; returns how many were not there."""
        places = ", ".join(["(?, ?)"] * len(names))
        return self._cursor.execute(_REMEMBER % places, [*chain.from_iterable(names)]).rowcount

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        """See `IngestTransaction.append_rows`."""
        self._cursor.executemany(_APPEND, rows)

    def count_relayed(self, groups: Mapping[RelayGroup, int]) -> None:
        """See `IngestTransaction.count_relayed`."""
        self._cursor.executemany(_COUNT_RELAYED, [(*group, groups[group]) for group in groups])


def _is_old(logged: Logged, now: float) -> bool:
    return logged.commits > 0 and not 0 <= now - logged.since < LOG_SECONDS


FREE_PART: Final = 8
"""At most one in so many pages stays free, for the next writes."""

LEAST_SURPLUS_PAGES: Final = 64
"""Fewer free pages than so many beyond that are not worth giving back."""


class SqliteDatabase(Database):
    """An open store file.

    Writing goes through one connection behind a lock, and every write transaction also holds a
    lock on a side file. The second lock is there because SQLite before 3.51.3 can lose a
    transaction when two connections write and checkpoint a WAL at the same moment (the WAL-reset
    race; Debian 12 ships 3.40.1). Commits checkpoint, so they happen under both locks.

    Args:
        path: the file; created, readable by its owner only, if absent.
        prepare: checks or changes the tables, see `open_database`.
        alone: see `open_database`.

    Raises:
        StoreRefusedError: if the file is not a store of this version, or is damaged.
        StoreUnavailableError: if another program keeps it locked, or the disk is full or fails.
    """

    locks_rows = False

    def __init__(
        self, path: Path, prepare: Callable[[Connection, str], None], *, alone: bool = False
    ) -> None:
        self.name = str(path)
        self._lock = threading.Lock()
        self._files = StoreFiles(path)
        self._driver = writing_connection(path)
        self._writer = writing_engine(self._driver)
        self._try_log_at = 0.0
        self._opened = False
        self._readers, self._lookups = (reading_engine(path) for _ in range(2))
        try:
            with translate_errors():
                set_pragmas(self._driver)
            if alone:
                self._exclude_others()
            with self.write() as connection:
                prepare(connection, self.name)
            with self._locked(), translate_errors():
                self._driver.execute("PRAGMA locking_mode = NORMAL")
                # Only once `prepare` has found a store: this is written into the file.
                self._driver.execute("PRAGMA journal_mode = WAL")
            with self.write():
                self._files.remember_identity()  # SQLite has made the log with this transaction
        except StoreUnavailableError as error:
            if is_temporary(error):
                self._close()
                raise StoreUnavailableError(f"{path}: cannot be opened now: {error}") from error
            self._close(refused=True)
            raise StoreRefusedError(
                f"{path}: is not a Deniable store, or is damaged ({error}). "
                "Restore it from a backup; without one, deniable store salvage copies what can be "
                "read. Or name a new file to start afresh."
            ) from error
        except StoreRefusedError:
            self._close(refused=True)
            raise
        except BaseException:
            self._close()
            raise
        self._opened = True

    def _exclude_others(self) -> None:
        """Locks the file for this connection alone, until its locking mode is the normal one.

        Whoever has it open holds a lock on it, as its log could not be left else.

        Raises:
            OpenElsewhereError: if anybody has it open.
        """
        with self._locked(), translate_errors():
            self._driver.execute("PRAGMA busy_timeout = 0")  # all commits wait meanwhile
            self._driver.execute("PRAGMA locking_mode = EXCLUSIVE")
            try:
                self._driver.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & _PRIMARY_CODE == sqlite3.SQLITE_BUSY:
                    raise OpenElsewhereError from error
                raise
            self._driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """See `Database.write`."""
        with self._lock, self._locked(), translate_errors():
            with self._writer.begin() as connection:
                yield connection
                self._files.check_identity()
            self._note_commit()

    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """See `Database.ingest`.

        It works on the driver's own cursor: SQLAlchemy's share of a small commit was measured at an
        eighth of what an upload costs.
        """
        with self._lock, self._locked(), translate_errors():
            cursor = self._driver.execute(BEGIN_WRITING)
            try:
                result = work(SqliteIngest(cursor))
                self._files.check_identity()
                self._driver.commit()
            except BaseException:
                self._driver.rollback()
                raise
            finally:
                cursor.close()
            self._note_commit()
        return result

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `Database.read`."""
        self._check_open()
        with without_yielding(), translate_errors(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def look_up(self) -> Iterator[Connection]:
        """See `Database.look_up`."""
        self._check_open()
        with without_yielding(), translate_errors(), self._lookups.begin() as connection:
            yield connection

    def shrink(self, most_bytes: int) -> bool:
        """See `Database.shrink`. Pages from the end of the file take the place of free ones."""
        with self._lock, self._locked(), translate_errors():
            pages, free, size = (
                self._driver.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count", "page_size")
            )
            surplus = free - pages // FREE_PART
            if surplus < LEAST_SURPLUS_PAGES:
                return False
            given_back = min(surplus, max(1, most_bytes // size))
            # It is done after one page for `execute`, which sees rows without columns.
            self._driver.executescript(f"PRAGMA incremental_vacuum({given_back})")
            free_now: int = self._driver.execute("PRAGMA freelist_count").fetchone()[0]
        return bool(free_now < free)

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        """See `Database.alone`."""
        return self._files.alone(purpose)

    def purge(self) -> None:
        """Copies the write-ahead log into the file and truncates it, so that deleted bytes go too.

        Raises:
            BeingReadError: if somebody is reading what the log holds; try again later.
        """
        with self._lock, self._locked(), translate_errors():
            emptied = self._truncate_log()
        if not emptied:
            raise BeingReadError

    def empty_log(self) -> None:
        """See `Database.empty_log`.

        Raises:
            BeingReadError: if somebody is reading what the log holds; try again later.
        """
        with self._lock, self._locked(), translate_errors():
            logged = self._files.logged()
            emptied = not _is_old(logged, time.monotonic()) or self._truncate_log()
        if not emptied:
            raise BeingReadError

    def _note_commit(self) -> None:
        """Empties the log if it holds enough commits, or old ones."""
        now = time.monotonic()
        commits, since = self._files.logged()
        # The clock begins anew when the machine does.
        logged = Logged(commits + 1, since if commits and since <= now else now)
        self._files.remember_logged(logged)
        if (logged.commits >= LOG_COMMITS or _is_old(logged, now)) and now >= self._try_log_at:
            # What was committed is durable, whether or not this succeeds.
            with suppress(sqlite3.Error):
                if not self._truncate_log():
                    self._try_log_at = now + BUSY_LOG_SECONDS

    def _forget_order(self) -> None:
        """Writes the rows of the inbox anew, in the order of their random ids.

        A page of SQLite's file has its rows in the order in which they came, whatever their ids
        are, so the file would tell in which order reports came. Rows of a store of another version,
        which may have columns that this one does not know, are left as they are.
        """
        if self._driver.execute(_IS_OURS, (REVISION,)).fetchone() is None:
            return
        rows, size = [], 0
        for row in self._driver.execute(_WAITING, (MOST_REWRITTEN + 1,)):
            rows.append(row)
            size += len(row[_PAYLOAD])
            if size > MOST_REWRITTEN_BYTES:
                return
        if not 1 < len(rows) <= MOST_REWRITTEN:
            return
        # Pages that become free have the old order: they are overwritten, too.
        self._driver.execute("PRAGMA secure_delete = ON")
        try:
            self._driver.execute(BEGIN_WRITING)
            try:
                self._driver.execute(_TAKE)
                self._driver.executemany(_APPEND, rows)
                self._driver.commit()
            except BaseException:
                self._driver.rollback()
                raise
        finally:
            self._driver.execute("PRAGMA secure_delete = FAST")

    def _truncate_log(self) -> bool:
        """Copies the log into the file and truncates it. Returns False if somebody reads it."""
        self._forget_order()
        # Not through SQLAlchemy, which would begin a transaction, in which SQLite refuses this.
        # It does not wait for readers either, as ingest waits for it.
        self._driver.execute("PRAGMA busy_timeout = 0")
        try:
            (busy, *_) = self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            self._driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        if not busy:
            self._files.remember_logged(Logged(0, 0.0))
        return not busy

    def close(self) -> None:
        """See `Database.close`."""
        self._close()

    def _close(self, *, refused: bool = False) -> None:
        with self._lock:
            if self._files.closed:
                return
            with self._locked():  # whoever closes a file last checkpoints it
                self._readers.dispose()
                self._lookups.dispose()
                if self._opened:
                    with suppress(sqlite3.Error):
                        self._forget_order()
                self._writer.dispose()
                self._driver.close()  # the engine never used it if opening failed early
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
