"""How many reports one point of a trie can have, if devices send them; what is above is left out.

A forged report is one point, and a point lies on the hyperplanes of many cells. So a few thousand
reports that are all alike would lift tens of thousands of cells that nobody chose. Honest devices
hardly ever send so many of one point: a point is reported at least by chance, and at most by all
devices whose cells' hyperplanes hold it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import special

from deniable_aggregator.counting.kernels import singer_cycle
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse

NEVER: Final = 1e-9
"""The probability that a row of honest reports has a point above a limit for any population."""
HARDLY_EVER: Final = 0.01
"""And above one that the shares found allow."""
MEETING: Final = 5
"""The hyperplanes of so many popular items may meet in a point."""


def likeliest_mean(
    oracle: ProjectiveGeometryResponse, reports: NDArray[np.int64], share: float
) -> NDArray[np.float64]:
    """How many reports the likeliest point of each row has on average, at most.

    It lies on the hyperplanes of all devices of a share s, so of n reports it has
    n ((1 - s) / K + s P / c).

    Args:
        oracle: of the level: K points, hyperplanes of c points, of which a device sends one with
            probability P.
        reports: int64, (rows,).
        share: how many devices may have their cells' hyperplanes meet in a point, in [0, 1].
    """
    return np.asarray(reports * ((1 - share) / oracle.outcomes + share * _likeliest(oracle)))


def expected_reports(
    oracle: ProjectiveGeometryResponse,
    reports: int,
    items: NDArray[np.int64],
    shares: NDArray[np.float64],
    others: float,
) -> NDArray[np.float64]:
    """How many reports each point has on average, at most: float64, (K,).

    Args:
        oracle: of a level of one row.
        reports: how many there are.
        items: int64, (items,): those that devices surely hold, the most popular first. Of a point
            the first `MEETING` count whose hyperplanes hold it: forged reports may make any number
            meet.
        shares: float64, (items,): how many devices hold each.
        others: the share of devices with other items whose hyperplanes may meet in a point.
    """
    numbers, places, members = singer_cycle(oracle.q, oracle.t, oracle.size)
    own = np.flatnonzero(members)
    expected = np.full(
        oracle.outcomes, reports * (1 / oracle.outcomes + others * _likeliest(oracle))
    )
    meeting = np.zeros(oracle.outcomes, np.int8)
    for item, share in zip(items.tolist(), shares.tolist(), strict=True):
        points = numbers[(own - places[item]) % oracle.outcomes]
        points = points[meeting[points] < MEETING]
        expected[points] += reports * share * _likeliest(oracle)
        meeting[points] += 1
    return expected


def _likeliest(oracle: ProjectiveGeometryResponse) -> float:
    """P / c: how probable each point of a device's own hyperplane is."""
    return oracle.inside / SCALE / oracle.hyperplane


def point_limits(
    oracle: ProjectiveGeometryResponse, mean: NDArray[np.float64], chance: float
) -> NDArray[np.int64]:
    """The most reports that points have, but for a small probability.

    Reports of a point are nearly Poisson. The limit is the least c for which the probability that
    any of all K points has more, at most K times that of this one, is below the chance.

    Args:
        oracle: of the level.
        mean: float64: of each point's reports; of any shape.
        chance: in (0, 1).

    Returns:
        int64, of the same shape.
    """
    limits = np.floor(mean)
    while True:
        # P(X > c) of a Poisson variable is the regularised gamma function of c + 1.
        low = oracle.outcomes * special.gammainc(limits + 1, mean) >= chance
        if not low.any():
            return np.asarray(limits.astype(np.int64))
        limits += low
