"""The files of a store in SQLite: creates and locks them, and notices if they are moved."""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.keeping.store.base import InUseError, StoreMovedError, StoreRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_LOGGED: Final = struct.Struct("<Qd")


class Logged(NamedTuple):
    """What is in the write-ahead log.

    Attributes:
        commits: how many; 0 if it is empty.
        since: when the first of them came, by the machine's monotonic clock, in seconds.
    """

    commits: int
    since: float


class StoreFiles:
    """The file of a store, and the side file whose lock its writers hold.

    An open file that was deleted or moved can still be written, but what is written is lost when
    the process ends. So before each commit the name must still mean the file that is open.

    Args:
        path: the file; created, readable by its owner only, if absent.

    Raises:
        StoreRefusedError: if it is not a file that may be read and written.
    """

    def __init__(self, path: Path) -> None:
        self._lock = -1
        self._side = path.with_name(f"{path.name}.lock")
        # Absolute, as the process may change its directory.
        self._names = [f"{path.absolute()}{suffix}" for suffix in ("", "-wal", ".lock")]
        self._known: list[tuple[int, int] | None] = []
        try:
            # SQLite would create the file with the umask's permissions, and its logs with those of
            # the file. An existing file is not opened here: closing it would release the locks that
            # SQLite holds for other stores of this process, and another process could delete their
            # log.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
                raise StoreRefusedError(f"{path}: must be a file that may be read and written")
            self._made = not self._side.exists()
            self._lock = os.open(self._side, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreRefusedError(
                f"{path}: cannot be opened: {error.strerror}. "
                "Its directory must exist and be writable."
            ) from error

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._lock < 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock on the side file while the block runs."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @contextmanager
    def alone(self, purpose: str) -> Iterator[None]:
        """See `Database.alone`."""
        descriptor = os.open(f"{self._names[0]}.{purpose}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise InUseError(purpose) from None
        finally:
            os.close(descriptor)

    def logged(self) -> Logged:
        """What the log holds, as all processes together have written it into the side file."""
        content = os.pread(self._lock, _LOGGED.size, 0)
        return Logged(*_LOGGED.unpack(content)) if len(content) == _LOGGED.size else Logged(0, 0.0)

    def remember_logged(self, logged: Logged) -> None:
        """Writes what the log holds, for all processes. To be called under the lock."""
        os.pwrite(self._lock, _LOGGED.pack(*logged), 0)

    def remember_identity(self) -> None:
        """Remembers which files these are. Called once SQLite has all of them open."""
        # The side file by its descriptor: another file may have its name by now.
        self._known = [*map(_identity_of_path, self._names[:-1]), _identity(os.fstat(self._lock))]

    def check_identity(self) -> None:
        """Checks that the files are where they were, in three calls of two microseconds each.

        Raises:
            StoreMovedError: if one of them is gone, or its name means another file.
        """
        if self._known and [*map(_identity_of_path, self._names)] != self._known:
            raise StoreMovedError

    def discard(self) -> None:
        """Deletes the side file of a refused store, unless it existed before."""
        if self._made:
            with suppress(OSError):
                self._side.unlink()

    def close(self) -> None:
        """Closes the side file and so releases the lock."""
        os.close(self._lock)
        self._lock = -1


def _identity_of_path(name: str) -> tuple[int, int] | None:
    try:
        return _identity(os.stat(name))  # noqa: PTH116  a Path takes half as long again
    except OSError:
        return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
