"""Memoised unary encoding on the device: permanent bits, flipped afresh."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import MemoizedUnaryEncoding


@randomizes(MemoizedUnaryEncoding)
class MemoizedUnaryEncodingRandomizer:
    """Looks the item's permanent bits up, and flips each at random.

    Arcolezi et al. 2022, L-OSUE.

    Args:
        mechanism: the weights of both rounds.
        sources: what it draws from.
    """

    def __init__(self, mechanism: MemoizedUnaryEncoding, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._permanent = sources.permanent(mechanism)
        self._randomness = sources.randomness
        self._bytes = mechanism.report_bytes
        self._unused = 8 * mechanism.report_bytes - mechanism.size

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """One bit per item, the first in the highest place."""
        permanent = self.permanent(cast("int", item), secret)
        bits = self._randomness.bits(self._mechanism.size, self._mechanism.flip) ^ permanent
        return (bits << self._unused).to_bytes(self._bytes, "big")

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised bits for an item, as an integer of ``size`` bits."""
        mechanism = self._mechanism
        place = 1 << mechanism.size - 1 - item
        purpose = b"item\x00" + item.to_bytes(4, "big")
        stream = self._permanent.stream(secret, purpose, mechanism.size // 2 + 64)
        bits = stream.bits(mechanism.size, mechanism.permanent_other) & ~place
        return bits | place if stream.bernoulli(mechanism.permanent_own) else bits
