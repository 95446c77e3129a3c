"""Reads the directory of a device that may be in use, without changing anything in it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Final

from deniable._platform import databases, locks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOCK: Final = "lock"
_LOCK_WAIT_SECONDS: Final = 1.0
_LOCK_POLL_SECONDS: Final = 0.001


@contextlib.contextmanager
def hold_lock(directory: Path) -> Iterator[None]:
    """Holds the directory's lock, if there is one, so that no process records meanwhile.

    Raises:
        BlockingIOError: if another process holds the lock for more than a second.
        OSError: if it cannot be opened.
    """
    try:
        lock = os.open(directory / _LOCK, os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        deadline = time.monotonic() + _LOCK_WAIT_SECONDS
        while True:
            try:
                locks.change_lock(lock, locks.LOCK)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            # Closing alone would not release it: a child forked meanwhile shares the lock.
            locks.change_lock(lock, locks.UNLOCK)
    finally:
        os.close(lock)


def fetch_rows(path: Path, *queries: str) -> list[list[Any]]:
    """Reads rows of a database that may be in use, without creating files beside it.

    Uses SQLite even for this: if this process opened and closed the file by other means, it would
    lose the POSIX locks that it holds on the file.

    Args:
        path: the database.
        queries: each gives one list of rows.

    Raises:
        sqlite3.Error: if it cannot be read.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if log.exists() and not index.exists():
        raise sqlite3.OperationalError("the log has no index, and reading would make one")
    # Without a log nobody has the database open; "immutable" keeps SQLite from starting a log.
    alone = "" if log.exists() else "&immutable=1"
    location = databases.uri(path.absolute(), f"mode=ro{alone}")
    connection = sqlite3.connect(location, uri=True, timeout=1.0)
    try:
        return [connection.execute(query).fetchall() for query in queries]
    finally:
        connection.close()
