"""Exact composition: the distribution of the sum of many losses, by Fourier transforms.

Privacy losses on an even grid, so that they can be added up by Fourier transforms.

A loss L between two places g and g + h of the grid is split over both, so that the weight under
either value stays what it was: of the weight w, the part

    (e^-L - e^-g) / (e^-(g + h) - e^-g)

goes up. Whoever sees the two new classes can take them for one and so has the old class: the split
classes dominate, and every figure is an upper bound (docs/appendix/proofs.md). It is above the
exact one by O(h^2) for each report; rounding losses up would be above it by O(h).

Koskela, Jälkö and Honkela (AISTATS 2020), and Google's privacy loss distributions. With c the
weights of the sum of all losses, delta at an epsilon is::

    delta(eps) = sum over losses x > eps of c(x) (1 - e^(eps - x)) + weight of infinite losses

What a report costs if it is shuffled among those of many other devices.

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
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from scipy import fft

from deniable_shared.accounting import Component, LossProfile, components_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from deniable_shared.spec import Spec


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


class ArrayProfile(LossProfile):
    """A profile that computes with arrays: noise has thousands of classes."""

    @cached_property
    def arrays(self) -> Losses:
        """The same losses."""
        return Losses(np.array(self.losses), np.array(self.weights), self.infinite)

    def log_moment(self, order: float) -> float:
        """As of `LossProfile`."""
        return self.arrays.log_moment(order)


@lru_cache(256)
def _with_arrays(profile: LossProfile) -> ArrayProfile:
    return ArrayProfile(profile.losses, profile.weights, profile.infinite)


def array_components(
    specs: Sequence[Spec], days: int, devices: int, *, changing: bool = True
) -> tuple[Component, ...]:
    """As of `components_of`, with profiles whose moments are computed by NumPy."""
    return tuple(
        replace(component, profile=_with_arrays(component.profile))
        for component in components_of(specs, days, devices, changing=changing)
    )


def group_alike(components: Sequence[Component]) -> list[tuple[Losses, int]]:
    """Draws of the same kind are counted together."""
    counts: dict[int, int] = {}
    profiles = {id(component.profile): component.profile for component in components}
    for component in components:
        counts[id(component.profile)] = counts.get(id(component.profile), 0) + component.draws
    return [(cast("ArrayProfile", profiles[key]).arrays, count) for key, count in counts.items()]


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
