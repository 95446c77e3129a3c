"""Memoised numbers on the device: a permanent bit for each grid point, flipped afresh."""

from __future__ import annotations

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import MemoizedOneBitMean
from deniable_shared.mechanisms.numbers.numeric import RESOLUTION


@randomizes(MemoizedOneBitMean)
class MemoizedOneBitMeanRandomizer:
    """Rounds to the grid, looks the grid point's permanent bit up, and perhaps flips it.

    Ding, Kulkarni and Yekhanin (2017), sections 2 to 4.

    Args:
        mechanism: the grid, and the weights of both rounds.
        sources: what it draws from.
    """

    def __init__(self, mechanism: MemoizedOneBitMean, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._permanent = sources.permanent(mechanism)
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:
        """One byte, 0 or 1."""
        flipped = self._randomness.bernoulli(self._mechanism.flip)
        return b"\x01" if self.permanent(item, secret) != flipped else b"\x00"

    def permanent(self, place: int, secret: bytes) -> bool:
        """The memoised bit of a value's grid point."""
        point = self.point(place, secret)
        stream = self._permanent.stream(secret, b"point\x00" + point.to_bytes(4, "big"), 4)
        return stream.bernoulli(self._mechanism.weight(point))

    def point(self, place: int, secret: bytes) -> int:
        """The grid point that a place is rounded to, in [0, steps]."""
        below, rest = divmod(place * self._mechanism.steps, RESOLUTION)
        # alpha is the same in every report: one permanent word, compared with the rest of a step.
        alpha = self._permanent.stream(secret, b"alpha\x00", 4)
        return below + alpha.bernoulli(rest * (SCALE // RESOLUTION))
