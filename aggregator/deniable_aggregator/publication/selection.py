"""Which values are shown, and the interval of the merged rest."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.common import IntervalNote
    from deniable_aggregator.answers.shares import CombinedShare, Share
    from deniable_aggregator.publication.devices import Periods

NEAR: Final = 1.0
"""In standard errors. If a value's lower end is this near the minimum, chance decided its side."""

FOR_CHANCE: Final = 0.6
"""Standard errors that the upper end of the others together allows for each such value."""


@dataclass(frozen=True)
class Selection:
    """The values of an answer, as they are published.

    Attributes:
        shown: each surely held by the minimum of devices; the largest shares first.
        merged: all others, as the answer has them.
        near: values whose lower ends are within a standard error of the minimum, on either side.
        asked: how many values the answer's intervals cover at once.
        level: with which probability.
    """

    shown: Sequence[Share]
    merged: Sequence[Share]
    near: Sequence[Share]
    asked: int
    level: float

    def together(self, combined: CombinedShare) -> tuple[float, float]:
        """The interval of the share of the merged values, as wide as those beside it.

        The values were merged because their estimates are small, so the estimate of their sum is
        too small on average: a value with a standard error s that is merged by chance takes at most
        s times the density of the normal distribution at 0, 0.4, from the sum. How many these are
        shows in how many lie near the minimum, on both sides of it: the upper end allows 0.6 s for
        each of these. Without it intervals of others may miss nearly always.

        Args:
            combined: the share of the merged values together, with an interval of its own.

        Returns:
            The lower and the upper end.
        """
        alone = NormalDist().inv_cdf((1 + self.level) / 2)
        among = NormalDist().inv_cdf(1 - (1 - self.level) / (2 * self.asked))
        wider = among / alone
        low = combined.share - wider * (combined.share - combined.low)
        high = combined.share + wider * (combined.high - combined.share)
        return low, high + FOR_CHANCE * sum(each.standard_error for each in self.near)


def select(
    rows: Sequence[Share],
    *,
    minimum: int,
    periods: Periods,
    interval: IntervalNote,
    asked: int,
    part: float = 1.0,
) -> Selection:
    """Chooses the values that at least so many devices of a period surely hold.

    Args:
        rows: the shares, with intervals that cover all values at once.
        minimum: a value is shown if its lower end times the devices of a period is at least this.
        periods: in how many periods the reports were sent.
        interval: that of the answer.
        asked: how many values it covers at once.
        part: the least part of the devices that the shares are of, in [0, 1]: that of a segment.
    """
    shown: list[Share] = []
    merged: list[Share] = []
    near: list[Share] = []
    for row in rows:
        devices = part * periods.devices(row).average
        (shown if row.low * devices >= minimum else merged).append(row)
        if devices and abs(row.low - minimum / devices) < NEAR * row.standard_error:
            near.append(row)
    shown.sort(key=lambda row: (-row.share, row.value))
    return Selection(shown, merged, near, max(1, asked), interval.level)
