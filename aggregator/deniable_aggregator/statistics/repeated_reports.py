"""How much larger variances are if the same devices may have reported in several periods.

Nobody can tell which reports came from one device, so the largest possible effect is assumed. A
device reports at most once in a period. So among n_1, n_2, ... reports in T periods, at most

    K = sum over all s and t of min(n_s, n_t)

ordered pairs of reports came from one device, a report with itself included: K is n for one period,
and T n for T periods with n reports each. If a part S of a report's variance V is shared by all
reports of its device, the variance of the mean of n reports is at most (V - S) / n + S K / n^2. For
memoised metrics, S is the variance of the permanent answers; about a population, S also has the
variance of what devices hold.
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
    """Number of reports by period."""

    PeriodsBySpec = Mapping[bytes, Periods]
    """Number of reports by period, for each spec's digest; a missing spec has one period."""


class RepeatedReports(NamedTuple):
    """The variance that is added because one device may have sent several of the reports.

    Attributes:
        extra: K / n^2 - 1 / n, see the module's docstring; 0 for a single period.
        permanent: the probabilities that a permanent answer supports an item; None without them.
    """

    extra: float = 0.0
    permanent: Support | None = None

    def noise(self, share: Any) -> Any:
        """The variance that is added because a device reuses its permanent answers.

        Args:
            share: the true share, in [0, 1]; a float or float64 array.
        """
        if self.permanent is None:
            return 0.0 * share
        return self.extra * self.permanent.variance(share, 1)

    def variance(self, share: Any, *, population: bool) -> Any:
        """The added variance; about a population also that of sampling fewer different devices."""
        return self.noise(share) + (self.extra * share * (1 - share) if population else 0.0)


def repeats_of(spec: Spec, reports: int, periods: Periods | None) -> RepeatedReports:
    """The effect of repeated reports on the variance of a spec's estimates.

    Args:
        reports: how many there are; at least 1.
        periods: how many of them came in each period; None if all came in one.
    """
    permanent = spec.mechanism.permanent_support()
    if not periods or len(periods) == 1:
        return RepeatedReports(0.0, permanent)
    counted = sum(periods.values())
    return RepeatedReports((shared_pairs(periods, periods) / counted - 1) / reports, permanent)


def reports_by_period(spec: Spec, epochs: Mapping[int, int]) -> dict[int, int]:
    """Number of reports by the metric's own period, from the number of reports by day."""
    counts: Counter[int] = Counter()
    for epoch, reports in epochs.items():
        if reports:
            counts[period(spec.every, epoch)] += reports
    return dict(counts)


def shared_pairs(first_periods: Periods, second_periods: Periods) -> float:
    """How many pairs, one report from each group, may have come from one device, at most.

    Args:
        second_periods: likewise; if it is the same group, every report is paired with itself, too.
    """
    first, second = (np.sort(_counts(periods)) for periods in (first_periods, second_periods))
    before = np.concatenate([[0.0], np.cumsum(second)])
    below = np.searchsorted(second, first)
    return float((before[below] + first * (second.size - below)).sum())


def shared_pairs_across_specs(first_periods: Periods, second_periods: Periods) -> float:
    """As `shared_pairs`, for reports under two specs: in a period a device uses one of them."""
    together = sum(
        min(count, second_periods.get(number, 0)) for number, count in first_periods.items()
    )
    return shared_pairs(first_periods, second_periods) - together


def _counts(periods: Periods) -> NDArray[np.float64]:
    return np.fromiter(periods.values(), np.float64, len(periods))
