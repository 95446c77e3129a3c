"""Memoised dBitFlip on the device: permanent bits for each class, flipped afresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable import _randomness

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import MemoizedDBitFlip
    from deniable_shared.spec import Spec


class MemoizedDBitFlipRandomizer:
    """Looks the permanent bits of the value's class up, and flips each at random.

    Ding, Kulkarni and Yekhanin (2017), sections 3 and 4. The group and the permanent bits are
    derived from a keyed hash of the device's secret, the spec and (for the bits) the class: they
    are the same at every report, and no table of past values exists. Another spec, or a new secret,
    has another group and other bits.

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
        self._mechanism = cast("MemoizedDBitFlip", spec.mechanism)
        self._randomness = randomness
        self._keyed = keyed
        self._label = b"\x00ldbitflip\x00" + spec.digest
        self._bytes = self._mechanism.report_bytes - 2
        self._unused = 8 * self._bytes - self._mechanism.buckets
        self._secret = b""
        self._group = 0

    def report(self, item: int, secret: bytes) -> bytes:
        """The group in two bytes, then one bit for each of its bins."""
        mechanism = self._mechanism
        permanent = self.permanent(item, secret)
        told = self._randomness.bits(mechanism.buckets, mechanism.flip) ^ permanent
        return self._group.to_bytes(2, "big") + (told << self._unused).to_bytes(self._bytes, "big")

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised bits of a bin's class, as an integer of ``buckets`` bits."""
        buckets, size = self._mechanism.buckets, self._mechanism.size
        if secret != self._secret:
            self._group = self._keyed(secret, self._label + b"group\x00", 16).below(size)
            self._secret = secret
        place = min((item - self._group) % size, buckets)
        truth = 1 << buckets - 1 - place if place < buckets else 0
        label = self._label + b"class\x00" + place.to_bytes(4, "big")
        lies = self._keyed(secret, label, buckets + 64).bits(buckets, self._mechanism.permanent)
        return lies ^ truth
