"""One-bit Hadamard response on the device."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import HadamardResponse


@randomizes(HadamardResponse)
class HadamardResponseRandomizer:
    """Draws a row of the Hadamard matrix, and sends the item's entry there or its negative."""

    def __init__(self, mechanism: HadamardResponse, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._rows = mechanism.order - 1
        self._flip = mechanism.flip
        self._bytes = mechanism.report_bytes

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian."""
        row = self._randomness.uniform_below(self._rows)
        negative = (row + 1 & cast("int", item)).bit_count() & 1
        negative ^= self._randomness.bernoulli(self._flip)
        return (2 * row + negative).to_bytes(self._bytes, "big")
