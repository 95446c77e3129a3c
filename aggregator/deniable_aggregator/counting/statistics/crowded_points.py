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

from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse

NEVER: Final = 1e-9
"""The probability that a row of honest reports has a point above a limit for any population."""
HARDLY_EVER: Final = 0.01
"""And above one that the shares found allow."""


def point_limits(
    oracle: ProjectiveGeometryResponse, reports: NDArray[np.int64], share: float, chance: float
) -> NDArray[np.int64]:
    """The most reports that a point of each row has, but for a small probability.

    The likeliest point lies on the hyperplanes of all devices of a share s, so that it has
    n ((1 - s) / K + s P / c) reports of n on average, and is nearly Poisson. The limit is the least
    c for which the probability that any of all K points has more, at most K times that of this one,
    is below the chance.

    Args:
        oracle: of the level: K points, hyperplanes of c points, of which a device sends one with
            probability P.
        reports: int64, (rows,).
        share: how many devices may have their cells' hyperplanes meet in a point, in [0, 1].
        chance: in (0, 1).

    Returns:
        int64, (rows,).
    """
    likeliest = oracle.inside / SCALE / oracle.hyperplane
    mean = reports * ((1 - share) / oracle.outcomes + share * likeliest)
    limits = np.floor(mean)
    while True:
        # P(X > c) of a Poisson variable is the regularised gamma function of c + 1.
        low = oracle.outcomes * special.gammainc(limits + 1, mean) >= chance
        if not low.any():
            return np.asarray(limits.astype(np.int64))
        limits += low
