"""Optimized local hashing on the device."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared import hashing
from deniable_shared.mechanisms import OptimizedLocalHashing
from deniable_shared.mechanisms.oracles.olh import SEED_BYTES, item_word


@randomizes(OptimizedLocalHashing)
class OptimizedLocalHashingRandomizer:
    """Draws a hash function, and sends the item's bucket or any other."""

    def __init__(self, mechanism: OptimizedLocalHashing, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._buckets = mechanism.buckets
        self._own = mechanism.own
        self._other = mechanism.other
        self._bucket_bits = 8 * (mechanism.report_bytes - SEED_BYTES)
        self._bytes = mechanism.report_bytes

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The seed and the bucket, big-endian."""
        seed = self._randomness.word()
        word = item_word(cast("int", item))
        bucket = hashing.bucket(word, hashing.key(seed), self._buckets)
        drawn = self._randomness.one_of(self._own, self._other)
        if drawn:
            bucket = drawn - 1 + (drawn > bucket)
        return (seed << self._bucket_bits | bucket).to_bytes(self._bytes, "big")
