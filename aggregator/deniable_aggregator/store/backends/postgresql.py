"""A store in PostgreSQL, shared by as many servers as there are."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from deniable_aggregator.store.backends.base import Database, IngestTransaction, new_epoch_key
from deniable_aggregator.store.backends.urls import parse_url, without_password
from deniable_aggregator.store.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.engine import ExceptionContext

    from deniable_aggregator.store.backends.base import InboxRow, Result, UploadName

CONNECTIONS: Final = 4
"""Of each kind: ingest, other writing, reading, looking up."""

ATTEMPTS: Final = 3
POOL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 5
PURGE_PATIENCE_MS: Final = 200
CREATION_LOCK: Final = 0x64656E6961626C65  # "deniable"
SERIALIZATION_FAILURE: Final = "40001"
DEADLOCK: Final = "40P01"

# Without these, rows would stay locked for hours when a server's machine vanishes.
_CLIENT: Final = {
    "connect_timeout": CONNECT_SECONDS,
    "client_encoding": "utf8",
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SESSION: Final = {
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "300s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}


class PostgresqlDatabase(Database):
    """An open PostgreSQL database, or a schema of one that ``search_path`` names.

    Ingest, other writing, reading and looking up have connections of their own, so that none of
    them waits for another's. A lost connection is made again.

    Args:
        url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``; what libpq takes from its
            environment may be left out.
        prepare: checks or changes the tables, see `open_database`.

    Raises:
        StoreRefusedError: if it is not a store of this version, or the driver is missing.
        StoreUnavailableError: if the database cannot be reached.
    """

    locks_rows = True

    def __init__(self, url: str, prepare: Callable[[Connection, str], None]) -> None:
        parsed = parse_url(url)
        self.url = parsed
        self.name = without_password(parsed)
        self._ingesting = _engine(parsed, isolation_level="READ COMMITTED")
        self._writing = _engine(parsed, isolation_level="READ COMMITTED", pool_pre_ping=True)
        self._reading, self._lookups = (
            _engine(
                parsed,
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
        """One transaction that is durable when the block ends, and undone when it raises.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """
        with self._transaction(self._writing) as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view of what is committed; it neither blocks writers nor waits for them.

        Raises:
            StoreUnavailableError: if the database cannot be read.
        """
        with self._transaction(self._reading) as connection:
            yield connection

    @contextmanager
    def look_up(self) -> Iterator[Connection]:
        """As `read`, for the little that requests wait for: never behind those who read much.

        Raises:
            StoreUnavailableError: if the database cannot be read.
        """
        with self._transaction(self._lookups) as connection:
            yield connection

    def ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        """Does the work of ingest in one transaction.

        A deadlock, or a connection that turns out to be lost, is no reason to refuse: the work is
        done again. If the first transaction was committed all the same, its uploads are
        recognised as duplicates, which are acknowledged too.

        Raises:
            StoreUnavailableError: if the transaction could not be begun, carried out or committed.
        """
        for _ in range(ATTEMPTS - 1):
            try:
                return self._ingest(work)
            except _TransientError:
                continue
        return self._ingest(work)

    def purge(self) -> None:
        """Writes the table of epoch keys anew, without the dead rows that still hold deleted keys.

        The write-ahead log, and what is archived of it, is the operator's to expire.

        Raises:
            StoreUnavailableError: if somebody, such as a running dump, reads the table, or if the
                role does not own it; try later.
        """
        with self._translate_errors(), self._writing.connect() as connection:
            vacuuming = connection.execution_options(isolation_level="AUTOCOMMIT")
            # Whoever waits for this lock makes ingest wait behind it.
            vacuuming.exec_driver_sql(f"SET lock_timeout = {PURGE_PATIENCE_MS}")
            try:
                before = vacuuming.exec_driver_sql(_FILE).scalar_one()
                vacuuming.exec_driver_sql("VACUUM (FULL) epochs")
                # A role without the right to do so is warned, and not refused.
                if vacuuming.exec_driver_sql(_FILE).scalar_one() == before:
                    raise StoreUnavailableError(
                        "deleted keys of days stay in the table epochs: let this role own it"
                    )
            finally:
                # A lost connection has no setting, and its loss is what is to be told.
                if not vacuuming.invalidated:
                    vacuuming.exec_driver_sql(f"SET lock_timeout = '{_SESSION['lock_timeout']}'")

    def close(self) -> None:
        """Closes all connections; everything acknowledged is in the database already."""
        self._closed = True
        for engine in (self._ingesting, self._writing, self._reading, self._lookups):
            engine.dispose()

    def _ingest(self, work: Callable[[IngestTransaction], Result]) -> Result:
        with self._transaction(self._ingesting) as connection:
            return work(_PostgresqlIngest(connection))

    @contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Connection]:
        with self._translate_errors(), engine.begin() as connection:
            yield connection

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        if self._closed:
            raise StoreUnavailableError("the store is closed")
        try:
            yield
        except DBAPIError as error:
            raise _unavailable(error) from None
        except PoolTimeoutError:
            raise StoreUnavailableError("too many users of the database at once") from None


