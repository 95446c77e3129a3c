"""The spool: randomized reports that wait on this device to be uploaded.

Reports that the aggregator has taken are remembered for a while, so that the user can be shown what
this device has said: spec, day and payload, not the upload's id or any time. Of memoised reports
the payload is not kept, for whoever has the device's secret could recognise the value in it.
"""

from __future__ import annotations

import os
import struct

from deniable._status import Dropped
from deniable._storage.records import CHANGED, DEBIT, GONE, PAID, REPORT, SENT, SPEC
from deniable._storage.stored_report import RESCHEDULED, StoredReport, report_from_tail

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Final

    from deniable._event_log import EventLog

MAX_REPORTS: Final = 10_000
MAX_BYTES: Final = 8 << 20
"""Of all payloads together."""

MAX_AGE_DAYS: Final = 30
"""Older reports are dropped if sending them has been tried, for the aggregator has long closed
their day. Delivered reports are remembered as long."""

MAX_MEMOIZED_AGE_DAYS: Final = 14
"""Older memoised reports are dropped even if sending them was never tried: whoever gets the
device's directory can read the value in them, and the aggregator has usually closed their day."""

MAX_REQUIRED_AGE_DAYS: Final = 7
"""Older reports that are taken through a relay alone are dropped even if sending them was never
tried: they would stand in a later batch, with few like them."""

MAX_SENT: Final = 2_000
"""At most this many delivered reports are remembered: those of the latest days."""

_REPORT: Final = struct.Struct("<BIq")
_CHANGED: Final = struct.Struct("<B16sdIq")
_GONE: Final = struct.Struct("<BB16s")
_SENT: Final = struct.Struct("<32sqB")
_SPEC: Final = struct.Struct("<BB32s")


class Sent:
    """A delivered report that is remembered.

    Attributes:
        digest: the digest of its spec.
        epoch: its UTC day.
        payload: None if the spec's mechanism memoises.
    """

    __slots__ = ("digest", "epoch", "payload")

    def __init__(self, digest: bytes, epoch: int, payload: bytes | None) -> None:
        self.digest, self.epoch, self.payload = digest, epoch, payload


