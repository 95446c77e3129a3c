"""How SQLite is told of a file, and to wait for the disk."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

DURABLE: Final = ("fullfsync", "checkpoint_fullfsync") if sys.platform == "darwin" else ()
"""The pragmas to switch on, so that SQLite waits for the disk itself: see `files.sync`."""


def uri(path: Path, parameters: str) -> str:
    """The URI of a database file; on Windows of one on a drive or on another machine.

    Everywhere, write-ahead logging needs a disk of this machine: others would not share its memory.

    Args:
        path: absolute.
        parameters: such as ``mode=ro``.
    """
    from urllib.parse import quote  # costs start-up time; the HTTP transport loads it anyway

    name = path.as_posix()
    if sys.platform == "win32" and not name.startswith("/"):
        name = f"/{name}"  # before the letter of a drive
    return f"file://{quote(os.fsencode(name))}?{parameters}"
