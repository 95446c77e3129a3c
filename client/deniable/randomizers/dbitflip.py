"""dBitFlip on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable import _randomness

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import DBitFlip
    from deniable_shared.spec import Spec


class DBitFlipRandomizer:
    """Answers, with lies, for the few bins of the device's group (Ding et al. 2017, section 3).

    The group is derived from a keyed hash of the device's secret and the spec: it is the same at
    every report, and does not depend on any value.

    Args:
        spec: the metric.
        randomness: fresh randomness for the lies.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """

    def __init__(
        self,
        spec: Spec,
        randomness: Randomness,
        keyed: Callable[[bytes, bytes, int], Randomness] = _randomness.keyed,
    ) -> None:
        self._mechanism = cast("DBitFlip", spec.mechanism)
        self._randomness = randomness
        self._keyed = keyed
        self._label = b"\x00dbitflip\x00" + spec.digest + b"group\x00"
        self._bytes = self._mechanism.report_bytes - 2
        self._unused = 8 * self._bytes - self._mechanism.buckets
        self._secret = b""
        self._group = 0

    def report(self, item: int, secret: bytes) -> bytes:
        """The group in two bytes, then one bit for each of its bins."""
        mechanism = self._mechanism
        if secret != self._secret:
            self._group = self._keyed(secret, self._label, 16).below(mechanism.size)
            self._secret = secret
        place = (item - self._group) % mechanism.size
        truth = 1 << mechanism.buckets - 1 - place if place < mechanism.buckets else 0
        told = self._randomness.bits(mechanism.buckets, mechanism.flip) ^ truth
        return self._group.to_bytes(2, "big") + (told << self._unused).to_bytes(self._bytes, "big")
