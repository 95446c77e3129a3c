"""Unary encodings on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import OptimizedUnaryEncoding, SymmetricUnaryEncoding

if TYPE_CHECKING:
    from deniable_shared.mechanisms.oracles.unary import UnaryEncoding


@randomizes(OptimizedUnaryEncoding, SymmetricUnaryEncoding)
class UnaryEncodingRandomizer:
    """Draws one bit per item; the device's own has a probability of its own."""

    def __init__(self, mechanism: UnaryEncoding, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._size = mechanism.size
        self._own = mechanism.own
        self._other = mechanism.other
        self._bytes = mechanism.report_bytes
        self._unused = 8 * mechanism.report_bytes - mechanism.size

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """One bit per item, the first in the highest place."""
        place = 1 << self._size - 1 - cast("int", item)
        bits = self._randomness.bits(self._size, self._other) & ~place
        if self._randomness.bernoulli(self._own):
            bits |= place
        return (bits << self._unused).to_bytes(self._bytes, "big")
