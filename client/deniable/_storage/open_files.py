"""Whether files that are open still stand in their directory under their names."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

_CLOCK_TICK_NANOSECONDS: Final = 10**8  # ten times what file systems of today need


class OpenFileCheck:
    """The files of a directory that were open when `note` was called.

    If somebody deletes or replaces them, what is written to these is lost, and the budget that they
    remember would be spent once more by the next process.

    Args:
        directory: theirs; absolute.
        names: of the files.
    """

    def __init__(self, directory: Path, *names: str) -> None:
        self._directory = str(directory)
        self._paths = [str(directory / name) for name in names]
        self._opened: list[int] = []
        self._unchanged: tuple[int, int] | None = None

    def remember(self) -> None:
        """Says that the files that stand there now are those that are open.

        Raises:
            OSError: if they cannot be looked at.
        """
        self._opened, self._unchanged = self._inodes(), None

    def still_in_place(self) -> bool:
        """Whether they still stand there; every call of `record` asks.

        Raises:
            OSError: if they cannot be looked at.
        """
        try:
            directory = os.stat(self._directory)  # noqa: PTH116  quicker
        except FileNotFoundError:
            return False
        seen = (directory.st_ino, directory.st_mtime_ns)
        if seen == self._unchanged:
            return True  # nothing was made, renamed or deleted in it since
        if self._inodes() != self._opened:
            return False
        # Two changes can have the same time if the clock of the file system is coarse.
        if time.time_ns() - directory.st_mtime_ns > _CLOCK_TICK_NANOSECONDS:
            self._unchanged = seen
        return True

    def _inodes(self) -> list[int]:
        """Which files stand there under these names; 0 for none."""
        files = []
        for path in self._paths:
            try:
                files.append(os.stat(path).st_ino)  # noqa: PTH116  as above
            except FileNotFoundError:
                files.append(0)
        return files
