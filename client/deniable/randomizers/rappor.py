"""RAPPOR on the device: cohort, Bloom filter, permanent and instantaneous response."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared import hashing
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import Rappor


@randomizes(Rappor)
class RapporRandomizer:
    """Erlingsson, Pihur and Korolova 2014, section 2.

    Args:
        mechanism: the filter, and the weights of both responses.
        sources: what it draws from.
    """

    def __init__(self, mechanism: Rappor, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._salt = sources.salt
        self._permanent = sources.permanent(mechanism)
        self._randomness = sources.randomness
        self._bytes = mechanism.bits // 8

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """The cohort in two bytes, then the bits."""
        mechanism = self._mechanism
        permanent = self.permanent(cast("bytes", item), secret)
        if mechanism.p + mechanism.q == SCALE:  # set and unset bits are flipped alike
            bits = self._randomness.bits(mechanism.bits, mechanism.p) ^ permanent
        else:
            ones = self._randomness.bits(mechanism.bits, mechanism.q) & permanent
            bits = ones | self._randomness.bits(mechanism.bits, mechanism.p) & ~permanent
        return self._cohort(secret).to_bytes(2, "big") + bits.to_bytes(self._bytes, "big")

    def permanent(self, value: bytes, secret: bytes) -> int:
        """The memoised noisy Bloom filter of a value, as an integer of ``bits`` bits."""
        mechanism = self._mechanism
        word = hashing.word(value, self._salt)
        first = self._cohort(secret) * mechanism.hashes
        bloom = 0
        for member in range(first, first + mechanism.hashes):
            bucket = hashing.bucket(word, hashing.key(member), mechanism.bits)
            bloom |= 1 << mechanism.bits - 1 - bucket
        stream = self._permanent.stream(secret, b"value\x00" + value, mechanism.bits + 64)
        return bloom ^ stream.bits(mechanism.bits, mechanism.flip)

    def _cohort(self, secret: bytes) -> int:
        return self._permanent.group(secret)
