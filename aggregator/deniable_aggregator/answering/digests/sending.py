"""Sends the digests that are due, each over every channel, and tries again what failed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.answering.answers import Answerer
from deniable_aggregator.answering.digests.channels import DeliveryError, channels_of
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answers.dates import DayRange, day_of, epoch_of
from deniable_aggregator.asking.credentials import AskingError
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.keeping.store import Digest, Store
from deniable_aggregator.telling.report.digest import digest_of
from deniable_aggregator.telling.report.gathering import gather
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date

    from deniable_aggregator.keeping.settings import Settings
    from deniable_aggregator.telling.report.digest import Digest as Message

HOUR: Final = 3_600.0
PAUSES: Final = (300.0, 1_800.0, 2 * HOUR, 6 * HOUR)
"""How long after an attempt the next one comes; after the last attempt it is given up."""


class Sent(NamedTuple):
    """What was done.

    Attributes:
        sent: how many messages were delivered.
        failures: why others were not, without addresses.
        next_attempt: when something is due again, seconds since 1970; None if nothing is.
    """

    sent: int
    failures: Sequence[str]
    next_attempt: float | None


def due_period(every: str, today: date) -> DayRange:
    """The latest day, or week from Monday to Sunday, that is over.

    Args:
        every: day or week.
        today: the current day.
    """
    if every == "day":
        yesterday = today - timedelta(1)
        return DayRange(yesterday, yesterday)
    monday = today - timedelta(today.weekday())
    return DayRange(monday - timedelta(7), monday - timedelta(1))


def due_at(settings: Settings, period: DayRange) -> float:
    """From when on a digest is sent, seconds since 1970.

    Args:
        settings: the hour.
        period: what it is about.
    """
    return (epoch_of(period.until) + 1) * SECONDS_PER_EPOCH + settings.digest_hour * HOUR


def message_about(source: LocalSource, period: DayRange, *, details: bool) -> Message | None:
    """The digest of an application; None if there is nothing to say.

    Args:
        source: answers questions about it.
        period: the days.
        details: whether keys are named, and strings that nobody listed.
    """
    try:
        return digest_of(gather(source, period), details=details)
    except AskingError:  # not even the metrics are answered
        return None


class DigestSender:
    """Sends what is due of one store.

    Args:
        store: the store.
        settings: what is sent, and where to.
        today: the server's day, in days since 1970-01-01.
        clock: seconds since 1970, for times between attempts.
    """

    def __init__(
        self, store: Store, settings: Settings, today: int, clock: Callable[[], float]
    ) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._period = due_period(settings.digest_every, day_of(today))
        # Only the day of this clock matters: it is noon.
        noon = (today + 0.5) * SECONDS_PER_EPOCH
        self._parts = Parts(store, settings, lambda: noon)
        self._channels = channels_of(settings)

    def send(self) -> Sent:
        """Sends what is due, about the latest period that is over.

        Raises:
            InUseError: if another process sends.
            StoreUnavailableError: if the store cannot be read or written.
        """
        sent = 0
        failures: list[str] = []
        with self._store.digests.alone():
            for digest, (attempts, not_before) in self._open().items():
                if self._clock() >= not_before:
                    why = self._attempt(digest, attempts)
                    sent += why is None
                    failures += [f"{digest.application}: {why}"] if why else []
            times = [not_before for _, not_before in self._open().values()]
        return Sent(sent, failures, min(times, default=None))

    def _open(self) -> dict[Digest, tuple[int, int]]:
        since = epoch_of(self._period.since)
        wanted = [
            Digest(application, self._settings.digest_every, since, channel)
            for application in self._store.metrics.applications()
            for channel in self._channels
        ]
        return self._store.digests.open(wanted, self._clock())

    def _attempt(self, digest: Digest, attempts: int) -> str | None:
        """Why a digest was not delivered: empty if there was nothing to say, None if it was."""
        last = attempts >= len(PAUSES)
        pause = PAUSES[min(attempts, len(PAUSES) - 1)]
        self._store.digests.begin(digest, attempts + 1, self._clock() + pause)
        source = LocalSource(Answerer(self._parts), digest.application)
        message = message_about(source, self._period, details=self._settings.digest_details == "on")
        if message is None or (self._settings.digest_when == "news" and not message.is_news):
            self._store.digests.end(digest, "nothing to say")
            return ""
        try:
            self._channels[digest.channel](message)
        except DeliveryError as error:
            if last:
                self._store.digests.end(digest, "given up")
                return f"given up after {attempts + 1} attempts: {error}"
            return str(error)
        self._store.digests.end(digest, "sent")
        return None
