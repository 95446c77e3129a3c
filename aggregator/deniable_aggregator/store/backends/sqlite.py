"""A store in an SQLite file: one connection that writes, several that only read."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from deniable_aggregator.store.backends.base import Database
from deniable_aggregator.store.backends.sqlite_connections import (
    BEGIN_WRITING,
    BUSY_TIMEOUT_MS,
    is_temporary,
    reading_engine,
    set_pragmas,
    translate_errors,
    writing_connection,
    writing_engine,
)
from deniable_aggregator.store.backends.sqlite_files import StoreFiles
from deniable_aggregator.store.backends.sqlite_ingest import SqliteIngest
from deniable_aggregator.store.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import IngestTransaction, Result

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

    Raises:
        StoreRefusedError: if the file is not a store of this version, or is damaged.
        StoreUnavailableError: if another program keeps it locked, or the disk is full or fails.
    """

    locks_rows = False

    def __init__(self, path: Path, prepare: Callable[[Connection, str], None]) -> None:
        self.name = str(path)
        self._lock = threading.Lock()
        self._files = StoreFiles(path)
        self._driver = writing_connection(path)
        self._writer = writing_engine(self._driver)
        self._readers, self._lookups = (reading_engine(path) for _ in range(2))
        try:
            with translate_errors():
                set_pragmas(self._driver)
            with self.write() as connection:
                prepare(connection, self.name)
            with self._locked(), translate_errors():
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
        """See `Database.write`."""
        with self._lock, self._locked(), translate_errors(), self._writer.begin() as connection:
            yield connection
            self._files.check_identity()

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
        return result

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `Database.read`."""
        self._check_open()
        with translate_errors(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def look_up(self) -> Iterator[Connection]:
        """See `Database.look_up`."""
        self._check_open()
        with translate_errors(), self._lookups.begin() as connection:
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
            # It gives a row for every page, and stops where nobody fetches them.
            self._driver.execute(f"PRAGMA incremental_vacuum({given_back})").fetchall()
            free_now: int = self._driver.execute("PRAGMA freelist_count").fetchone()[0]
        return bool(free_now < free)

    def alone(self, purpose: str) -> AbstractContextManager[None]:
        """See `Database.alone`."""
        return self._files.alone(purpose)

    def purge(self) -> None:
        """Copies the write-ahead log into the file and truncates it, so that deleted bytes go too.

        Raises:
            StoreUnavailableError: if somebody is reading what the log holds; try again later.
        """
        with self._lock, self._locked(), translate_errors():
            # Not through SQLAlchemy, which would begin a transaction, in which SQLite refuses this.
            # It does not wait for readers either, as ingest waits for it.
            self._driver.execute("PRAGMA busy_timeout = 0")
            try:
                (busy, *_) = self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        if busy:
            raise StoreUnavailableError("deleted ids stay in the log while somebody reads")

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
