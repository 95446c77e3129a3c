"""The ledger: which periods this device has reported, and how much epsilon that has cost.

Amounts are integer nano-nats and costs are rounded up, so sums are exact. Time only moves forward:
if the clock goes back, no period becomes free again, and a day that comes a second time is charged
to the latest day that was seen. `Ledger.note_days` is the exception: it gives up a latest day that
lay ahead, which costs a day of silence, see `deniable._recording.day_keeper`.

Reports of a memoising mechanism are charged until they have paid for every permanent answer that
this device can ever give under one secret and one spec. Later reports repeat these answers and are
free. The ledger does not record which answers were given, for that would be the true values.

Every record of a debit has the whole account as it is afterwards, so that none needs another.
"""

from __future__ import annotations

import math
import struct

from deniable._status import Outcome
from deniable._storage.records import DAYS, DEBIT, ENROLLED, LEFT, LIMITS, PAID
from deniable_shared.periods import period as period_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Final

    from deniable._storage.cost import Charge

NO_DAY: Final = -(1 << 62)

_ACCOUNT: Final = struct.Struct("<BqQQQq")
_ANSWERS: Final = struct.Struct("<Q32s")
_LIMITS: Final = struct.Struct("<BQQ")
_DAY: Final = struct.Struct("<Bq")
_AHEAD: Final = struct.Struct("<Bq")
_RUN: Final = struct.Struct("<qq")
_NEVER: Final = (NO_DAY, 0, None)


