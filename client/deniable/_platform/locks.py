"""A lock of an open file that keeps other processes out."""

from __future__ import annotations

import sys

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Final

if sys.platform == "win32":
    import errno
    import msvcrt

    LOCK: Final = msvcrt.LK_NBLCK  # LK_LOCK would wait for up to ten seconds
    UNLOCK: Final = msvcrt.LK_UNLCK

    def change_lock(file: int, how: int) -> None:
        """As `fcntl.flock` does below, for the first byte of a file that nobody reads or writes.

        The system refuses a second lock of the same descriptor, and to unlock what is not locked.
        """
        try:
            _change(file, how)
        except BlockingIOError:
            if how == UNLOCK:
                return
        else:
            return
        change_lock(file, UNLOCK)  # an exception may have kept this descriptor from being unlocked
        _change(file, LOCK)

    def _change(file: int, how: int) -> None:
        try:
            msvcrt.locking(file, how, 1)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
            raise BlockingIOError(error.errno, "another process holds the lock") from None

else:
    import fcntl

    LOCK: Final = fcntl.LOCK_EX | fcntl.LOCK_NB
    UNLOCK: Final = fcntl.LOCK_UN

    change_lock = fcntl.flock
    """Locks or unlocks a file; called as ``change_lock(descriptor, LOCK)``, or with `UNLOCK`.

    Everywhere: raises BlockingIOError at once if another descriptor, of whichever process, holds
    the lock; and the system unlocks the file when the descriptor is closed or the process ends,
    Windows perhaps a moment later. To lock twice is to lock once, and unlocking what is not locked
    does nothing. Here it is one call in C, so that no signal handler runs before it has an effect.
    """
