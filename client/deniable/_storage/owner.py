"""Which application a directory belongs to."""

from __future__ import annotations

from deniable._storage.directory import StorageError, write_new
from deniable._storage.records import read_header

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final

APPLICATION: Final = "application"
"""The file that names the application, with a check value by which a damaged name is noticed. It is
there before anything is recorded."""

JOURNAL: Final = "journal"

_CHECK_DIGITS: Final = 16
_HEADER_BYTES: Final = 512


def read_application(directory: Path) -> str | None:
    """Which application a directory belongs to; None if that is not written down, or is damaged.

    Changes nothing, and needs no lock.
    """
    try:
        name, check = (directory / APPLICATION).read_text(encoding="utf-8").split("\n")
        if check == _name_check(name):
            return name
    except (OSError, ValueError):
        pass
    try:
        with (directory / JOURNAL).open("rb") as journal:
            return read_header(journal.read(_HEADER_BYTES))[0].application
    except (OSError, StorageError):
        return None


def claim_directory(directory: Path, application: str) -> None:
    """Makes a directory that of an application, unless it belongs to one already.

    Two applications must not share one: the second would upload the first one's reports to its own
    aggregator, which refuses them.

    Args:
        directory: an existing one, which nobody else uses at the moment.
        application: its name in the registry.

    Raises:
        StorageError: if the directory belongs to another application.
        OSError: if the name cannot be written.
    """
    owner = read_application(directory)
    if owner is None:
        write_new(directory / APPLICATION, f"{application}\n{_name_check(application)}".encode())
    elif owner != application:
        raise StorageError("the directory belongs to another application")


def _name_check(name: str) -> str:
    import hashlib  # costs start-up time; the registry loads it anyway

    return hashlib.sha256(name.encode()).hexdigest()[:_CHECK_DIGITS]
