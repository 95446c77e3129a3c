"""What one version of a metric estimates, and what its errors allow for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.statistics.item_shares import Allowance
from deniable_aggregator.statistics.repeated_reports import RepeatedReports

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.statistics.repeated_reports import Periods
    from deniable_aggregator.tallies import ItemShares
    from deniable_shared.spec import Spec

NOWHERE: Final = np.zeros(0, np.int64)
"""No positions."""


class SpecEstimate(NamedTuple):
    """The estimates of one spec; of a record that samples attributes, those of one attribute.

    Attributes:
        counts: int64, (cells,): its tally.
        reports: how many of its reports were counted; at least 1.
        known: int64, (known,): the positions of the items that are estimated.
        shares: estimates of these items, assuming that every report is of another device.
        repeats: extra variance because one device may have sent several reports.
        periods: how many reports there are of each period, if there are several.
        impossible: int64: the positions of items that no report of the spec can be about.
        hidden: int64: the positions of items that the spec does not tell apart from others.
        inside: int64, (hidden,): for each of them the position of the item that holds it.
        least: int64, (hidden,): the position of what is known to be of it all the same; empty
            where that is nothing.
        merged: what the items were merged from, where they are values of all segments together.
    """

    spec: Spec
    counts: NDArray[np.int64]
    reports: int
    known: NDArray[np.int64]
    shares: ItemShares
    repeats: RepeatedReports = RepeatedReports()
    periods: Periods | None = None
    impossible: NDArray[np.int64] = NOWHERE
    hidden: NDArray[np.int64] = NOWHERE
    inside: NDArray[np.int64] = NOWHERE
    least: NDArray[np.int64] = NOWHERE
    merged: Merged | None = None


class Merged(NamedTuple):
    """Estimates whose items are groups of others.

    Attributes:
        part: the estimates of the others.
        members: int64, (items, each): the places of each group's members in `part.known`.
    """

    part: SpecEstimate
    members: NDArray[np.int64]


def variance_of(
    part: SpecEstimate, shares: ItemShares, share: NDArray[np.float64], margin: Margin
) -> NDArray[np.float64]:
    """The variance of one spec's estimates.

    Args:
        share: float64, (items,): the true shares, or the best estimates of them.
        margin: what the variance allows for; with sampling, the devices are a sample too.
    """
    clipped = np.clip(share, 0.0, 1.0)
    return shares.variance_with(clipped, allowance_of(part, margin))


def allowance_of(part: SpecEstimate, margin: Margin) -> Allowance:
    """What one spec's errors allow for beside noise.

    Args:
        margin: with sampling, the devices are a sample too.
    """
    return Allowance(part.reports, part.repeats, margin == "noise-and-sampling")
