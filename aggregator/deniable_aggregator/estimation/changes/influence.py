"""How far fake reports could move a difference between two periods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from deniable_aggregator.answers.common import FakesNote
from deniable_aggregator.statistics.influence import FORGED_SHARE, concentrate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.estimation.shares.combination import CombinedShares

FAKES_OF_CHANGES: Final = FakesNote(
    FORGED_SHARE,
    f"shift_if_fake is how far fake reports could move the change beside it, up or down, if they "
    f"came on top of the reports that were counted until they were {FORGED_SHARE:.0%} of all in "
    "either period, each made to move it most: up in the one period and down in the other. No "
    "interval and no test allows for it",
)
"""What `shift_if_fake` beside every change is."""


class SignedInfluence(NamedTuple):
    """How far fake reports could move estimates to either side.

    Attributes:
        up: float64, (items,).
        down: float64, (items,).
    """

    up: NDArray[np.float64]
    down: NDArray[np.float64]


def influence_on_changes(before: SignedInfluence, after: SignedInfluence) -> NDArray[np.float64]:
    """How far fakes could move differences: up in one period and down in the other.

    Returns:
        float64, (items,).
    """
    return np.asarray(np.maximum(before.up + after.down, before.down + after.up))


def signed_influence(combined: CombinedShares, chosen: NDArray[np.int64]) -> SignedInfluence:
    """How far fakes, 1% of all reports, could move shares to either side: at most.

    All of them claim to be of the version in which one report moves the average most.

    `influence` of an estimate is the move to the farther side. If estimates count supporting
    reports, a report contributes between -q/(p - q) and (1 - q)/(p - q), and the move to the
    nearer side follows; elsewhere it is assumed to be as far, which is an upper bound.

    Args:
        chosen: int64, (items,): the positions of some of the items.
    """
    up, down = np.zeros(combined.share.size), np.zeros(combined.share.size)
    for part in combined.parts:
        share, counted, mine = part.shares.share, part.shares.support_counts, part.known
        radius: Any = part.shares.influence
        above = below = np.ones(share.size)
        if counted is not None:
            gap = counted.support.p - counted.support.q
            above = np.maximum((1 - counted.support.q) / gap - share, 0.0)
            below = np.maximum(share + counted.support.q / gap, 0.0)
        farther = radius / np.maximum(above, below)
        apart = FORGED_SHARE * (share - combined.share[mine])
        up[mine] = np.maximum(up[mine], farther * above + apart)
        down[mine] = np.maximum(down[mine], farther * below - apart)
    about = combined.reports, combined.total
    return SignedInfluence(concentrate(up, *about)[chosen], concentrate(down, *about)[chosen])
