"""Connections to a store in PostgreSQL: their settings, and the errors of the driver."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from deniable_aggregator.store.errors import StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection, Engine
    from sqlalchemy.engine import ExceptionContext

CONNECTIONS: Final = 4
"""Of each engine: ingest, other writing, reading, looking up."""

POOL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 5
CREATION_LOCK: Final = 0x64656E6961626C65  # "deniable"
SERIALIZATION_FAILURE: Final = "40001"
DEADLOCK: Final = "40P01"

LOCK_TIMEOUT: Final = "5s"

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
    from deniable_aggregator.store.backends.streaming import ReadingCursor  # needs the driver

    connection.server_cursor_factory = ReadingCursor
    connection.autocommit = True
    for name, value in _SESSION.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
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
