"""What the user has agreed to, and the wiping that follows when they no longer do."""

from __future__ import annotations

from deniable._directory import DistrustError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from deniable._device import Device

SETTLE_SECONDS: Final = 1.0
"""How long a withdrawal waits for others to leave the storage before it stays owed."""

DO_NOT_TRACK: Final = "DO_NOT_TRACK"
"""The environment variable that refuses for the user; anything but nothing and 0 does."""


class Consent:
    """The user's answer, and whether a withdrawal still has to reach the disk.

    Args:
        device: what a withdrawal wipes.
        environment: the process's; it may refuse for the user.

    Attributes:
        given: whether values may be recorded.
        do_not_track: whether the environment refused, when it was looked at last: at the beginning
            and whenever consent is given.
        withdrawals: how often the user has said no.
    """

    def __init__(self, device: Device, environment: Mapping[str, str]) -> None:
        self._device = device
        self._environment = environment
        self.given = False
        self.do_not_track = self._refused()
        self.withdrawals = 0
        self._settled = 0

    @property
    def owed(self) -> bool:
        """Whether the device still has to be wiped; until then nothing is recorded or sent."""
        return self._settled < self.withdrawals

    def grant(self) -> None:
        """The user agrees; under `do_not_track` nobody does."""
        self.do_not_track = self._refused()
        self.given = not self.do_not_track

    def withdraw(self) -> None:
        """The user does not agree, or no longer does: all that was stored is to be wiped."""
        self.given = False
        self.withdrawals += 1

    def settle(self, wait_seconds: float = SETTLE_SECONDS) -> None:
        """Does the wiping that is owed, if any.

        Args:
            wait_seconds: how long to wait for others to leave the storage.

        Raises:
            StorageError, LedgerError, sqlite3.Error, OSError: if it cannot be done now; then it
                stays owed.
        """
        if not self.owed:
            return
        # Those so far: another one may follow while this is at work, and is owed then.
        settled = self.withdrawals
        if self._device.exists:
            try:
                self._device.use(self._device.wipe, wait_seconds=wait_seconds)
            except DistrustError:  # then nothing will be recorded, and what was, goes all the same
                self._device.disown(wait_seconds)
        self._settled = max(self._settled, settled)

    def _refused(self) -> bool:
        return self._environment.get(DO_NOT_TRACK, "") not in ("", "0")
