"""The user's consent, and the deletion that they ask for or that a withdrawal demands."""

from __future__ import annotations

from deniable._platform import continuous_integration
from deniable._status import Dropped, Outcome, RememberedConsent
from deniable._storage.directory import DamageError, StorageError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Final

    from deniable._consent_memory import ConsentMemory
    from deniable._storage.device import DeviceStorage

DELETE_WAIT_SECONDS: Final = 1.0
"""How long a withdrawal waits for others that use the storage; after that, deletion stays owed."""

DO_NOT_TRACK: Final = "DO_NOT_TRACK"
"""The environment variable that refuses on the user's behalf, unless it is empty or 0."""


def forbids_tracking(environment: Mapping[str, str]) -> bool:
    """Whether the environment refuses on the user's behalf."""
    return environment.get(DO_NOT_TRACK, "") not in ("", "0")


class Consent:
    """Whether the user agrees, and which deletion is still owed to them.

    Deletion is owed after a withdrawal or a call of `forget`, until it has been done on the disk.

    Args:
        storage: the storage whose reports are deleted.
        environment: the environment variables, which may refuse on the user's behalf.
        memory: remembers the user's answers; None if the application does so itself.
        leaves_machine: whether reports surely go to a server elsewhere, which counts devices.

    Attributes:
        given: whether the user agrees, so that values may be recorded, as far as is known without
            looking; see `still_given`.
        do_not_track: whether the environment refuses; read at the beginning and whenever consent is
            given.
        refusal: the outcome if the environment refuses, by that or as this is no user's device.
        endings: how often consent has ended, so that an agreement holds until this changes.
    """

    def __init__(
        self,
        storage: DeviceStorage,
        environment: Mapping[str, str],
        memory: ConsentMemory | None = None,
        *,
        leaves_machine: bool = False,
    ) -> None:
        self._storage = storage
        self._environment = environment
        self._memory = memory
        self.given = False
        self._leaves_machine = leaves_machine
        self._read_environment()
        self.endings = 0
        self._answer = False  # the user's latest, whatever the environment says
        self._withdrawals = self._requests = 0
        self._withdrawals_done = self._requests_done = 0
        self._withdrawals_remembered = 0

    @property
    def deletion_owed(self) -> bool:
        """Whether something still has to be deleted; until then nothing is recorded or sent."""
        return self._wipe_owed or self._requests_done < self._requests

    def grant(self) -> int | None:
        """The user agrees; has no effect if the environment refuses.

        Returns:
            What `endings` is for as long as this agreement holds. None if the environment refuses.
        """
        self._read_environment()
        if self.refusal is None and self._memory is not None:
            # If that fails, the agreement holds in this process only.
            self._memory.remember(agreed=True, deletion_owed=self._wipe_owed)
            self._answer = True
        self.given = self.refusal is None
        return self.endings if self.given else None

    def recall(self) -> int | None:
        """The user agrees if that is remembered; deletion is owed if an earlier process owed it.

        Returns:
            See `grant`; None if no agreement is remembered, or the environment refuses.
        """
        answer = None if self._memory is None else self._memory.recall()
        if answer is None or self._wipe_owed:
            return None
        if answer.deletion_owed:
            self._withdrawals += 1
            self._withdrawals_remembered = self._withdrawals
        if not answer.consent.agreed:
            return None
        self._answer = True
        self._read_environment()
        self.given = self.refusal is None
        return self.endings if self.given else None

    def remembered(self) -> RememberedConsent | None:
        """The answer that is remembered; None if there is none."""
        answer = None if self._memory is None else self._memory.recall()
        return None if answer is None else answer.consent

    def still_given(self) -> bool:
        """Whether the user agrees, and has not told another process otherwise.

        To be asked before a report is stored or sent.
        """
        if self.given and self._memory is not None and self._memory.has_ended():
            self._end()  # whoever withdrew it deletes the reports
        return self.given

    def withdraw(self) -> None:
        """The user does not agree, or no longer does: all that was stored has to be wiped."""
        self._end()
        self._withdrawals += 1

    def forget(self) -> int:
        """Deletes pending and remembered reports, as the user wants; needs no consent.

        Returns:
            How many reports were pending.

        Raises:
            StorageError, OSError: see `delete_owed`.
        """
        self._requests += 1
        waited = self._storage.discard_waiting(Dropped.FORGOTTEN)
        return waited + self.delete_owed_now()

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
            StorageError, OSError: if it cannot be done now; then it stays owed.
        """
        if not self.deletion_owed:
            return 0
        # A request that follows while this is at work is not done by it, and stays owed.
        withdrawals, requests = self._withdrawals, self._requests
        wipe, exists, count = self._wipe_owed, self._storage.exists, 0
        # First, so that a process that dies before the end leaves the rest to the next one.
        remembered = self._remember(withdrawals, deletion_owed=exists)
        if exists:
            count = self._delete(self._storage.wipe if wipe else self._storage.forget, wait_seconds)
        if not remembered:
            raise StorageError("the user's answer cannot be remembered")
        self._withdrawals_done = max(self._withdrawals_done, withdrawals)
        self._requests_done = max(self._requests_done, requests)
        if wipe and self._memory is not None:
            self._memory.note_deletion()
        return count

    def _remember(self, withdrawals: int, *, deletion_owed: bool) -> bool:
        """Has so many withdrawals remembered, if that is wanted; whether none is missing."""
        if self._memory is None or self._withdrawals_remembered >= withdrawals:
            return True
        if not self._memory.remember(agreed=self._answer, deletion_owed=deletion_owed):
            return False
        self._withdrawals_remembered = withdrawals
        return True

    def _delete(self, action: Callable[[], int], wait_seconds: float) -> int:
        try:
            return self._storage.run_syncing(action, wait_seconds)
        except DamageError:
            self._storage.erase_unreadable(wait_seconds)
            return 0

    @property
    def _wipe_owed(self) -> bool:
        return self._withdrawals_done < self._withdrawals

    def _read_environment(self) -> None:
        self.do_not_track = forbids_tracking(self._environment)
        self.refusal: Outcome | None = None
        if self.do_not_track:
            self.refusal = Outcome.DO_NOT_TRACK
        elif self._leaves_machine and continuous_integration.refuses(self._environment):
            self.refusal = Outcome.IN_CI

    def _end(self) -> None:
        self.given = self._answer = False
        self.endings += 1
        self._storage.discard_waiting(Dropped.CONSENT_WITHDRAWN)
