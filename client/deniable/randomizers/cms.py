"""Count-mean sketch on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable_shared import hashing

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable_shared.mechanisms import CountMeanSketch
    from deniable_shared.spec import Spec


class CountMeanSketchRandomizer:
    """Draws a row, sets the value's bucket in it and flips every bit (Apple 2017, algorithm 3)."""

    def __init__(self, spec: Spec, randomness: Randomness) -> None:
        mechanism = cast("CountMeanSketch", spec.mechanism)
        self._randomness = randomness
        self._salt = spec.salt
        self._rows = mechanism.rows
        self._buckets = mechanism.buckets
        self._flip = mechanism.flip
        self._bytes = mechanism.buckets // 8

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The row in two bytes, then the bits."""
        row = self._randomness.below(self._rows)
        word = hashing.word(cast("bytes", item), self._salt)
        bucket = hashing.bucket(word, hashing.key(row), self._buckets)
        bits = self._randomness.bits(self._buckets, self._flip) ^ (1 << self._buckets - 1 - bucket)
        return row.to_bytes(2, "big") + bits.to_bytes(self._bytes, "big")
