"""Where the operating system keeps what applications store for a user."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def state_folder(environment: Mapping[str, str] = os.environ) -> Path:
    r"""The folder of what belongs to this user on this machine, in which applications have theirs.

    Windows: ``%LOCALAPPDATA%``, which does not follow the user to other machines. macOS and iOS:
    ``~/Library/Application Support``. Others: ``$XDG_STATE_HOME``, by default ``~/.local/state``.
    Nothing is created.

    Raises:
        RuntimeError: if the user has no home, or one that does not exist, as some services have.
    """
    if sys.platform == "win32":
        local = Path(environment.get("LOCALAPPDATA", ""))
        return local if local.is_absolute() else _home() / "AppData" / "Local"
    if sys.platform in ("darwin", "ios"):
        return _home() / "Library" / "Application Support"
    state = Path(environment.get("XDG_STATE_HOME", ""))
    return state if state.is_absolute() else _home() / ".local" / "state"


def _home() -> Path:
    home = Path.home()
    if home == home.parent or not home.is_dir():
        raise RuntimeError("the user has no home")
    return home
