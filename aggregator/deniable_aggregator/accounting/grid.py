"""Privacy losses on an even grid, so that they can be added up by Fourier transforms.

A loss L between two places g and g + h of the grid is split over both, so that the weight under
either value stays what it was: of the weight w, the part

    (e^-L - e^-g) / (e^-(g + h) - e^-g)

goes up. Whoever sees the two new classes can take them for one and so has the old class: the split
classes dominate, and every figure is an upper bound (docs/appendix/proofs.md). It is above the
exact one by O(h^2) for each report; rounding losses up would be above it by O(h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Losses:
    """The privacy loss of one report under the worst value.

    Attributes:
        losses: in nats; float64, (classes,).
        weights: with which probability each occurs; float64, (classes,).
        infinite: with which probability the report may give its value away.
    """

    losses: NDArray[np.float64]
    weights: NDArray[np.float64]
    infinite: float = 0.0

    def log_moment(self, order: float = 1.0) -> float:
        """Ln E e^(order L) over the finite losses; see `LossProfile.log_moment`."""
        exponents = order * self.losses
        most = float(exponents.max())
        return most + math.log(float(self.weights @ np.exp(exponents - most)))


@dataclass(frozen=True, eq=False)
class GridLosses:
    """The same on a grid.

    Attributes:
        step: between two places, in nats.
        places: multiples of the step, rising; int64, (places,).
        weights: as of `Losses`.
        infinite: as of `Losses`.
    """

    step: float
    places: NDArray[np.int64]
    weights: NDArray[np.float64]
    infinite: float

    @property
    def losses(self) -> NDArray[np.float64]:
        """The places in nats."""
        return self.places.astype(np.float64) * self.step


def on_grid(losses: Losses, step: float) -> GridLosses:
    """Splits every loss over the two places beside it.

    Args:
        losses: of one report.
        step: of the grid, in nats; above 0.
    """
    below = np.floor(losses.losses / step).astype(np.int64)
    fraction = np.clip(losses.losses - below * step, 0.0, step)
    up = losses.weights * (np.expm1(-fraction) / np.expm1(-step))
    places, index = np.unique(np.concatenate([below, below + 1]), return_inverse=True)
    weights = np.bincount(index, np.concatenate([losses.weights - up, up]), places.size)
    assert places.dtype == np.int64
    return GridLosses(step, places, weights.astype(np.float64), losses.infinite)
