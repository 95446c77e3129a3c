"""Where an application keeps its reports if it has no place of its own for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable._platform.folders import state_folder
from deniable_shared.characters import NAME
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "deniable"
"""All applications of a user have their directories in this one, each under its name."""


def default_directory(application: str) -> Path:
    r"""The directory for an application of this user, by the conventions of the operating system.

    Linux: ``$XDG_STATE_HOME/deniable/APPLICATION``, by default below ``~/.local/state``. macOS:
    ``~/Library/Application Support/deniable/APPLICATION``. Windows:
    ``%LOCALAPPDATA%\deniable\APPLICATION``. Nothing is created.

    Args:
        application: its name in the registry.

    Raises:
        ParameterError: if it is no such name; or if the user has no home, as services often have
            none, and has to be given a directory.
    """
    if not (isinstance(application, str) and re.fullmatch(NAME, application)):
        raise ParameterError("application", f"a name matching {NAME}", application)
    try:
        return state_folder() / FOLDER / application
    except RuntimeError:
        problem = ParameterError("directory", "passed to Client: this user has no home", None)
    raise problem


def applications_with_directories() -> list[str]:
    """The names of the applications of this user that have a default directory, sorted."""
    try:
        names = (each.name for each in (state_folder() / FOLDER).iterdir())
        return sorted(name for name in names if re.fullmatch(NAME, name))
    except (OSError, RuntimeError):
        return []
