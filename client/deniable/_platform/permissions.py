"""Who else can read or change a file: from its owner and its mode, where these mean anything.

On Windows all answers are no. There a file lets in whomever its folder does: in the folder of a
user's own data, the user, the system and its administrators.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

PRIVATE_DIRECTORY: Final = 0o700
"""The mode of a directory for its owner alone. Python obeys it on Windows since 3.13, and in the
latest versions of 3.11 and 3.12."""

PRIVATE_FILE: Final = 0o600

_OTHERS: Final = 0o077
_WRITABLE_BY_OTHERS: Final = 0o022


def owned_by_another(status: os.stat_result) -> bool:
    """Whether another user than that of this process owns a file."""
    if sys.platform == "win32":
        return False
    return status.st_uid != os.geteuid()


def open_to_others(status: os.stat_result) -> bool:
    """Whether other users may do anything with a file or directory."""
    return sys.platform != "win32" and bool(status.st_mode & _OTHERS)


def changeable_by_others(status: os.stat_result) -> bool:
    """Whether another user owns a file, or may write to it."""
    if sys.platform == "win32":
        return False
    return owned_by_another(status) or bool(status.st_mode & _WRITABLE_BY_OTHERS)
