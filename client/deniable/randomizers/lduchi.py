"""Memoised numbers on the device: a permanent bit for each grid point, flipped afresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable import _randomness
from deniable_shared.mechanisms.numeric import RESOLUTION
from deniable_shared.rationals import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import MemoizedOneBitMean
    from deniable_shared.spec import Spec


class MemoizedOneBitMeanRandomizer:
    """Rounds to the grid, looks the grid point's permanent bit up, and perhaps flips it.

    Ding, Kulkarni and Yekhanin (2017), sections 2 to 4. Alpha and the permanent bits are derived
    from a keyed hash of the device's secret, the spec and (for a bit) its grid point: they are the
    same at every report, and no table of past values exists. Another spec, or a new secret, has
    another alpha and other bits.

    Args:
        spec: the metric.
        randomness: fresh randomness for the flips.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """

    def __init__(
        self,
        spec: Spec,
        randomness: Randomness,
        keyed: Callable[[bytes, bytes, int], Randomness] = _randomness.keyed,
    ) -> None:
        self._mechanism = cast("MemoizedOneBitMean", spec.mechanism)
        self._randomness = randomness
        self._keyed = keyed
        self._label = b"\x00lduchi\x00" + spec.digest

    def report(self, item: int, secret: bytes) -> bytes:
        """One byte, 0 or 1."""
        flipped = self._randomness.bernoulli(self._mechanism.flip)
        return b"\x01" if self.permanent(item, secret) != flipped else b"\x00"

    def permanent(self, place: int, secret: bytes) -> bool:
        """The memoised bit of a value's grid point."""
        point = self.point(place, secret)
        stream = self._keyed(secret, self._label + b"point\x00" + point.to_bytes(4, "big"), 4)
        return stream.bernoulli(self._mechanism.weight(point))

    def point(self, place: int, secret: bytes) -> int:
        """The grid point that a place is rounded to, in [0, steps]."""
        below, rest = divmod(place * self._mechanism.steps, RESOLUTION)
        # The same word at every report, compared with what is left of a step: that is alpha.
        alpha = self._keyed(secret, self._label + b"alpha\x00", 4)
        return below + alpha.bernoulli(rest * (SCALE // RESOLUTION))