class _TransientError(StoreUnavailableError):
    """The same transaction may well succeed at once."""


class _PostgresqlIngest(IngestTransaction):
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def epoch_keys(self, wanted: Collection[int]) -> Mapping[int, bytes | None]:
        found = self._locked_keys(wanted)
        missing = sorted(wanted - found.keys())
        if missing:
            fresh = [new_epoch_key() for _ in missing]
            self._connection.exec_driver_sql(_OPEN, (missing, fresh))
            # Another server may have been first with any of them.
            found |= self._locked_keys(missing)
        return found

    def _locked_keys(self, wanted: Collection[int]) -> dict[int, bytes | None]:
        # Shared locks: whoever closes one of these epochs waits for the end of this transaction.
        found = self._connection.exec_driver_sql(_KEYS, (sorted(wanted),))
        return {epoch: key for epoch, key in found}  # noqa: C416  rows are not pairs to mypy

    def remember_uploads(self, names: Sequence[UploadName]) -> set[UploadName]:
        epochs, hashes = zip(*names, strict=True)
        fresh = self._connection.exec_driver_sql(_REMEMBER, (list(epochs), list(hashes)))
        return {(epoch, hash_) for epoch, hash_ in fresh}

    def append_rows(self, rows: Sequence[InboxRow]) -> None:
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        self._connection.exec_driver_sql(_APPEND, columns)


_FILE: Final = "SELECT pg_relation_filenode('epochs'::regclass)"
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
    "INSERT INTO inbox (id, digest, epoch, key, payload) "
    "SELECT * FROM unnest(%s::bigint[], %b::bytea[], %s::int[], %s::text[], %b::bytea[])"
)


def lock_schema(connection: Connection) -> None:
    """Waits for everybody else who is creating or changing tables, until the transaction ends."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({CREATION_LOCK})")


def _engine(url: URL, **options: Any) -> Engine:
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
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "handle_error", _close_cursor)
    return engine


def _close_cursor(failure: ExceptionContext) -> None:
    # SQLAlchemy leaves it open where the connection was lost, which the driver warns about.
    running = failure.execution_context
    if running is not None:
        with suppress(Exception):
            running.cursor.close()


def _prepare(connection: Any, _: object) -> None:
    from deniable_aggregator.store.backends.streaming import ReadingCursor  # needs the driver

    connection.server_cursor_factory = ReadingCursor
    connection.autocommit = True
    for name, value in _SESSION.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
    # A 204 survives the end of the server, whatever its configuration says; stronger is welcome.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) "
        "WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.autocommit = False


def _unavailable(error: DBAPIError) -> StoreUnavailableError:
    """What is left of a driver's error: the first line may be told, details may quote rows."""
    cause: Any = error.orig
    said = getattr(getattr(cause, "diag", None), "message_primary", None)
    code = getattr(cause, "sqlstate", None)
    if error.connection_invalidated or code in (SERIALIZATION_FAILURE, DEADLOCK):
        return _TransientError(said or "the connection to the database was lost")
    # Without a code nobody has been reached, and there is nothing to quote.
    message = said if code else " ".join(str(cause).split())
    return StoreUnavailableError(message or type(cause).__name__)
