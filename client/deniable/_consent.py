"""What the user has agreed to, and the wiping that follows when they no longer do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from deniable._device import Device

DO_NOT_TRACK: Final = "DO_NOT_TRACK"
"""The environment variable that refuses for the user; anything but nothing and 0 does."""


class Consent:
    """The user's answer, and whether a withdrawal still has to reach the disk.

    Args:
        device: what a withdrawal wipes.

    Attributes:
        given: whether values may be recorded.
        do_not_track: whether the environment refuses for the user, whatever the application says.
        withdrawals: how often the user has said no.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.given = False
        self.do_not_track = os.environ.get(DO_NOT_TRACK, "") not in ("", "0")
        self.withdrawals = 0
        self._settled = 0

    @property
    def owed(self) -> bool:
        """Whether the device still has to be wiped; until then nothing is recorded or sent."""
        return self._settled < self.withdrawals

    def grant(self) -> None:
        """The user agrees; without effect under `do_not_track`."""
        self.given = not self.do_not_track

    def withdraw(self) -> None:
        """The user does not agree, or no longer does: all that was stored is to be wiped."""
        self.given = False
        self.withdrawals += 1

    def settle(self) -> None:
        """Does the wiping that is owed, if any.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if it cannot be done now; then it
                stays owed.
        """
        if not self.owed:
            return
        # Those so far: another one may follow while this is at work, and is owed then.
        settled = self.withdrawals
        if self._device.exists:
            with self._device as device:
                device.wipe()
        self._settled = max(self._settled, settled)
