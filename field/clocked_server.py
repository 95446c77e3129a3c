"""The script ``deniable`` with a clock that reads the time from a file: the trial moves the days.

``python -m field.clocked_server CLOCK serve --store STORE`` runs the server of ``deniable serve``,
which otherwise takes its clock from the system.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from pathlib import Path
from typing import Final

from deniable_aggregator.doors.app import create_app
from deniable_shared.commands.entry import main

_SECONDS: Final = struct.Struct("<d")


class FileClock:
    """Seconds since 1970, as a file has them; every process that maps the file sees a change.

    Args:
        path: the file; created if it is absent.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(_SECONDS.size))
        file = os.open(path, os.O_RDWR)
        self._memory = mmap.mmap(file, _SECONDS.size)
        os.close(file)

    def __call__(self) -> float:
        """Seconds since 1970."""
        seconds: float = _SECONDS.unpack(self._memory)[0]
        return seconds

    def set(self, seconds: float) -> None:
        """Moves the clock."""
        self._memory[:] = _SECONDS.pack(seconds)


if __name__ == "__main__":
    clock = FileClock(Path(sys.argv[1]))
    assert create_app.__kwdefaults__ is not None
    # The server's worker is a fork of this process, and so begins with this clock.
    create_app.__kwdefaults__.update(clock=clock, monotonic=clock)
    main(sys.argv[2:])
