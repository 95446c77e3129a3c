"""A store in PostgreSQL, which any number of servers share."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from deniable_aggregator.store.backends.base import Database
from deniable_aggregator.store.backends.postgresql_connections import (
    LOCK_TIMEOUT,
    TransientError,
    lock_schema,
    make_engine,
    translate_errors,
)
from deniable_aggregator.store.backends.postgresql_ingest import PostgresqlIngest
from deniable_aggregator.store.backends.urls import parse_url, without_password
from deniable_aggregator.store.errors import InUseError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine

    from deniable_aggregator.store.backends.base import IngestTransaction, Result

ATTEMPTS: Final = 3
PURGE_LOCK_MS: Final = 200
_ARCHIVE_LOCK: Final = "hashtext(:purpose), 'archive'::regclass::oid::int"
_FILE_OF_EPOCHS: Final = "SELECT pg_relation_filenode('epochs'::regclass)"


class PostgresqlDatabase(Database):
    """An open PostgreSQL database, or a schema of one that ``search_path`` names.

    Ingest, other writing, reading and looking up have connections of their own, so that none of
    them waits for another's. A lost connection is made again.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; libpq's environment variables may
            take the place of any part.
        prepare: checks or changes the tables, see `open_database`.

    Raises:
        StoreRefusedError: if it is not a store of this version, or the driver is missing.
        StoreUnavailableError: if the database cannot be reached.
    """

    locks_rows = True

    def __init__(self, url: str, prepare: Callable[[Connection, str], None]) -> None:
        self.url = parse_url(url)
        self.name = without_password(self.url)
        self._ingesting = make_engine(self.url, isolation_level="READ COMMITTED")
        self._writing = make_engine(self.url, isolation_level="READ COMMITTED", pool_pre_ping=True)
        self._reading, self._lookups = (
            make_engine(
                self.url,
                isolation_level="REPEATABLE READ",
                pool_pre_ping=True,
                execution_options={"postgresql_readonly": True},
            )
            for _ in range(2)
        )
        self._closed = False
        try:
            with self.write() as connection:
                lock_schema(connection)
                prepare(connection, self.name)
        except StoreUnavailableError as error:
            self.close()
            raise StoreUnavailableError(f"{self.name}: {error}") from error
        except BaseException:
            self.close()
            raise

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """See `Database.write`."""
        with self._transaction(self._writing) as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `Database.read`."""
        with self._transaction(self._reading) as connection:
            yield connection

    @contextmanager
    def look_up(self) -> Iterator[Connection]:
        """See `Database.look_up`."""
        with self._transaction(self._lookups) as connection:
            yield connection

    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """See `Database.ingest`.

        After a deadlock, or when the connection turns out to be lost, the work is done again. If
        the first transaction was committed all the same, its uploads are duplicates then, which
        are acknowledged too.
        """
        for _ in range(ATTEMPTS - 1):
            try:
                return self._ingest(work)
            except TransientError:
                continue
        return self._ingest(work)

    def purge(self) -> None:
        """Writes the table of epoch keys anew, without the dead rows that still hold deleted keys.

        The write-ahead log, and its archive, remain for the operator to expire.

        Raises:
            StoreUnavailableError: if somebody reads the table, such as a running dump, or if the
                role does not own it; try later.
        """
        with translate_errors(closed=self._closed), self._writing.connect() as connection:
            vacuuming = connection.execution_options(isolation_level="AUTOCOMMIT")
            # A short wait, as ingest queues up behind whoever waits for this lock.
            vacuuming.exec_driver_sql(f"SET lock_timeout = {PURGE_LOCK_MS}")
            try:
                before = vacuuming.exec_driver_sql(_FILE_OF_EPOCHS).scalar_one()
                vacuuming.exec_driver_sql("VACUUM (FULL) epochs")
                # PostgreSQL only warns a role that may not do this, so look at the file.
                if vacuuming.exec_driver_sql(_FILE_OF_EPOCHS).scalar_one() == before:
                    raise StoreUnavailableError(
                        "deleted keys of days stay in the table epochs: let this role own it"
                    )
            finally:
                # On a lost connection this would fail and hide the error that is under way.
                if not vacuuming.invalidated:
                    vacuuming.exec_driver_sql(f"SET lock_timeout = '{LOCK_TIMEOUT}'")

    def shrink(self, most_bytes: int) -> bool:  # noqa: ARG002
        """See `Database.shrink`: PostgreSQL's autovacuum sees to it."""
        return False

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        """See `Database.alone`."""
        with translate_errors(closed=self._closed), self._writing.connect() as connection:
            locking = connection.execution_options(isolation_level="AUTOCOMMIT")
            name = {"purpose": purpose}
            if not locking.execute(
                text(f"SELECT pg_try_advisory_lock({_ARCHIVE_LOCK})"), name
            ).scalar_one():
                raise InUseError(purpose)
            try:
                yield
            finally:
                if not locking.invalidated:
                    locking.execute(text(f"SELECT pg_advisory_unlock({_ARCHIVE_LOCK})"), name)

    def close(self) -> None:
        """See `Database.close`."""
        self._closed = True
        for engine in (self._ingesting, self._writing, self._reading, self._lookups):
            engine.dispose()

    def _ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        with self._transaction(self._ingesting) as connection:
            return work(PostgresqlIngest(connection))

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        with translate_errors(closed=self._closed), engine.begin() as connection:
            yield connection
