"""What reports of several periods have in common, where the same devices may have sent them.

Nobody can tell which reports are one device's, so all of this is the largest that it can be. A
device reports at most once in a period. So of n_1, n_2, ... reports in T periods, at most

    K = sum over all s and t of min(n_s, n_t)

ordered pairs are of one device, a report with itself included: K is n for one period, and T n for T
periods with as many reports each. If a part S of a report's variance is the same in all reports of
its device, the mean of n reports varies by at most (V - S) / n + S K / n^2: of memoised metrics,
S is the variance of the permanent answers, and about a population the spread of what devices hold.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deniable_shared.periods import period

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support
    from deniable_shared.spec import Spec

    Periods = Mapping[int, int]
    """How many reports there are of each period."""

    PeriodsBySpec = Mapping[bytes, Periods]
    """The same for several specs, by digest; those that are missing are of one period."""


class RepeatedReports(NamedTuple):
    """What reports of one device, in several periods, add to the variance of an estimate.

    Attributes:
        extra: K / n^2 - 1 / n, see above; 0 for a single period.
        permanent: with which probabilities permanent answers support items, where there are any.
    """

    extra: float = 0.0
    permanent: Support | None = None

    def noise(self, held: Any) -> Any:
        """What permanent answers add.

        Args:
            held: the true share, in [0, 1]; a float or float64 array.
        """
        if self.permanent is None:
            return 0.0 * held
        return self.extra * self.permanent.variance(held, 1)

    def variance(self, held: Any, *, population: bool) -> Any:
        """The same, and about a population what the same devices' sampling adds."""
        return self.noise(held) + (self.extra * held * (1 - held) if population else 0.0)


def repeats_of(spec: Spec, reports: int, periods: Periods | None) -> RepeatedReports:
    """What repeated reports add to the variance of a spec's estimates.

    Args:
        spec: the metric.
        reports: how many there are; at least 1.
        periods: how many of them in each period; None for one period.
    """
    permanent = spec.mechanism.permanent_support()
    if not periods or len(periods) == 1:
        return RepeatedReports(0.0, permanent)
    counted = sum(periods.values())
    return RepeatedReports((shared_pairs(periods, periods) / counted - 1) / reports, permanent)


def reports_by_period(spec: Spec, epochs: Mapping[int, int]) -> dict[int, int]:
    """Reports by the metric's own period, from reports by day."""
    found: Counter[int] = Counter()
    for epoch, reports in epochs.items():
        if reports:
            found[period(spec.every, epoch)] += reports
    return dict(found)


def shared_pairs(one: Periods, other: Periods) -> float:
    """How many pairs of a report of the one and a report of the other may be of one device.

    Args:
        one: reports by period.
        other: the same; with itself, every report is in a pair with itself.
    """
    first, second = (np.sort(_counts(each)) for each in (one, other))
    before = np.concatenate([[0.0], np.cumsum(second)])
    below = np.searchsorted(second, first)
    return float((before[below] + first * (second.size - below)).sum())


def shared_pairs_across_specs(one: Periods, other: Periods) -> float:
    """The same for reports of two specs: a device uses one of them in a period."""
    together = sum(min(count, other.get(number, 0)) for number, count in one.items())
    return shared_pairs(one, other) - together


def _counts(periods: Periods) -> NDArray[np.float64]:
    return np.fromiter(periods.values(), np.float64, len(periods))
