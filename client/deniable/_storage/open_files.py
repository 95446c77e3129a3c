"""Noticing that somebody has deleted or replaced files that this process has open."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

_CLOCK_TICK_NANOSECONDS: Final = 10**8  # ten times the coarsest clock of today's file systems


class OpenFileCheck:
    """Whether the files that are open are still the ones in the directory.

    If somebody deletes or replaces an open file, everything written to it afterwards is lost, and
    the next process would spend once more the budget that was recorded in it.

    Args:
        directory: the files' directory; absolute.
        names: of the files.
    """

    def __init__(self, directory: Path, *names: str) -> None:
        self._directory = str(directory)
        self._paths = [str(directory / name) for name in names]
        self._opened: list[int] = []
        self._unchanged: tuple[int, int] | None = None

    def remember(self) -> None:
        """Remembers the files that are in the directory now: they are the open ones.

        Raises:
            OSError: if the directory cannot be read.
        """
        self._opened, self._unchanged = self._inodes(), None

    def still_in_place(self) -> bool:
        """Whether the remembered files are still in the directory; called by every `record`.

        Raises:
            OSError: if the directory cannot be read.
        """
        try:
            directory = os.stat(self._directory)  # noqa: PTH116  faster than pathlib
        except FileNotFoundError:
            return False
        seen = (directory.st_ino, directory.st_mtime_ns)
        if seen == self._unchanged:
            return True  # nothing was created, renamed or deleted in it since the last check
        if self._inodes() != self._opened:
            return False
        # A file system with a coarse clock gives two changes the same time: trust a time only when
        # it is old enough.
        if time.time_ns() - directory.st_mtime_ns > _CLOCK_TICK_NANOSECONDS:
            self._unchanged = seen
        return True

    def _inodes(self) -> list[int]:
        """The inode numbers of the files that have these names now; 0 for a missing one."""
        inodes = []
        for path in self._paths:
            try:
                inodes.append(os.stat(path).st_ino)  # noqa: PTH116  as above
            except FileNotFoundError:
                inodes.append(0)
        return inodes
