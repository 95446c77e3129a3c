"""What a relay does by itself: closes, forwards, sweeps, and asks for the configuration.

One thread looks once a second whether something is due. Everything that must not be done twice, or
be forgotten, is in the relay's file: after a crash the next look goes on from there.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.doors.relay.closing import close_period, sweep
from deniable_aggregator.doors.relay.settings import first_day
from deniable_aggregator.doors.server.log_format import OURS
from deniable_aggregator.keeping.store import StoreUnavailableError
from deniable_shared.errors import WireError
from deniable_shared.periods import epoch_at
from deniable_shared.remote import MAX_DOCUMENT_BYTES
from deniable_shared.remote import PATH as REMOTE_PATH
from deniable_shared.sealing import MAX_PART_BYTES, PART_CONTENT_TYPE, RELAYED_PATH, Answer, Part

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.asking.connection import ServerAnswer
    from deniable_aggregator.doors.relay.envelopes import Closing, EnvelopeStore
    from deniable_aggregator.doors.relay.settings import RelaySettings

LOOK_SECONDS: Final = 1.0
HOUR_SECONDS: Final = 3_600.0
FIRST_RETRY_SECONDS: Final = 10.0
"""The pause after a part that was not taken; it doubles up to an hour."""

PART_ENVELOPES_BYTES: Final = MAX_PART_BYTES - (64 << 10)
"""The envelopes of a part leave room for what stands around them."""

log = logging.getLogger(OURS)


class Aggregator(Protocol):
    """Whom a relay asks: `Connection`, with a key of scope relay."""

    def request(
        self, method: str, path: str, *, content: bytes | None = None, content_type: str = ""
    ) -> ServerAnswer:
        """As of `Connection`."""


class Rounds:
    """Does what is due.

    Args:
        store: the relay's file.
        connection: to the aggregator.
        settings: the calendar and the limits.
        clock: seconds since 1970.
        monotonic: seconds by a clock that cannot be set.

    Attributes:
        document: the signed remote configuration as the aggregator has it; None if there is none.
        used_share: what the file takes, of what it may.
        closings: all closes that are known, the latest first.
        refused: how many parts the aggregator did not take.
        failures: how many looks failed.
        failure: why the file could not be read or written at the last look; empty if it could.
    """

    def __init__(
        self,
        store: EnvelopeStore,
        connection: Aggregator,
        settings: RelaySettings,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._connection = connection
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._pause = FIRST_RETRY_SECONDS
        now = monotonic()
        self._forward_at = self._fetch_at = self._sweep_at = now
        self.document: bytes | None = None
        self.used_share = 0.0
        self.closings: list[Closing] = []
        self.refused = self.failures = 0
        self.failure = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="deniable-relay", daemon=True)

    def start(self) -> None:
        """Looks once a second, until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Ends the thread, after what it is doing, and sweeps the file that is left."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(LOOK_SECONDS)
            with suppress(StoreUnavailableError):  # whoever starts it next sweeps, too
                self._sweep(epoch_at(self._clock()), self._monotonic())

    def _run(self) -> None:
        while not self._ending.is_set():
            if not self.try_to_look():
                self._ending.wait(LOOK_SECONDS)

    def try_to_look(self) -> bool:
        """As `look`, of which no failure is raised: each is counted and logged."""
        try:
            goes_on = self.look()
        except StoreUnavailableError as error:
            self.failures += 1
            self.failure = str(error)
            if not self._ending.is_set():
                log.error("the relay's file cannot be read or written: %s", error)
            return False
        except Exception as error:  # the thread must outlive every failure
            self.failures += 1
            log.error("a round of the relay failed: %s", type(error).__name__, exc_info=True)
            return False
        self.failure = ""
        return goes_on

    def look(self) -> bool:
        """Does what is due now, of a batch one part.

        Returns:
            Whether there is more to do at once.

        Raises:
            StoreUnavailableError: if the file cannot be read or written.
        """
        day, now = epoch_at(self._clock()), self._monotonic()
        self.used_share = self._store.used_share(self._settings.most_bytes)
        # First, as it drops what a close must not forward any more.
        if now >= self._sweep_at:
            self._sweep(day, now)
        if self._close(day):
            self._sweep(day, now)
        self.closings = self._store.closings()
        if now >= self._fetch_at:
            self._fetch_at = now + HOUR_SECONDS
            self._fetch_configuration()
        return now >= self._forward_at and self._forward(day, now)

    def _close(self, day: int) -> bool:
        """Closes the period before, if that is due."""
        settings = self._settings
        closing = close_period(self._store, first_day(settings.every, day), least=settings.least)
        if closing is None:
            return False
        if closing.size:
            log.info("closed a batch of %d", closing.size)
        else:
            log.warning("fewer than %d wait, so all wait for the next close", settings.least)
        return True

    def _sweep(self, day: int, now: float) -> None:
        """Sweeps the file: after each close, hourly, at the start and at the end."""
        self._sweep_at = now + HOUR_SECONDS
        dropped = sweep(self._store, day, most_missed=self._settings.most_missed)
        if dropped:
            log.warning("%d had waited too long for a close and were dropped", dropped)

    def _forward(self, day: int, now: float) -> bool:
        """Forwards the next part; returns whether there may be another."""
        held = self._store.next_part(PART_ENVELOPES_BYTES)
        if held is None:
            return False
        settings = self._settings
        part = Part(
            held.batch,
            held.size,
            settings.every,
            settings.least,
            held.envelopes,
            held.offered,
        )
        # Also if its answer cannot be written: the same part is not brought again and again.
        self._forward_at = now + self._pause
        self._pause = min(2 * self._pause, HOUR_SECONDS)
        try:
            answer = self._connection.request(
                "POST", RELAYED_PATH, content=part.encode(), content_type=PART_CONTENT_TYPE
            )
            settled = Answer.decode(answer.content, len(held.envelopes))
        except (AskingError, WireError) as error:
            self.refused += 1
            code = error.code if isinstance(error, AskingError) else "unreadable_answer"
            log.warning("the aggregator takes no part now (%s): it is sent again", code)
            return False
        self._store.settle(held, settled, day, most_missed=settings.most_missed)
        self._forward_at, self._pause = now, FIRST_RETRY_SECONDS
        return True

    def _fetch_configuration(self) -> None:
        """Asks for the signed configuration, so that devices need not ask the aggregator."""
        try:
            document = self._connection.request("GET", REMOTE_PATH).content
        except AskingError as error:
            if error.code == "not_found":
                self.document = None
            elif error.code != "unreachable":
                log.warning("the aggregator gives no remote configuration (%s)", error.code)
            return
        self.document = document if len(document) <= MAX_DOCUMENT_BYTES else None
