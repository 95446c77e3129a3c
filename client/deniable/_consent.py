"""What the user has agreed to, and the wiping that follows when they no longer do."""

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
"""How long a withdrawal waits for others to leave the storage before it stays owed."""

DO_NOT_TRACK: Final = "DO_NOT_TRACK"
"""The environment variable that refuses for the user; anything but nothing and 0 does."""


class Consent:
    """The user's answer, and what they want deleted that is still on the disk.

    Args:
        storage: what a withdrawal wipes.
        environment: the process's; it may refuse for the user.

    Attributes:
        given: whether values may be recorded.
        do_not_track: whether the environment refused, when it was looked at last: at the beginning
            and whenever consent is given.
        withdrawals: how often the user has said no.
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

    def grant(self) -> None:
        """The user agrees; under `do_not_track` nobody does."""
        self.do_not_track = self._environment_refuses()
        self.given = not self.do_not_track

    def withdraw(self) -> None:
        """The user does not agree, or no longer does: all that was stored is to be wiped."""
        self.given = False
        self.withdrawals += 1

    def forget(self) -> int:
        """The user wants to have deleted what is pending, whether they agree or not.

        Returns:
            How many reports were pending.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: see `settle`.
        """
        self._requests += 1
        return self.delete_owed_now()

    def delete_owed_now(self, wait_seconds: float = DELETE_WAIT_SECONDS) -> int:
        """The same as `settle`, also if the storage could not be used a moment ago."""
        if self.deletion_owed:
            self._storage.allow_retry()
        return self.delete_owed(wait_seconds)

    def delete_owed(self, wait_seconds: float = DELETE_WAIT_SECONDS) -> int:
        """Does the deleting that is owed, if any.

        Args:
            wait_seconds: how long to wait for others to leave the storage.

        Returns:
            How many reports were pending.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if it cannot be done now; then it
                stays owed.
        """
        if not self.deletion_owed:
            return 0
        # Those so far: another one may follow while this is at work, and is owed then.
        settled, requests = self.withdrawals, self._requests
        count = 0
        if self._storage.exists:
            delete = self._wipe if self._withdrawals_done < settled else self._clear
            count = delete(wait_seconds)
        self._withdrawals_done = max(self._withdrawals_done, settled)
        self._requests_done = max(self._requests_done, requests)
        return count

    def _wipe(self, wait_seconds: float) -> int:
        device = self._storage
        try:
            return device.run_locked(device.wipe, wait_seconds=wait_seconds)
        except BusyError:
            raise
        except STORAGE_ERRORS:  # then nothing will be recorded, and what was, goes all the same
            return device.reset_unreadable(wait_seconds)

    def _clear(self, wait_seconds: float) -> int:
        device, reason = self._storage, Dropped.FORGOTTEN
        try:
            return device.run_locked(
                lambda: device.spool.delete_everything(reason), wait_seconds=wait_seconds
            )
        except BusyError:
            raise
        except STORAGE_ERRORS:
            return device.delete_reports(reason, wait_seconds)

    def _environment_refuses(self) -> bool:
        return self._environment.get(DO_NOT_TRACK, "") not in ("", "0")
