"""Reads the directory of a device that may be in use, without changing anything in it."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Final

from deniable._event_log import EventLog
from deniable._platform import locks
from deniable._storage.contents import Contents, read_mark
from deniable._storage.journal import LOCK, NEW
from deniable._storage.owner import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        lock = os.open(directory / LOCK, os.O_RDONLY)
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


def read_contents(directory: Path) -> Contents | None:
    """What the journal in a directory says; None without one. To be called within `hold_lock`.

    Raises:
        StorageError: if it cannot be believed.
        OSError: if it cannot be read.
    """
    for name in (JOURNAL, NEW):  # the other one if a process died between two renamings
        with contextlib.suppress(FileNotFoundError):
            content = (directory / name).read_bytes()
            return Contents(content, read_mark(directory), _keep_nothing, EventLog())
    return None


def _keep_nothing(_body: bytes, _tail: bytes) -> int:
    return 0
