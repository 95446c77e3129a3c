"""A store in PostgreSQL, which any number of servers share."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from deniable_aggregator.counting.yield_points import without_yielding
from deniable_aggregator.keeping.store.base import (
    Database,
    InboxRow,
    IngestTransaction,
    InUseError,
    OpenElsewhereError,
    RelayGroup,
    Result,
    StoreRefusedError,
    StoreUnavailableError,
    UploadName,
    new_epoch_key,
    parse_url,
    without_password,
)
from deniable_aggregator.keeping.store.schema import revision

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from sqlalchemy.engine import ExceptionContext


CONNECTIONS: Final = 4
"""Of each engine: ingest, other writing, reading, looking up."""

POOL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 5
CREATION_LOCK: Final = 0x64656E6961626C65  # "deniable"
SERIALIZATION_FAILURE: Final = "40001"
DEADLOCK: Final = "40P01"

LOCK_TIMEOUT: Final = "5s"

_USERS_LOCK: Final = "hashtext('users'), to_regnamespace(quote_ident(current_schema()))::oid::int"
"""Shared by all connections to a store, for as long as they last."""

_EXCLUDE_OTHERS: Final = f"SELECT pg_try_advisory_xact_lock({_USERS_LOCK})"
"""Whether there are no other connections, nor will be until the transaction ends."""

# Without these, rows would stay locked for hours after a server's machine vanished.
_CLIENT: Final = {
    "connect_timeout": CONNECT_SECONDS,
    "client_encoding": "utf8",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SESSION: Final = {
    "lock_timeout": LOCK_TIMEOUT,
    "idle_in_transaction_session_timeout": "300s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


class TransientError(StoreUnavailableError):
    """The same transaction may well succeed at once."""


def make_engine(url: URL, **options: Any) -> Engine:
    """SQLAlchemy on up to `CONNECTIONS` connections.

    Raises:
        StoreRefusedError: if the driver is not installed.
    """
    try:
        # Parameters are payloads and hashes: they stay out of messages and logs.
        engine = create_engine(
            url,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=POOL_SECONDS,
            hide_parameters=True,
            connect_args=_CLIENT,
            **options,
        )
    except ModuleNotFoundError as missing:
        raise StoreRefusedError(
            f"PostgreSQL needs {missing.name}: pip install 'deniable[postgresql]'"
        ) from None
    event.listen(engine, "connect", _set_up_session)
    event.listen(engine, "handle_error", _close_cursor)
    return engine


def _set_up_session(connection: Any, _: object) -> None:
    from deniable_aggregator.keeping.store.reading_cursor import ReadingCursor  # needs the driver

    connection.server_cursor_factory = ReadingCursor
    connection.autocommit = True
    for name, value in _SESSION.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
    connection.execute(f"SELECT pg_advisory_lock_shared({_USERS_LOCK})")
    # A 204 survives the end of the database server, whatever its configuration says.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.autocommit = False


def _close_cursor(failure: ExceptionContext) -> None:
    # When the connection is lost, SQLAlchemy leaves the cursor open, which the driver warns about.
    context = failure.execution_context
    if context is not None:
        with suppress(Exception):
            context.cursor.close()


def lock_schema(connection: Connection) -> None:
    """Waits for everybody else who is creating or changing tables, until the transaction ends."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")


@contextmanager
def translate_errors(*, closed: bool) -> Iterator[None]:
    """Raises the driver's errors as errors of the store.

    Args:
        closed: whether the store was closed.

    Raises:
        StoreUnavailableError: for any error of the driver, and if the store was closed.
    """
    if closed:
        raise StoreUnavailableError("the store is closed")
    try:
        yield
    except DBAPIError as error:
        raise unavailable(error) from None
    except PoolTimeoutError:
        raise StoreUnavailableError("too many users of the database at once") from None


def unavailable(error: DBAPIError) -> StoreUnavailableError:
    """The store's error for one of the driver.

    It quotes the first line of the database's message only: the details may hold rows.
    """
    cause: Any = error.orig
    first_line = getattr(getattr(cause, "diag", None), "message_primary", None)
    code = getattr(cause, "sqlstate", None)
    if error.connection_invalidated or code in (SERIALIZATION_FAILURE, DEADLOCK):
        return TransientError(first_line or "the connection to the database was lost")
    # An error without a code is the driver's own: no database was reached that could quote rows.
    message = first_line if code else " ".join(str(cause).split())
    return StoreUnavailableError(message or type(cause).__name__)


_KEYS: Final = "SELECT epoch, key FROM epochs WHERE epoch = ANY(%s::int[]) ORDER BY epoch FOR SHARE"
_OPEN: Final = (
    "INSERT INTO epochs (epoch, key) SELECT * FROM unnest(%s::int[], %b::bytea[]) "
    "ON CONFLICT DO NOTHING"
)
_REMEMBER: Final = (
    "INSERT INTO seen (epoch, hash) SELECT * FROM unnest(%s::int[], %b::bytea[]) "
    "ON CONFLICT DO NOTHING RETURNING epoch, hash"
)
_APPEND: Final = (
    "INSERT INTO inbox (id, digest, epoch, key, payload, largest) SELECT * FROM unnest("
    "%s::bigint[], %b::bytea[], %s::int[], %s::text[], %b::bytea[], %s::bigint[])"
)

