"""Remembering the user's answer from one run of the application to the next."""

from __future__ import annotations

from deniable._status import RememberedConsent
from deniable._storage.consent_file import Answer, ConsentFile
from deniable._storage.directory import StorageError, describe_error
from deniable_shared.periods import calendar_day, epoch_at

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date
    from typing import Final

    from deniable._event_log import EventLog

_NOT_READ: Final = object()


class ConsentMemory:
    """Writes the user's answer down, and notices that another process has written another one.

    Args:
        file: where the answer is written.
        events: where problems are noted.
        clock: seconds since 1970-01-01.
    """

    def __init__(self, file: ConsentFile, events: EventLog, clock: Callable[[], float]) -> None:
        self._file = file
        self._events = events
        self._clock = clock
        self._state: object = _NOT_READ

    def recall(self) -> Answer | None:
        """What the user has answered; None if nobody has asked, or the answer cannot be read."""
        return self._file.read()

    def remember(self, *, agreed: bool, deletion_owed: bool) -> bool:
        """Writes an answer down, unless it is remembered already; then its day stays, too.

        Args:
            agreed: the answer.
            deletion_owed: see `Answer`.

        Returns:
            Whether that was done; if it was not, but nothing is remembered now, a refusal was.
        """
        known = self._file.read()
        same = known is not None and known.consent.agreed == agreed
        since = known.consent.since if known is not None and same else self._today()
        answer = Answer(RememberedConsent(agreed=agreed, since=since), deletion_owed)
        try:
            if answer != known:
                self._file.write(answer)
        except (StorageError, OSError) as error:
            self._events.problem("consent_not_remembered", describe_error(error))
            self._state = self._file.state()
            return not agreed and self._file.read() is None
        self._state = _NOT_READ
        return True

    def note_deletion(self) -> None:
        """Writes down that nothing has to be deleted any longer, whatever the answer is by now."""
        known = self._file.read()
        if known is not None and known.deletion_owed:
            self.remember(agreed=known.consent.agreed, deletion_owed=False)

    def has_ended(self) -> bool:
        """Whether an agreement of this process has been withdrawn by another one.

        Called before each report is stored or sent; takes a look at the file's entry in the
        directory, and reads the file only if it was replaced. Without the file nobody has agreed.
        """
        state = self._file.state()
        if state == self._state:
            return False
        self._state = state
        answer = self._file.read()
        return answer is None or not answer.consent.agreed

    def _today(self) -> date:
        return calendar_day(epoch_at(self._clock()))
