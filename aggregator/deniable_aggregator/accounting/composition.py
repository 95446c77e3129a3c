"""Exact composition: the distribution of the sum of many losses, by Fourier transforms.

Koskela, Jälkö and Honkela (AISTATS 2020), and Google's privacy loss distributions. With c the
weights of the sum of all losses, delta at an epsilon is::

    delta(eps) = sum over losses x > eps of c(x) (1 - e^(eps - x)) + weight of infinite losses
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import fft

from deniable_aggregator.accounting.grid import GridLosses, Losses, on_grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

POINTS: Final = 1 << 17
"""The places of a grid: as many make the step small, and take some hundredths of a second."""

TAIL: Final = 1e-14
"""The weight above the window, at most; it counts as infinite loss."""

_ORDERS: Final = np.geomspace(1e-4, 1e3, 48)
_FEW_ORDERS: Final = _ORDERS[::4]
_FEWEST_PLACES: Final = 64


@dataclass(frozen=True, eq=False)
class Composition:
    """The loss of all reports together.

    Attributes:
        step: of the grid, in nats.
        losses: rising, a step apart; float64, (places,).
        weights: at least the probability of each; float64, (places,).
        infinite: the weight of infinite losses.
        allowance: what is counted as infinite besides, for the tail above the window and for the
            rounding of floats.
    """

    step: float
    losses: NDArray[np.float64]
    weights: NDArray[np.float64]
    infinite: float
    allowance: float

    def delta_at(self, epsilon: float) -> float:
        """The delta with which the reports keep an epsilon, at most."""
        return self._delta(epsilon) + self.infinite + self.allowance

    def epsilon_at(self, delta: float, *, allowing: bool = True) -> float:
        """The epsilon that all reports together keep with a delta.

        Args:
            delta: in [0, 1).
            allowing: without, the allowance is left out: no bound, but its part of the figure.

        Returns:
            At least 0; infinite if no epsilon is enough.
        """
        remaining = delta - self.infinite - (self.allowance if allowing else 0.0)
        if remaining <= 0:
            return math.inf
        low, high = 0.0, max(float(self.losses[-1]), 0.0)
        if self._delta(low) <= remaining:
            return 0.0
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (low, middle) if self._delta(middle) <= remaining else (middle, high)
        return high

    def _delta(self, epsilon: float) -> float:
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        return float(-(self.weights[first:] @ np.expm1(epsilon - self.losses[first:])))


def compose(parts: Sequence[tuple[Losses, int]], points: int = POINTS) -> Composition:
    """The loss of so many reports of each kind.

    The sums of losses are taken modulo a window of the grid. What lies below it comes out above its
    true place, and what lies above it, at most `TAIL`, is counted as infinite: both make the figure
    larger.

    Args:
        parts: the loss of one report, and how many reports there are, at least 1.
        points: of the grid, about; more make it finer.
    """
    low, high = _window(parts, _FEW_ORDERS)
    step = max((high - low) / points, 1e-12)
    gridded = [(on_grid(losses, step), count) for losses, count in parts]
    low, high = _window(gridded, _ORDERS)
    first, last = math.floor(low / step), math.ceil(high / step)
    size = int(fft.next_fast_len(max(last - first + 2, _FEWEST_PLACES), real=True))
    spectrum, error = _spectrum(gridded, size)
    weights = np.maximum(np.roll(fft.irfft(spectrum, size), -(first % size)), 0.0)
    finite = math.fsum(count * math.log1p(-losses.infinite) for losses, count in gridded)
    return Composition(
        step=step,
        losses=(first + np.arange(size, dtype=np.float64)) * step,
        weights=weights,
        infinite=-math.expm1(finite),
        allowance=TAIL + error,
    )


def _spectrum(
    parts: Sequence[tuple[GridLosses, int]], size: int
) -> tuple[NDArray[np.complex128], float]:
    """The transform of the sum's weights, and by how much all weights together may be off.

    A coefficient of a transform is off by less than d = log2(n) u, with u the spacing of floats at
    1, and its power by as much times the exponent. Numbers add up to at most sqrt(n) times their
    norm, and a transform of n numbers has sqrt(n) times their norm; the two cancel.
    """
    off = float(np.finfo(np.float64).eps) * math.log2(size)
    spectrum = np.ones(size // 2 + 1, np.complex128)
    logarithms, relative = np.zeros(spectrum.size), np.ones(spectrum.size)
    for losses, count in parts:
        factor = fft.rfft(np.bincount(losses.places % size, losses.weights, size))
        magnitude = np.abs(factor) + off
        logarithms += count * np.log(magnitude)
        relative += count / magnitude
        spectrum *= factor**count
    errors = off * relative * np.exp(logarithms)
    return spectrum, math.sqrt(2) * float(np.linalg.norm(errors))


def _window(
    parts: Iterable[tuple[Losses | GridLosses, int]], orders: NDArray[np.float64]
) -> tuple[float, float]:
    """Between which sums of losses all but `TAIL` at either end lie, by Chernoff's bound.

    P(sum >= t) <= E e^(a sum) / e^(a t) for every order a > 0.
    """
    up, down = np.zeros(orders.size), np.zeros(orders.size)
    least = most = 0.0
    for part, count in parts:
        up += count * _log_moments(part.losses, part.weights, orders)
        down += count * _log_moments(-part.losses, part.weights, orders)
        least += count * float(part.losses.min())
        most += count * float(part.losses.max())
    room = -math.log(TAIL)
    low, high = -((down + room) / orders).min(), ((up + room) / orders).min()
    return max(least, float(low)), min(most, float(high))


def _log_moments(
    losses: NDArray[np.float64], weights: NDArray[np.float64], orders: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Ln E e^(a L) for all orders a: float64, (orders,)."""
    positive = weights > 0
    exponents = orders[:, None] * losses[positive] + np.log(weights[positive])
    most = exponents.max(axis=1, keepdims=True)
    moments: NDArray[np.float64] = most[:, 0] + np.log(np.exp(exponents - most).sum(axis=1))
    return moments
