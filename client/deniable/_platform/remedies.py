"""What to do about an error of the disk."""

from __future__ import annotations

import errno

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

_QUOTA: Final = getattr(errno, "EDQUOT", -1)  # Windows has none
_OWN_DISK: Final = "let the directory be on a disk of this machine: this one has no locks"
_BY_NUMBER: Final = {
    errno.ENOSPC: "make room on this disk",
    _QUOTA: "make room within this user's quota",
    errno.ENOLCK: _OWN_DISK,
    errno.ENOSYS: _OWN_DISK,
    errno.EOPNOTSUPP: _OWN_DISK,
    errno.EMFILE: "let this process open more files",
    errno.ENFILE: "let this machine open more files",
    errno.EIO: "look whether this disk is broken",
}
_BY_NAME: Final = {
    "SQLITE_FULL": _BY_NUMBER[errno.ENOSPC],
    "SQLITE_IOERR_LOCK": _OWN_DISK,
    "SQLITE_IOERR_RDLOCK": _OWN_DISK,
}
_ELSE: Final = "let the directory be one that this user can write to"


def remedy(error: BaseException) -> str | None:
    """What to do, as an order without a full stop; None if nobody can tell.

    Args:
        error: of the operating system or of SQLite.
    """
    if isinstance(error, OSError):
        return _BY_NUMBER.get(error.errno or 0, _ELSE)
    return _BY_NAME.get(getattr(error, "sqlite_errorname", ""))
