"""Looking into the directory of a device that may be in use, without changing anything in it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOCK: Final = "lock"
_LOCK_WAIT_SECONDS: Final = 1.0
_LOCK_POLL_SECONDS: Final = 0.001


@contextlib.contextmanager
def hold_lock(directory: Path) -> Iterator[None]:
    """Holds the lock of the directory, if it has one: no process records meanwhile.

    Raises:
        BlockingIOError: if another process holds it for longer than it ever should.
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
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            # Not left to closing: a child that was forked meanwhile has the same lock.
            fcntl.flock(lock, fcntl.LOCK_UN)
    finally:
        os.close(lock)


def fetch_rows(path: Path, *queries: str) -> list[list[Any]]:
    """The rows of a database that may be in use, without leaving a trace beside it.

    Through SQLite even though it is only read: closing a file that was opened by other means would
    release the locks that this process holds on it.

    Args:
        path: of the database.
        queries: each of them gives one list of rows.

    Raises:
        sqlite3.Error: if it cannot be read.
    """
    log, index = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if log.exists() and not index.exists():
        raise sqlite3.OperationalError("the log has no index, and reading would make one")
    # Without a log nobody has it open, and SQLite needs to be told so, or it begins one.
    alone = "" if log.exists() else "&immutable=1"
    connection = sqlite3.connect(
        f"file://{quote(os.fsencode(path.absolute()))}?mode=ro{alone}", uri=True, timeout=1.0
    )
    try:
        return [connection.execute(query).fetchall() for query in queries]
    finally:
        connection.close()