class Ledger:
    """What one device has spent, in memory. Its owner holds a lock.

    Args:
        append: adds a record of a body and a tail to the journal.

    Attributes:
        lifetime: nano-nats that were ever spent.
        limits: what one day and a lifetime may cost, as the latest debit had it; or None.
        refused_until: the last day of which the latest debit that was ``OVER_BUDGET`` is known to
            be refused again, see `debit`; infinite if what is left of the lifetime is too little.
    """

    def __init__(self, append: Callable[[bytes, bytes], int]) -> None:
        self._append = append
        self._latest, self._today, self.lifetime, self._delta = 0, 0, 0, 0
        self._runs: tuple[tuple[int, int], ...] = ()
        self._ahead: int | None = None
        self._entries: dict[tuple[str, str], tuple[int, int, bytes | None]] = {}
        self._enrolled: dict[tuple[str, str], int] = {}
        self.limits: tuple[int, int] | None = None
        self.refused_until: float = -math.inf

    def debit(
        self,
        charge: Charge,
        period: int,
        epoch: int,
        limits: tuple[int, int],
        store: Callable[[bytes], object] | None = None,
    ) -> Outcome:
        """Marks a period as reported and spends the cost of its report.

        Args:
            charge: the metric and what its report costs.
            period: the number of the period, see `deniable_shared.periods.period`.
            epoch: today, in days since 1970-01-01.
            limits: what one day and a lifetime may cost, in nano-nats.
            store: called with the body of the debit, to make one record of it and of the report;
                None for a debit whose report comes later.

        Returns:
            ``RECORDED`` if the debit was made; otherwise ``ALREADY_REPORTED`` or ``OVER_BUDGET``.
            What does not fit now never fits again up to the day `refused_until`, unless a later day
            was charged by then and the clock went back: what was spent in a day and ever only
            grows, an earlier day is charged to the latest one, and what others pay for permanent
            answers of the same spec lowers the cost by no more than they spend.
        """
        metric, every, cost, digest, total, delta = charge
        key = metric, every
        reported, paid, paid_for = self._entries.get(key, _NEVER)
        if period <= reported:
            return Outcome.ALREADY_REPORTED
        if digest is None:
            paid = 0
        else:
            if paid_for != digest:
                paid = 0  # the answers of another spec: nothing has been paid for these
            cost = min(cost, max(0, total - paid))
            paid += cost
        latest, today = self._latest, self._today
        if epoch > latest:
            latest, today = epoch, 0
        today += cost
        lifetime = self.lifetime + cost
        if today > limits[0] or lifetime > limits[1]:
            self.refused_until = latest if lifetime <= limits[1] else math.inf
            return Outcome.OVER_BUDGET
        self._latest, self._today, self.lifetime = latest, today, lifetime
        self._delta += delta
        self._entries[key] = period, paid, digest
        if limits != self.limits:
            self.limits = limits
            self._append(_LIMITS.pack(LIMITS, *limits), b"")
        body = self._body(key, period, paid, digest)
        if store is None:
            self._append(body, b"")
        else:
            store(body)
        return Outcome.RECORDED

    def last_active_day(self, metric: str, every: str) -> int | None:
        """The last day on which the device was at work, or None if it is not enrolled in a metric.

        Args:
            metric: its name.
            every: the kind of its periods.
        """
        return self._enrolled.get((metric, every))

    def enrol(
        self, metrics: Sequence[tuple[str, str]], dropped: Sequence[tuple[str, str]], epoch: int
    ) -> None:
        """Notes that the device is at work today, and so owes a report for today's periods.

        They are paid for before, see `debit`.

        Args:
            metrics: names of metrics that report absence, with the kinds of their periods.
            dropped: those in which the device is no longer enrolled, until it is enrolled again.
            epoch: today, in days since 1970-01-01.
        """
        for key in metrics:
            self._enrolled[key] = epoch
            self._append(_DAY.pack(ENROLLED, epoch) + _name(key), b"")
        for key in dropped:
            self._enrolled.pop(key, None)
            self._append(_DAY.pack(LEFT, epoch) + _name(key), b"")

    def mark(
        self, metric: str, every: str, period: int, store: Callable[[bytes], object]
    ) -> Outcome:
        """Notes that the report of a period that was paid for is written; costs nothing.

        Args:
            metric: its name.
            every: the kind of its periods.
            period: the number of the period.
            store: see `debit`.
        """
        key = metric, every
        if period <= self._entries.get(key, _NEVER)[0]:
            return Outcome.ALREADY_REPORTED
        self._entries[key] = period, 0, None
        store(self._body(key, period, 0, None))
        return Outcome.RECORDED

    def is_charged(self, charge: Charge, period: int) -> bool:
        """Whether a period was paid for with this charge, or a later one.

        Args:
            charge: see `debit`.
            period: the number of the period.
        """
        return period <= self._entries.get(charge[:2], _NEVER)[0]

    def latest_day(self) -> int:
        """The day to which reports are charged, in days since 1970-01-01; 0 if none was."""
        return self._latest

    def charged_days(self) -> tuple[tuple[tuple[int, int], ...], int | None]:
        """What `note_days` has noted: runs of days, and since when the latest day lies ahead."""
        return self._runs, self._ahead

    def note_days(
        self,
        runs: Sequence[tuple[int, int]],
        ahead: int | None,
        day: int | None = None,
        silent: int | None = None,
    ) -> None:
        """Notes the days that were charged, and perhaps begins another one.

        What was spent for life, for permanent answers, and "once" stays.

        Args:
            runs: first and last day of each run, in days since 1970-01-01.
            ahead: since when the latest day lies ahead, or None.
            day: the latest day from now on, even if it is earlier than before; None leaves it.
            silent: nano-nats that count as spent in this day, whose periods then count as reported
                by every metric but those that report once, and the device is enrolled in none;
                None to begin it afresh.
        """
        self._runs, self._ahead = tuple(runs), ahead
        if day is not None:
            self._latest, self._today = day, silent or 0
        is_silent = day is not None and silent is not None
        if is_silent:
            self._be_silent()
        self._append(self._days(is_silent), b"")

    def forget_answers(self) -> None:
        """Begins with another secret, which gives other permanent answers.

        What was paid for the earlier ones counts no longer, and the device is no longer enrolled in
        any metric. The spent budget stays spent. Adds no record: a new journal follows.
        """
        self._entries = {key: (period, 0, None) for key, (period, _, _) in self._entries.items()}
        self._enrolled.clear()

    def spending(self, epoch: int) -> tuple[int, int]:
        """Nano-nats that were spent today and over the lifetime.

        Args:
            epoch: today, in days since 1970-01-01.
        """
        return (0 if epoch > self._latest else self._today), self.lifetime

    def delta_spent(self) -> int:
        """The sum of the deltas of all reports of this device, in units of 10^-12."""
        return self._delta

    def apply(self, body: bytes) -> None:
        """Does again what a record says was done."""
        kind = body[0]
        if kind in (DEBIT, PAID, DAYS):
            _, *account, period = _ACCOUNT.unpack_from(body)
            self._latest, self._today, self.lifetime, self._delta = account
            if kind == DAYS:
                self._apply_days(body[_ACCOUNT.size :])
                return
            end, paid, digest = _ACCOUNT.size, 0, None
            if kind == PAID:
                paid, digest = _ANSWERS.unpack_from(body, end)
                end += _ANSWERS.size
            self._entries[_key(body[end:])] = period, paid, digest
        elif kind == LIMITS:
            _, day, life = _LIMITS.unpack(body)
            self.limits = day, life
        else:
            _, epoch = _DAY.unpack_from(body)
            key = _key(body[_DAY.size :])
            if kind == ENROLLED:
                self._enrolled[key] = epoch
            else:
                self._enrolled.pop(key, None)

    def bodies(self) -> Iterator[bytes]:
        """Bodies of records that say all that the ledger does, in any order."""
        for key, entry in self._entries.items():
            yield self._body(key, *entry)
        for key, epoch in self._enrolled.items():
            yield _DAY.pack(ENROLLED, epoch) + _name(key)
        if self._runs or self._ahead is not None:
            yield self._days(is_silent=False)
        if self.limits is not None:
            yield _LIMITS.pack(LIMITS, *self.limits)

    def _days(self, is_silent: bool) -> bytes:
        """The body of a record of what `note_days` has noted."""
        ahead = NO_DAY if self._ahead is None else self._ahead
        account = self._latest, self._today, self.lifetime, self._delta
        head = _ACCOUNT.pack(DAYS, *account, 0) + _AHEAD.pack(is_silent, ahead)
        return head + b"".join(_RUN.pack(*run) for run in self._runs)

    def _apply_days(self, content: bytes) -> None:
        is_silent, ahead = _AHEAD.unpack_from(content)
        self._ahead = None if ahead == NO_DAY else ahead
        self._runs = tuple(_RUN.iter_unpack(content[_AHEAD.size :]))
        if is_silent:
            self._be_silent()

    def _be_silent(self) -> None:
        for (metric, every), entry in self._entries.items():
            if every != "once":
                number = period_of(every, self._latest)  # type: ignore[arg-type]
                self._entries[metric, every] = (number, *entry[1:])
        self._enrolled.clear()

    def _body(
        self,
        key: tuple[str, str],
        period: int,
        paid: int,
        digest: bytes | None,
    ) -> bytes:
        account = self._latest, self._today, self.lifetime, self._delta
        if digest is None:
            return _ACCOUNT.pack(DEBIT, *account, period) + _name(key)
        head = _ACCOUNT.pack(PAID, *account, period)
        return head + _ANSWERS.pack(paid, digest) + _name(key)


def _name(key: tuple[str, str]) -> bytes:
    return f"{key[0]}\0{key[1]}".encode()


def _key(name: bytes) -> tuple[str, str]:
    metric, every = name.decode().split("\0")
    return metric, every
