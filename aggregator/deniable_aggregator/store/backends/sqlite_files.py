"""The files of a store in SQLite: made, locked, and watched for being taken away."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from deniable_aggregator.store.errors import StoreMovedError, StoreRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class StoreFiles:
    """The file of a store, and the side file whose lock its writers hold.

    A file that is deleted or moved while it is open can be written like any other, and all that
    is written is gone with the process. So before each commit its name must still be its own.

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
            # SQLite would create the file with the umask's permissions; its logs copy the file's.
            # One that is there is not opened: closing it again would release the locks that SQLite
            # holds for other stores of this process, and another process could delete their log.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
                raise StoreRefusedError(f"{path}: must be a file that may be read and written")
            self._made = not self._side.exists()
            self._lock = os.open(self._side, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreRefusedError(
                f"{path}: cannot be opened: {error.strerror}. "
                "Its directory must be there, and one that may be written."
            ) from error

    @property
    def closed(self) -> bool:
        """Whether the lock is gone."""
        return self._lock < 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock, for as long as the block takes."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def remember_identity(self) -> None:
        """Notes which files these are, once SQLite has all of them open."""
        # Of the lock the one that is held: another may have its name by now.
        self._known = [*map(_identity_of_path, self._names[:-1]), _identity(os.fstat(self._lock))]

    def check_identity(self) -> None:
        """Looks whether the files are where they were: three calls of two microseconds each.

        Raises:
            StoreMovedError: if one of them is gone, or another has its name.
        """
        if self._known and [*map(_identity_of_path, self._names)] != self._known:
            raise StoreMovedError

    def discard(self) -> None:
        """Deletes the side file of a store that was refused, unless it was there before."""
        if self._made:
            with suppress(OSError):
                self._side.unlink()

    def close(self) -> None:
        """Gives the lock up."""
        os.close(self._lock)
        self._lock = -1


def _identity_of_path(name: str) -> tuple[int, int] | None:
    try:
        return _identity(os.stat(name))  # noqa: PTH116  a Path takes half as long again
    except OSError:
        return None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
