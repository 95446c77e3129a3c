"""What a report costs if it is shuffled among those of many other devices.

Feldman, McMillan and Talwar, Hiding among the clones (FOCS 2021), theorem 3.2, computed and not
approximated. It holds for every randomizer that keeps a pure epsilon. The closed form of their
later paper (2022) is not used: it has an erratum.

Each of the other n - 1 devices is, with probability e^-eps, a clone of one of two: of the device in
question, or of its other self. With C ~ Bin(n - 1, e^-eps), A ~ Bin(C, 1/2) and
D ~ Bern(e^eps / (1 + e^eps)), the pair (A + D, C - A + 1 - D) and the same with the other self
dominate what is seen of the shuffled reports.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.accounting.grid import Losses, on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEVIATIONS: Final = 9.0
"""How many standard deviations of a binomial are followed; what is beyond counts as infinite."""

PLACES: Final = 1 << 12
"""Losses of one shuffled report are put on a grid of so many places."""

_FINEST: Final = 2e-4
"""Numbers of clones that differ by less, relatively, count as the least of them."""

_UNSEEN: Final = 1e-15
"""What a sum of floats that is nearly 1 may lack without showing it."""


@lru_cache(64)
def shuffled_losses(epsilon: float, reports: int) -> Losses:
    """The loss of one report among so many, under the worst value.

    Args:
        epsilon: of the report before it is shuffled, in nats; above 0.
        reports: how many honest reports are shuffled together, this one included; at least 1.
    """
    from scipy.stats import binom  # takes longer to import than most accounts to compute

    clone = math.exp(-epsilon)
    neighbours = reports - 1
    fewest, most = _counts_followed(
        neighbours * clone, neighbours * clone * (1 - clone), neighbours
    )
    width = max(1, int(fewest * _FINEST))
    pieces: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for start in range(fewest, most + 1, width):
        # Further clones hide more, so a few of these may be left out.
        counts = np.arange(start, min(start + width, most + 1))
        share = float(binom.pmf(counts, neighbours, clone).sum())
        if share > 0:
            pieces.append(_among(start, epsilon, share))
    losses = np.concatenate([piece[0] for piece in pieces])
    weights = np.concatenate([piece[1] for piece in pieces])
    infinite = max(0.0, 1 - float(weights.sum())) + _UNSEEN
    step = max(float(np.abs(losses).max()) / PLACES, 1e-12)
    merged = on_grid(Losses(losses, weights, infinite), step)
    return Losses(merged.losses, merged.weights, infinite)


def _among(
    clones: int, epsilon: float, share: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses and weights for a number of clones, which occurs with this probability."""
    from scipy.stats import binom

    low, high = _counts_followed(clones / 2, clones / 4, clones)
    supporters = np.arange(low, high + 2, dtype=np.float64)  # A + D
    truth = 1 / (1 + math.exp(-epsilon))
    # P(A = seen - 1) and P(A = seen) are as seen and clones - seen + 1.
    own, opposite = supporters, clones - supporters + 1
    losses = np.log((truth * own + (1 - truth) * opposite) / ((1 - truth) * own + truth * opposite))
    weights = truth * binom.pmf(supporters - 1, clones, 0.5) + (1 - truth) * binom.pmf(
        supporters, clones, 0.5
    )
    return losses, share * weights


def _counts_followed(mean: float, variance: float, most: int) -> tuple[int, int]:
    """The values of a binomial variable that are followed."""
    reach = DEVIATIONS * math.sqrt(variance) + 1
    return max(0, math.floor(mean - reach)), min(most, math.ceil(mean + reach))