_COUNT_RELAYED: Final = (
    "INSERT INTO relayed (digest, epoch, key, relay_key, batch, reports) SELECT * FROM unnest("
    "%b::bytea[], %s::int[], %s::text[], %b::bytea[], %b::bytea[], %s::bigint[]) "
    "ON CONFLICT (digest, epoch, key, relay_key, batch) "
    "DO UPDATE SET reports = relayed.reports + excluded.reports"
)


class PostgresqlIngest(IngestTransaction):
    """A transaction that has begun.

    Args:
        connection: the connection that began it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def epoch_keys(self, days: Collection[int]) -> Mapping[int, bytes | None]:
        """See `IngestTransaction.epoch_keys`."""
        keys_by_day = self._locked_keys(days)
        missing = sorted(days - keys_by_day.keys())
        if missing:
            fresh = [new_epoch_key() for _ in missing]
            self._connection.exec_driver_sql(_OPEN, (missing, fresh))
            # Read them again, as another server may have opened any of these epochs first.
            keys_by_day |= self._locked_keys(missing)
        return keys_by_day

    def _locked_keys(self, days: Collection[int]) -> dict[int, bytes | None]:
        # Shared locks: whoever closes one of these epochs waits for the end of this transaction.
        rows = self._connection.exec_driver_sql(_KEYS, (sorted(days),))
        return {epoch: key for epoch, key in rows}  # noqa: C416  rows are not pairs to mypy

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        """See `IngestTransaction.remember_uploads`."""
        epochs, hashes = zip(*names, strict=True)
        fresh = self._connection.exec_driver_sql(_REMEMBER, (list(epochs), list(hashes)))
        return {(epoch, hash_) for epoch, hash_ in fresh}

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        """See `IngestTransaction.append_rows`."""
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        self._connection.exec_driver_sql(_APPEND, columns)

    def count_relayed(self, groups: Mapping[RelayGroup, int]) -> None:
        """See `IngestTransaction.count_relayed`."""
        # In order, as two servers that count parts of one batch would deadlock otherwise.
        rows = [(*group, groups[group]) for group in sorted(groups)]
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        self._connection.exec_driver_sql(_COUNT_RELAYED, columns)


ATTEMPTS: Final = 3
PURGE_LOCK_MS: Final = 200
_ARCHIVE_LOCK: Final = "hashtext(:purpose), 'archive'::regclass::oid::int"
_REVISION: Final = f"SELECT version_num FROM {revision.name}"  # noqa: S608  a constant
_FILE_OF_EPOCHS: Final = "SELECT pg_relation_filenode('epochs'::regclass)"


class PostgresqlDatabase(Database):
    """An open PostgreSQL database, or a schema of one that ``search_path`` names.

    Ingest, other writing, reading and looking up have connections of their own, so that none of
    them waits for another's. A lost connection is made again.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; libpq's environment variables may
            take the place of any part.
        prepare: checks or changes the tables, see `open_database`.
        alone: see `open_database`.

    Raises:
        StoreRefusedError: if it is not a store of this version, or the driver is missing.
        StoreUnavailableError: if the database cannot be reached, or another program has it open
            that is wanted `alone`.
    """

    locks_rows = True

    def __init__(
        self, url: str, prepare: Callable[[Connection, str], None], *, alone: bool = False
    ) -> None:
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
        self._revision: str | None = None
        for engine in self._engines():
            event.listen(engine, "connect", self._check_revision)
        try:
            with self.write() as connection:
                lock_schema(connection)
                if alone and not connection.exec_driver_sql(_EXCLUDE_OTHERS).scalar_one():
                    raise OpenElsewhereError
                prepare(connection, self.name)
                if inspect(connection).has_table(revision.name):
                    self._revision = connection.exec_driver_sql(_REVISION).scalar()
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
        with without_yielding(), self._transaction(self._reading) as connection:
            yield connection

    @contextmanager
    def look_up(self) -> Iterator[Connection]:
        """See `Database.look_up`."""
        with without_yielding(), self._transaction(self._lookups) as connection:
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

    def empty_log(self) -> None:
        """See `Database.empty_log`: PostgreSQL's log is its operator's."""

    def shrink(self, most_bytes: int) -> bool:  # noqa: ARG002
        """See `Database.shrink`: PostgreSQL's autovacuum sees to it."""
        return False

    def vacuum_ids(self) -> None:
        """See `Database.vacuum_ids`."""
        with translate_errors(closed=self._closed), self._writing.connect() as connection:
            vacuuming = connection.execution_options(isolation_level="AUTOCOMMIT")
            vacuuming.exec_driver_sql("VACUUM seen")

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
        for engine in self._engines():
            engine.dispose()

    def _engines(self) -> tuple[Engine, ...]:
        return self._ingesting, self._writing, self._reading, self._lookups

    def _check_revision(self, connection: Any, _: object) -> None:
        """Refuses a connection to a store that was migrated while there was none."""
        if self._revision is None:
            return
        (found,) = connection.execute(_REVISION).fetchone()
        connection.rollback()
        if found != self._revision:
            connection.close()
            raise StoreUnavailableError(
                f"the store was migrated to schema {found} meanwhile: start the version that did it"
            )

    def _ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        with self._transaction(self._ingesting) as connection:
            return work(PostgresqlIngest(connection))

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        with translate_errors(closed=self._closed), engine.begin() as connection:
            yield connection
