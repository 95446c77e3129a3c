"""Recursive Hadamard response on the device."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import RecursiveHadamardResponse


@randomizes(RecursiveHadamardResponse)
class RecursiveHadamardResponseRandomizer:
    """Draws a row, and sends the item's block and sign there, or any other block and sign."""

    def __init__(self, mechanism: RecursiveHadamardResponse, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._rows = mechanism.order - 1
        self._blocks = mechanism.blocks
        self._bits = mechanism.bits
        self._own = mechanism.own
        self._other = mechanism.other
        self._bytes = mechanism.report_bytes

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The outcome's number, big-endian."""
        column, block = divmod(cast("int", item), self._blocks)
        row = self._randomness.uniform_below(self._rows)
        symbol = 2 * block + ((row + 1 & column).bit_count() & 1)
        drawn = self._randomness.one_of(self._own, self._other)
        if drawn:
            symbol = drawn - 1 + (drawn > symbol)
        return ((row << self._bits) + symbol).to_bytes(self._bytes, "big")
