"""Numbers on the device: one bit, a window around the value, or integer noise.

An item is the value's place in its range, an integer in [0, 2^20]; for Square Wave its bin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.exact_bounds import SCALE_BITS
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    OneBitMean,
    Piecewise,
    SquareWave,
)
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION, RESOLUTION_BITS

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable_shared.mechanisms.numbers.noise import AdditiveNoise
    from deniable_shared.mechanisms.numbers.window import WindowMechanism


@randomizes(OneBitMean)
class OneBitMeanRandomizer:
    """Sends a 1 with a probability that is linear in the value."""

    def __init__(self, mechanism: OneBitMean, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """One byte, 0 or 1."""
        return b"\x01" if self.outcome(item) else b"\x00"

    def outcome(self, place: int) -> int:
        """0 or 1."""
        return int(self._randomness.bernoulli(self._mechanism.weight(place)))


@randomizes(SquareWave)
class SquareWaveRandomizer:
    """Sends an outcome in the window of the value's bin, or any other."""

    def __init__(self, mechanism: SquareWave, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian."""
        outcome = windowed(self._mechanism, item, self._randomness)
        return outcome.to_bytes(self._mechanism.report_bytes, "big")


@randomizes(Piecewise)
class PiecewiseRandomizer:
    """Rounds the value at random to the grid; sends an outcome in its window, or any other."""

    def __init__(self, mechanism: Piecewise, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian."""
        return self.outcome(item).to_bytes(self._mechanism.report_bytes, "big")

    def outcome(self, place: int) -> int:
        """The outcome's number."""
        rounded = _rounded(place, self._mechanism.size - 1, self._randomness)
        return windowed(self._mechanism, rounded, self._randomness)


@randomizes(Hybrid)
class HybridRandomizer:
    """Draws piecewise or one bit, independently of the value, and sends its outcome."""

    def __init__(self, mechanism: Hybrid, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness
        self._bit = OneBitMeanRandomizer(mechanism.bit, sources)
        self._piecewise = PiecewiseRandomizer(mechanism.inner, sources)

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian: the bit's come first."""
        if self._randomness.bernoulli(self._mechanism.heads):
            outcome = 2 + self._piecewise.outcome(item)
        else:
            outcome = self._bit.outcome(item)
        return outcome.to_bytes(self._mechanism.report_bytes, "big")


@randomizes(DiscreteLaplace)
class LaplaceRandomizer:
    """Adds discrete Laplace noise to the value, rounded at random to the grid."""

    def __init__(self, mechanism: DiscreteLaplace, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian."""
        noise = self._randomness.laplace(self._mechanism.scale)
        return _noisy(self._mechanism, item, noise, self._randomness)


@randomizes(DiscreteGaussian)
class GaussianRandomizer:
    """Adds discrete Gaussian noise to the value, rounded at random to the grid."""

    def __init__(self, mechanism: DiscreteGaussian, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian."""
        noise = self._randomness.gaussian(self._mechanism.noise)
        return _noisy(self._mechanism, item, noise, self._randomness)


def _rounded(place: int, steps: int, randomness: Randomness) -> int:
    """A place in the range as a point of a coarser grid, in [0, steps], the mean kept exactly."""
    below, rest = divmod(place * steps, RESOLUTION)
    return below + randomness.bernoulli(rest << SCALE_BITS - RESOLUTION_BITS)


def windowed(mechanism: WindowMechanism, number: int, randomness: Randomness) -> int:
    """An outcome for input `number`: inside its window, or one of those beside it.

    It depends on the number alone, and is audited for each; whoever calls it, for what it passes.
    """
    if randomness.bernoulli(mechanism.inside):
        return number + randomness.uniform_below(mechanism.window)
    other = randomness.uniform_below(mechanism.size - 1)
    return other if other < number else other + mechanism.window


def _noisy(mechanism: AdditiveNoise, place: int, noise: int, randomness: Randomness) -> bytes:
    outcome = mechanism.reach + _rounded(place, mechanism.steps, randomness) + noise
    outcome = min(max(outcome, 0), mechanism.outcomes - 1)
    return outcome.to_bytes(mechanism.report_bytes, "big")
