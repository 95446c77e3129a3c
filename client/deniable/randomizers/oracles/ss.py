"""Subset selection on the device."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import SubsetSelection


@randomizes(SubsetSelection)
class SubsetSelectionRandomizer:
    """Sends a set with the device's item, or one of the other items only."""

    def __init__(self, mechanism: SubsetSelection, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._size = mechanism.size
        self._subset = mechanism.subset
        self._own = mechanism.own
        self._bytes = mechanism.report_bytes
        self._unused = 8 * mechanism.report_bytes - mechanism.size

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """One bit per item, the first in the highest place."""
        place = self._size - 1 - cast("int", item)
        held = self._randomness.bernoulli(self._own)
        others = self._others(self._subset - held)
        # `others` has no bit for the device's item: the bits above it move up by one.
        below = others & (1 << place) - 1
        bits = (others ^ below) << 1 | below | held << place
        return (bits << self._unused).to_bytes(self._bytes, "big")

    def _others(self, count: int) -> int:
        """A uniform subset of the k - 1 other items, as that many bits (Floyd's algorithm).

        Each step adds one item, and every subset is equally likely: Bentley and Floyd 1987.
        """
        below = self._randomness.uniform_below
        bits = 0
        for last in range(self._size - 1 - count, self._size - 1):
            bit = 1 << below(last + 1)
            bits |= 1 << last if bits & bit else bit
        return bits
