"""Connections to a store's SQLite file: one that writes, several that read, and their errors."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool, StaticPool

from deniable_aggregator.store.errors import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection, Engine, Pool

BEGIN_WRITING: Final = "BEGIN IMMEDIATE"
BUSY_TIMEOUT_MS: Final = 5_000
READERS: Final = 4
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
