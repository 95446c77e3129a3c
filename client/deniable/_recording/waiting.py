"""Reports that wait in memory, because the storage was in use when they were recorded.

Only the randomized report waits, never a value. It is debited when it is written, and dropped if
the ledger refuses it; its period counts as taken meanwhile. A kill loses it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._randomness import Randomness
from deniable._recording.metric_plan import NOTHING_REPORTED
from deniable._status import Dropped, Outcome
from deniable._storage.directory import BusyError
from deniable.randomizers import randomizer_for
from deniable_shared.wire import ID_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable._consent import Consent
    from deniable._recording.metric_plan import MetricPlan
    from deniable._recording.report_writer import ReportWriter
    from deniable._remote.configuration import RemoteSettings
    from deniable._storage.device import DeviceStorage

MAX_WAITING: Final = 256
_BUFFER_BYTES: Final = 256


class WaitingReport(NamedTuple):
    """A report that waits in memory.

    Attributes:
        plan: of its metric.
        number: the number of its period.
        epoch: the day on which it was made.
        day: the day that it carries.
        due: when to send it.
        upload_id: see `StoredReport`, as is the next one.
        payload: see there.
        secret: the device's when the report was made, if it was known.
        endings: `Consent.endings` when the report was made.
        rank: of its value, see `ReportWriter.write`.
    """

    plan: MetricPlan
    number: int
    epoch: int
    day: int
    due: float
    upload_id: bytes
    payload: bytes
    secret: bytes | None
    endings: int
    rank: int


class WaitingReports:
    """Keeps reports in memory, and writes them when the storage is free.

    Args:
        storage: where they are written; holds them, and empties its memory of them in the child of
            a fork, and when the user wants everything deleted.
        consent: whether they may be written.
        remote: which metrics fewer devices report.
        writer: pays for them.
    """

    def __init__(
        self,
        storage: DeviceStorage,
        consent: Consent,
        remote: RemoteSettings,
        writer: ReportWriter,
    ) -> None:
        self._storage = storage
        self._consent = consent
        self._remote = remote
        self._writer = writer

    def keep(
        self,
        plan: MetricPlan,
        item: object,
        number: int,
        epoch: int,
        day: int,
        since: float,
        rank: int,
    ) -> Outcome:
        """Makes a report and keeps it; see `ReportWriter.write` for the arguments.

        Draws from a source of its own, for another thread may be drawing from the other one.

        Raises:
            BusyError: if too many wait, or the secret is needed and was not read yet.
        """
        storage, secret = self._storage, self._storage.known_secret
        # What reports absence was thinned when its period was paid for.
        thins = not plan.reports_absence and self._remote.thins(plan.spec.name)
        needs_secret = plan.memoized or thins
        if len(storage.waiting) >= MAX_WAITING or (secret is None and needs_secret):
            raise BusyError("the storage is in use")
        if thins and secret is not None and self._remote.skips_period(plan.spec, number, secret):
            return Outcome.THINNED
        randomness = Randomness(buffer_bytes=_BUFFER_BYTES)
        # Before the noise, which takes more or less randomness by the value.
        due = since + self._writer.draw_delay(plan, randomness)
        endings, upload_id = self._consent.endings, randomness.take(ID_BYTES)
        payload = randomizer_for(plan.spec, randomness).report(item, secret or b"")
        columns = plan, number, epoch, day, due, upload_id, payload, secret, endings, rank
        storage.waiting.append(WaitingReport(*columns))
        if not self._consent.given:  # it ended meanwhile
            storage.discard_waiting(Dropped.CONSENT_WITHDRAWN)
            return Outcome.NO_CONSENT
        return Outcome.WAITING

    def write(self, today: int, *, over: bool) -> list[tuple[WaitingReport, bool]]:
        """Writes what waits; to be called by `DeviceStorage.run_locked`.

        They are charged to the days on which they were made, or to today where the ledger is
        further: another process may have begun a later day, which would look like a clock that went
        back.

        Args:
            today: in days since 1970-01-01. What was made by a clock that was ahead is not written.
            over: whether reports of periods that are over are written, or all others.

        Returns:
            What `settle` is to be told once `run_locked` has returned: reports, and whether each
            was written.
        """
        reports = [each for each in [*self._storage.waiting] if (each.day < today) is over]
        return [(each, self._write(each, today)) for each in reports]

    def settle(self, written: Iterable[tuple[WaitingReport, bool]]) -> None:
        """Lets go of reports that were dealt with."""
        for report, stored in written:
            with contextlib.suppress(ValueError):  # another thread has done so
                self._storage.waiting.remove(report)
                if not stored:
                    report.plan.reported = NOTHING_REPORTED
                    self._storage.count_dropped(Dropped.NOT_WRITTEN)

    def _write(self, report: WaitingReport, today: int) -> bool:
        storage = self._storage
        if storage.spool.reports([report.upload_id]):
            return True
        same = report.secret is None or report.secret == storage.secret
        if not same or report.endings != self._consent.endings or report.epoch > today + 1:
            return False
        plan = report.plan
        in_order = storage.ledger.latest_day() <= report.epoch <= today
        charged = report.epoch if in_order else today

        def store(debit: bytes) -> None:
            _, _, _, day, due, upload_id, payload, _, _, rank = report
            self._writer.store(plan, upload_id, day, payload, due, debit, rank)

        outcome = self._writer.debit(plan, report.number, charged, store)
        if plan.picks and outcome is Outcome.ALREADY_REPORTED:
            payload = report.payload
            outcome, _, _ = self._writer.replace(plan, report.day, report.rank, lambda: payload)
        return outcome is Outcome.RECORDED
