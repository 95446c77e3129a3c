"""Files that survive a power failure, and that others may have open."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Final

if sys.platform == "win32":
    import time

    BINARY: Final = os.O_BINARY
    """A flag of `os.open`, without which Windows writes the byte 10 as 13 and 10."""

    _SYNCABLE: Final = os.O_RDWR  # the system refuses to sync what is open for reading alone
    _PAUSES_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)

    def read_at(file: int, count: int, place: int) -> bytes:
        """As below, but the descriptor moves."""
        os.lseek(file, place, os.SEEK_SET)
        return os.read(file, count)

    def sync(file: int) -> None:
        """As below: the system empties the memory of the disk, too."""
        os.fsync(file)

    def sync_directory(directory: Path) -> None:
        """Does nothing: NTFS writes the names of files to its own journal."""

    def replace(source: Path, target: Path) -> None:
        """As below; tried again for 0.6 s while another process has one of them open."""
        _insist(lambda: source.replace(target))

    def delete(path: Path) -> None:
        """As below; tried again for 0.6 s while another process has the file open."""
        _insist(lambda: path.unlink(missing_ok=True))

    def _insist(action: Callable[[], object]) -> None:
        for seconds in _PAUSES_SECONDS:
            try:
                action()
            except PermissionError:  # perhaps a virus scanner reads the file
                time.sleep(seconds)
            else:
                return
        action()

else:
    BINARY: Final = 0
    _SYNCABLE: Final = os.O_RDONLY

    read_at: Final = os.pread
    """Reads at most so many bytes from a place in a file: ``read_at(descriptor, count, place)``."""

    if sys.platform == "darwin":
        import fcntl

        def sync(file: int) -> None:
            """As below. There `os.fsync` leaves the data in the memory of the disk itself."""
            try:
                fcntl.fcntl(file, fcntl.F_FULLFSYNC)
            except OSError:  # as file systems of networks do
                os.fsync(file)

    else:

        def sync(file: int) -> None:
            """Waits until what was written to a descriptor survives a power failure.

            Everywhere, unless the disk lies. On Windows the descriptor must be open for writing.
            """
            os.fsync(file)

    def sync_directory(directory: Path) -> None:
        """Waits until the names in a directory survive a power failure."""
        sync_file(directory)

    def replace(source: Path, target: Path) -> None:
        """Gives a file the name of another, which is gone then; never is there none of that name.

        Raises:
            OSError: if the system refuses. Windows refuses while somebody has the other open.
        """
        source.replace(target)

    def delete(path: Path) -> None:
        """Deletes a file, if it exists; whoever has it open keeps it.

        Raises:
            OSError: if the system refuses. Windows refuses while somebody has it open.
        """
        path.unlink(missing_ok=True)


def identify(file: int) -> tuple[int, int] | None:
    """What tells an open file or socket from another that gets its number; None if nothing does."""
    try:
        status = os.fstat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def close_own(file: int, identity: tuple[int, int] | None) -> None:
    """Closes a descriptor after a long wait, unless the number is that of a file of the host now.

    Args:
        file: the descriptor.
        identity: what `identify` said when it was opened.
    """
    if identify(file) == identity:
        try:  # noqa: SIM105  suppress() would be one more call that a signal may interrupt
            os.close(file)
        except OSError:
            pass


def sync_file(path: Path | str) -> None:
    """Waits until what was written to a file, by whomever, survives a power failure.

    Raises:
        OSError: if it does not exist, or the disk refuses.
    """
    file = os.open(path, _SYNCABLE)
    identity = identify(file)
    try:
        sync(file)
    finally:
        close_own(file, identity)
