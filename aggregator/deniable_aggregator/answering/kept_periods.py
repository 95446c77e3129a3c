"""Keeps what was estimated of some days, until something of them changes."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import msgspec

from deniable_aggregator.answering.estimation.distributions import DistributionEstimate

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from deniable_aggregator.answering.comparability import Basis
    from deniable_aggregator.answering.estimation.inputs import EstimateRequest
    from deniable_aggregator.answering.estimation.means import MeanEstimate
    from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
    from deniable_aggregator.answering.estimation.shares import ShareEstimate
    from deniable_aggregator.answers.dates import DayRange
    from deniable_shared.spec import Spec

    Result = ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate

MOST_KEPT_BYTES: Final = 64 << 20
"""All periods together; the series that was asked for longest ago is forgotten."""

PERIOD_BYTES: Final = 4 << 10
ITEM_BYTES: Final = 300
"""About so much memory the estimates of a period and of one of its values take."""

Found = TypeVar("Found")


class KeptPeriods(Generic[Found]):
    """What was found of periods, by the question that it answers.

    Most periods have not changed when the same question is asked again: each is found anew when the
    fingerprint of its days changes.

    Args:
        most_bytes: how much memory they take at most.
    """

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, dict[DayRange, tuple[Hashable, Found, int]]] = (
            OrderedDict()
        )
        self._bytes = 0

    def find(self, question: Hashable, days: DayRange, fingerprint: Hashable) -> Found | None:
        """What was found of a period; None if that is not kept, or the period has changed.

        Args:
            question: the same for two questions only if they have the same answer of the same days.
            days: of the period.
            fingerprint: the same for two periods only if the same was counted in them.
        """
        with self._lock:
            held = self._held.get(question)
            if held is None:
                return None
            self._held.move_to_end(question)
            before, found, _ = held.get(days, (None, None, 0))
            return found if before == fingerprint else None

    def keep(
        self,
        question: Hashable,
        days: DayRange,
        fingerprint: Hashable,
        found: Found,
        result: Result | None,
    ) -> None:
        """Keeps what was found of a period, but for histograms, which are large.

        Args:
            question: as of `find`.
            days: as of `find`.
            fingerprint: as of `find`.
            found: what is kept; never changed.
            result: the estimate in it; None without one.
        """
        if isinstance(result, DistributionEstimate):
            return
        size = PERIOD_BYTES + ITEM_BYTES * len(getattr(result, "items", ()))
        with self._lock:
            periods = self._held.setdefault(question, {})
            self._held.move_to_end(question)
            self._bytes += size - periods.get(days, (None, None, 0))[2]
            periods[days] = fingerprint, found, size
            while self._bytes > self._most_bytes and self._held:
                _, gone = self._held.popitem(last=False)
                self._bytes -= sum(size for _, _, size in gone.values())


class FoundPeriod(NamedTuple):
    """What was found of one period of a series.

    Attributes:
        result: its estimate; None where there is no report that fits.
        left_out: how many reports came that do not fit.
        basis: what its numbers are about.
    """

    result: Result | None
    left_out: int
    basis: Basis | None


def asked_key(asked: tuple[msgspec.Struct, msgspec.Struct]) -> bytes:
    """A few bytes that are the same for two questions only if they ask the same.

    Args:
        asked: the options, and the values that they are about.
    """
    return hashlib.blake2b(msgspec.json.encode(asked), digest_size=32).digest()


class KeptSeries(NamedTuple):
    """Where periods of series are kept.

    Attributes:
        periods: those that are.
        fingerprint: the same for two ranges of days only if the same was counted in them.
    """

    periods: KeptPeriods[FoundPeriod]
    fingerprint: Callable[[DayRange], Hashable]

    def finding(
        self,
        find: Callable[[DayRange], FoundPeriod],
        asked: tuple[EstimateRequest, EstimateRequest, tuple[Spec, ...], tuple[Spec, ...]],
    ) -> Callable[[DayRange], FoundPeriod]:
        """Finds what is not kept, and keeps it.

        Args:
            find: finds it.
            asked: all else that decides what is found of a period.
        """
        requests = [
            (asked_key((each.query, each.lists)), each.level, tuple(each.versions))
            for each in asked[:2]
        ]
        question = *requests, *asked[2:]

        def find_or_recall(days: DayRange) -> FoundPeriod:
            fingerprint = self.fingerprint(days)
            found = self.periods.find(question, days, fingerprint)
            if found is None:
                found = find(days)
                self.periods.keep(question, days, fingerprint, found, found.result)
            return found

        return find_or_recall
