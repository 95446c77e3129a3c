"""RAPPOR on the device: cohort, Bloom filter, permanent and instantaneous response."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable import _randomness
from deniable_shared import hashing
from deniable_shared.rationals import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import Rappor
    from deniable_shared.spec import Spec


class RapporRandomizer:
    """Erlingsson, Pihur and Korolova 2014, section 2.

    The cohort and the permanent response are derived from a keyed hash of the device's secret, the
    spec and (for the response) the value: they are the same at every report, and no table of past
    values exists. Another spec of the metric has other permanent responses: flips of two weights
    that came from the same numbers would differ only where the one with more of them lies, and so
    tell the value. A new secret would be a new cohort and would start epsilon_permanent anew.

    Args:
        spec: the metric.
        randomness: fresh randomness for the instantaneous response.
        keyed: makes the permanent randomness of (secret, label, length); tests enumerate it.
    """

    def __init__(
        self,
        spec: Spec,
        randomness: Randomness,
        keyed: Callable[[bytes, bytes, int], Randomness] = _randomness.keyed,
    ) -> None:
        self._mechanism = cast("Rappor", spec.mechanism)
        self._randomness = randomness
        self._keyed = keyed
        self._salt = spec.salt
        self._bytes = self._mechanism.bits // 8
        self._label = b"\x00rappor\x00" + spec.digest
        self._secret = b""
        self._cohort = 0
        self._keys: tuple[int, ...] = ()

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """The cohort in two bytes, then the bits."""
        mechanism = self._mechanism
        if secret != self._secret:
            self._join_cohort(secret)
        value = cast("bytes", item)
        permanent = self.permanent(value, secret)
        if mechanism.p + mechanism.q == SCALE:  # then both are flipped alike
            bits = self._randomness.bits(mechanism.bits, mechanism.p) ^ permanent
        else:
            ones = self._randomness.bits(mechanism.bits, mechanism.q) & permanent
            bits = ones | self._randomness.bits(mechanism.bits, mechanism.p) & ~permanent
        return self._cohort.to_bytes(2, "big") + bits.to_bytes(self._bytes, "big")

    def permanent(self, value: bytes, secret: bytes) -> int:
        """The memoised noisy Bloom filter of a value, as an integer of ``bits`` bits."""
        mechanism = self._mechanism
        word = hashing.word(value, self._salt)
        bloom = 0
        for key in self._keys:
            bloom |= 1 << mechanism.bits - 1 - hashing.bucket(word, key, mechanism.bits)
        stream = self._keyed(secret, self._label + b"value\x00" + value, mechanism.bits + 64)
        return bloom ^ stream.bits(mechanism.bits, mechanism.flip)

    def _join_cohort(self, secret: bytes) -> None:
        stream = self._keyed(secret, self._label + b"cohort\x00", 16)
        self._cohort = stream.below(self._mechanism.cohorts)
        first = self._cohort * self._mechanism.hashes
        self._keys = tuple(hashing.key(first + index) for index in range(self._mechanism.hashes))
        self._secret = secret
