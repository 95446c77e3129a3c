"""The user's consent, and the deletion that they ask for or that a withdrawal demands."""

from __future__ import annotations

from deniable._status import Dropped
from deniable._storage.device import STORAGE_ERRORS
from deniable._storage.directory import BusyError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from deniable._storage.device import DeviceStorage

DELETE_WAIT_SECONDS: Final = 1.0
"""How long a withdrawal waits for others that use the storage; after that, deletion stays owed."""

DO_NOT_TRACK: Final = "DO_NOT_TRACK"
"""The environment variable that refuses on the user's behalf, unless it is empty or 0."""


class Consent:
    """Whether the user agrees, and which deletion is still owed to them.

    Deletion is owed after a withdrawal or a call of `forget`, until it has been done on the disk.

    Args:
        storage: the storage whose reports are deleted.
        environment: the environment variables, which may refuse on the user's behalf.

    Attributes:
        given: whether the user agrees, so that values may be recorded.
        do_not_track: whether the environment refuses; read at the beginning and whenever consent is
            given.
        withdrawals: how often the user has withdrawn consent.
    """

    def __init__(self, storage: DeviceStorage, environment: Mapping[str, str]) -> None:
        self._storage = storage
        self._environment = environment
        self.given = False
        self.do_not_track = self._environment_refuses()
        self.withdrawals = 0
        self._requests = 0
        self._withdrawals_done = self._requests_done = 0

    @property
    def deletion_owed(self) -> bool:
        """Whether something still has to be deleted; until then nothing is recorded or sent."""
        return self._withdrawals_done < self.withdrawals or self._requests_done < self._requests

    def grant(self) -> int | None:
        """The user agrees; has no effect if the environment refuses.

        Returns:
            How often consent was withdrawn before, which is how long this agreement holds: until
            `withdrawals` is another number. None if the environment refuses.
        """
        self.do_not_track = self._environment_refuses()
        self.given = not self.do_not_track
        return self.withdrawals if self.given else None

    def withdraw(self) -> None:
        """The user does not agree, or no longer does: all that was stored has to be wiped."""
        self.given = False
        self.withdrawals += 1

    def forget(self) -> int:
        """Deletes pending and remembered reports, as the user wants; needs no consent.

        Returns:
            How many reports were pending.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: see `delete_owed`.
        """
        self._requests += 1
        return self.delete_owed_now()

    def delete_owed_now(self, wait_seconds: float = DELETE_WAIT_SECONDS) -> int:
        """Does what `delete_owed` does, even if the storage could not be used a moment ago."""
        if self.deletion_owed:
            self._storage.allow_retry()
        return self.delete_owed(wait_seconds)

    def delete_owed(self, wait_seconds: float = DELETE_WAIT_SECONDS) -> int:
        """Deletes what is owed, if anything.

        Args:
            wait_seconds: how long to wait for others that use the storage.

        Returns:
            How many reports were pending.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if it cannot be done now; then it
                stays owed.
        """
        if not self.deletion_owed:
            return 0
        # A request that follows while this is at work is not done by it, and stays owed.
        withdrawals, requests = self.withdrawals, self._requests
        count = 0
        if self._storage.exists:
            delete = self._wipe if self._withdrawals_done < withdrawals else self._clear
            count = delete(wait_seconds)
        self._withdrawals_done = max(self._withdrawals_done, withdrawals)
        self._requests_done = max(self._requests_done, requests)
        return count

    def _wipe(self, wait_seconds: float) -> int:
        storage = self._storage
        try:
            return storage.run_locked(storage.wipe, wait_seconds=wait_seconds)
        except BusyError:
            raise
        except STORAGE_ERRORS:  # the files cannot be opened, so delete them as they are
            return storage.reset_unreadable(wait_seconds)

    def _clear(self, wait_seconds: float) -> int:
        storage, reason = self._storage, Dropped.FORGOTTEN
        try:
            return storage.run_locked(
                lambda: storage.spool.delete_everything(reason), wait_seconds=wait_seconds
            )
        except BusyError:
            raise
        except STORAGE_ERRORS:
            return storage.delete_reports(reason, wait_seconds)

    def _environment_refuses(self) -> bool:
        return self._environment.get(DO_NOT_TRACK, "") not in ("", "0")