class Spool:
    """The reports of one device, in memory. Its owner holds a lock.

    Args:
        append: adds a record of a body and a tail to the journal, and returns its place.
        events: where dropped reports are counted.

    Attributes:
        mark: records before this place survive a power failure, so their reports may be sent.
        sent: delivered reports.
        replaced: how many reports that gave way to others the journal still holds.
        described: what `disclosure` needs to explain reports, by the digest of their spec.
    """

    def __init__(self, append: Callable[[bytes, bytes], int], events: EventLog) -> None:
        self._append = append
        self._events = events
        self._reports: dict[bytes, StoredReport] = {}
        self._memoized: dict[bytes, bool] = {}
        self._payload_bytes = 0
        self.mark = self.replaced = 0
        self.sent: list[Sent] = []
        self.described: dict[bytes, str] = {}

    def add(
        self,
        upload_id: bytes,
        digest: bytes,
        epoch: int,
        payload: bytes,
        due: float,
        description: str,
        debit: bytes | None = None,
        least: int = 0,
        *,
        memoized: bool,
    ) -> None:
        """Stores a report; if there are too many, the oldest ones are dropped and counted.

        A report with the id of one that waits takes its place.

        Args:
            upload_id: see `StoredReport`, as are the next four.
            digest: see there.
            epoch: see there.
            payload: see there.
            due: see there.
            description: what `disclosure` needs to explain reports of this spec.
            debit: the body of the debit that pays for the report, see `Ledger.debit`; None if it
                was paid for before.
            least: see `StoredReport`.
            memoized: whether the spec's mechanism memoises its answers.
        """
        if digest not in self.described:
            self.described[digest], self._memoized[digest] = description, memoized
            self._append(_SPEC.pack(SPEC, memoized, digest), description.encode())
        report = StoredReport(upload_id, digest, epoch, payload, due, 0, 0, 0, least)
        body = _REPORT.pack(REPORT, 0, 0) if debit is None else debit
        self._put(report._replace(place=self._append(body, report.encode_tail())))
        if len(self._reports) > MAX_REPORTS or self._payload_bytes > MAX_BYTES:
            self._drop_oldest()

    def replaceable(self, digest: bytes, epoch: int) -> StoredReport | None:
        """The report of a spec and day that may still give way to another one, if any."""
        for each in self._reports.values():
            if each.least and each.epoch == epoch and each.digest == digest:
                return each
        return None

    def replace(self, report: StoredReport, payload: bytes, least: int) -> None:
        """Has another payload take the place of a report's, as one record with its draw.

        Id, day and due time stay.

        Args:
            report: see `replaceable`.
            payload: of another value.
            least: its draw, which is below that of the report.
        """
        report = report._replace(payload=payload, least=least)
        place = self._append(_REPORT.pack(REPORT, 0, 0), report.encode_tail())
        self._put(report._replace(place=place))
        self.replaced += 1

    def count(self) -> int:
        """How many reports are stored."""
        return len(self._reports)

    def ids(self) -> list[bytes]:
        """The upload ids of all reports."""
        return [*self._reports]

    def reports(self, ids: Iterable[bytes] | None = None) -> list[StoredReport]:
        """The reports with these ids, in this order, without those deleted meanwhile; or all."""
        if ids is None:
            return [*self._reports.values()]
        return [self._reports[each] for each in ids if each in self._reports]

    def due(self, now: float, horizon: float) -> list[StoredReport]:
        """The reports that are due.

        Args:
            now: in seconds since 1970-01-01.
            horizon: reports due later than this count as due now, because a clock that was ahead
                wrote their times.
        """
        return [each for each in self._reports.values() if not now < each.due <= horizon]

    def next_due_time(self) -> float | None:
        """When the next report is due, or None if there is none."""
        return min((each.due for each in self._reports.values()), default=None)

    def may_leave(self, report: StoredReport) -> bool:
        """Whether a report and its debit survive a power failure."""
        return report.place < self.mark

    def reschedule_overdue(
        self,
        report: StoredReport,
        now: float,
        horizon: float,
        time: Callable[[], float],
        *,
        late: int,
        again: bool,
    ) -> None:
        """Gives every overdue report but one a new time, so that they are not sent together.

        Args:
            report: the one that is sent now.
            now: see `due`, as is the next one.
            horizon: see there.
            time: returns a new time for a report.
            late: reports of this day, in days since 1970-01-01, and of earlier days keep their
                time, and so do reports that were given a new time before, unless `again` is set.
            again: whether these, too, are given a new time.
        """
        for each in self.due(now, horizon):
            moves = again or each.due > horizon
            moves = moves or (each.claimant != RESCHEDULED and each.epoch > late)
            if moves and each.upload_id != report.upload_id:
                self._change(each._replace(due=time(), claimant=RESCHEDULED))

    def claim(self, report: StoredReport, due: float) -> bool:
        """Claims a report for one attempt to send it: other processes leave it alone until then.

        Args:
            report: as it was read.
            due: its new due time, when others may send it.

        Returns:
            False if another process has sent, dropped or claimed it meanwhile, or if a power
            failure could take it.
        """
        known = self._reports.get(report.upload_id)
        same = known is not None and (known.due, known.payload) == (report.due, report.payload)
        if known is None or not same or not self.may_leave(known):
            return False
        self._change(known._replace(due=due, tries=known.tries + 1, claimant=os.getpid()))
        return True

    def postpone(self, report: StoredReport, due: float) -> None:
        """Ends the claim of a report, which is to be sent at another time."""
        known = self._reports.get(report.upload_id)
        if known is not None:
            self._change(known._replace(due=due, claimant=0))

    def move_to_sent(self, report: StoredReport) -> bool:
        """Moves a report that the aggregator has taken to the remembered ones.

        Of a memoised report it is remembered that there was one, but not its payload.

        Returns:
            False if it was no longer there.
        """
        return self._remove(report.upload_id, delivered=True)

    def delete_refused(self, report: StoredReport) -> bool:
        """Deletes a report that the aggregator will never take; False if it was no longer there."""
        return self._remove(report.upload_id)

    def drop_old(
        self,
        today: int,
        absence_digests: Collection[bytes],
        required_digests: Collection[bytes] = (),
    ) -> None:
        """Drops and counts pending reports that are too old, and forgets delivered ones.

        A report that was never tried is kept, for the clock may be wrong: the aggregator decides.
        Memoised reports are dropped nevertheless, see `MAX_MEMOIZED_AGE_DAYS`. Of a period that is
        over the least draw is forgotten, as it tells about how many values there were.

        Args:
            today: in days since 1970-01-01.
            absence_digests: digests of metrics that report absence. Their reports are dropped even
                if they were never tried, because absence on such days is no longer reported, so a
                report would reveal that there was a value.
            required_digests: digests of metrics whose reports are taken through a relay alone; see
                `MAX_REQUIRED_AGE_DAYS`.
        """
        first_required = today - MAX_REQUIRED_AGE_DAYS
        late = [
            each.upload_id
            for each in self._reports.values()
            if each.epoch < first_required and each.digest in required_digests
        ]
        self._drop(late, Dropped.TOO_LATE)
        first, first_memoized = today - MAX_AGE_DAYS, today - MAX_MEMOIZED_AGE_DAYS
        old = [
            each.upload_id
            for each in self._reports.values()
            if (each.epoch < first and (each.tries or each.digest in absence_digests))
            or (each.epoch < first_memoized and self._memoized.get(each.digest, True))
        ]
        self._drop(old, Dropped.TOO_OLD)
        self.sent = [each for each in self.sent if each.epoch >= first]
        for each in self.reports():
            if each.least and each.epoch < today:
                self._change(each)

    def drop_ahead(self, day: int) -> None:
        """Drops and counts reports of later days, which a clock that was ahead has dated.

        Args:
            day: in days since 1970-01-01.
        """
        later = [each.upload_id for each in self._reports.values() if each.epoch > day]
        self._drop(later, Dropped.CLOCK_AHEAD)

    def delete_everything(self) -> int:
        """Deletes everything: pending and delivered reports, and descriptions.

        Adds no record, as a new journal follows; counts nothing, as that may fail.

        Returns:
            How many reports were pending.
        """
        count = len(self._reports)
        self._reports, self._memoized, self._payload_bytes = {}, {}, 0
        self.sent, self.described = [], {}
        return count

    def apply(self, body: bytes, tail: bytes | None, place: int) -> None:
        """Does again what a record says was done.

        Args:
            body: of a kind that the spool reads, or a debit.
            tail: None if it is damaged; then what it held is lost.
            place: where the record begins.
        """
        kind = body[0]
        if kind in (DEBIT, PAID):
            if tail:
                self._put(report_from_tail(tail, 0, 0, place))
        elif kind == REPORT:
            _, tries, claimant = _REPORT.unpack(body)
            if tail:
                report = report_from_tail(tail, tries, claimant, place)
                self.replaced += report.upload_id in self._reports
                self._put(report)
        elif kind == CHANGED:
            _, upload_id, due, tries, claimant = _CHANGED.unpack(body)
            known = self._reports.get(upload_id)
            if known is not None:
                self._put(known._replace(due=due, tries=tries, claimant=claimant, least=0))
        elif kind == GONE:
            _, delivered, upload_id = _GONE.unpack(body)
            self._take(upload_id, delivered=bool(delivered))
        elif kind == SPEC:
            _, memoized, digest = _SPEC.unpack(body)
            self._memoized[digest] = bool(memoized)
            if tail is not None:
                self.described[digest] = tail.decode()
        elif tail:
            digest, epoch, kept = _SENT.unpack_from(tail)
            self.sent.append(Sent(digest, epoch, tail[_SENT.size :] if kept else None))

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """Bodies and tails of records that say all that the spool does, in any order."""
        for digest, description in self.described.items():
            yield _SPEC.pack(SPEC, self._memoized[digest], digest), description.encode()
        for report in self._reports.values():
            yield _REPORT.pack(REPORT, report.tries, report.claimant), report.encode_tail()
        for each in self.sent:
            head = _SENT.pack(each.digest, each.epoch, each.payload is not None)
            yield bytes((SENT,)), head + (each.payload or b"")

    def seal(self, mark: int) -> None:
        """Notes that all reports survive a power failure, as a new journal has them all.

        Args:
            mark: where its records end.
        """
        self.mark, self.replaced = mark, 0
        self._reports = {key: each._replace(place=0) for key, each in self._reports.items()}

    def _put(self, report: StoredReport) -> None:
        known = self._reports.get(report.upload_id)
        self._reports[report.upload_id] = report
        self._payload_bytes += len(report.payload) - (0 if known is None else len(known.payload))

    def _change(self, report: StoredReport) -> None:
        """Notes what becomes of a report that is over; from now on it gives way to none."""
        self._reports[report.upload_id] = report._replace(least=0)
        columns = report.upload_id, report.due, report.tries, report.claimant
        self._append(_CHANGED.pack(CHANGED, *columns), b"")

    def _remove(self, upload_id: bytes, *, delivered: bool = False) -> bool:
        if not self._take(upload_id, delivered=delivered):
            return False
        self._append(_GONE.pack(GONE, delivered, upload_id), b"")
        return True

    def _take(self, upload_id: bytes, *, delivered: bool) -> bool:
        report = self._reports.pop(upload_id, None)
        if report is None:
            return False
        self._payload_bytes -= len(report.payload)
        memoized = self._memoized.get(report.digest)
        if delivered and memoized is not None:  # else it is not known whether it may be kept
            payload = None if memoized else report.payload
            self.sent.append(Sent(report.digest, report.epoch, payload))
            if len(self.sent) > MAX_SENT + MAX_SENT // 10:
                self.sent.sort(key=lambda each: each.epoch)
                del self.sent[:-MAX_SENT]
        return True

    def _drop(self, ids: Collection[bytes], reason: Dropped) -> None:
        for upload_id in ids:
            self._remove(upload_id)
        self._events.count_dropped(reason, len(ids))

    def _drop_oldest(self) -> None:
        # A twentieth more than needed: fewer than one call of `record` in a hundred sorts them.
        count = max(len(self._reports) - MAX_REPORTS, 0) + MAX_REPORTS // 20
        oldest = sorted(self._reports.values(), key=lambda each: each.epoch)
        self._drop([each.upload_id for each in oldest[:count]], Dropped.SPOOL_FULL)
