"""dBitFlip on the device."""

from __future__ import annotations

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import DBitFlip, MemoizedDBitFlip


@randomizes(DBitFlip)
class DBitFlipRandomizer:
    """Draws a group, and answers, with lies, for its few bins (Ding et al. 2017, section 3).

    Args:
        mechanism: bins, and how many of them a report answers for.
        sources: what it draws from.
    """

    def __init__(self, mechanism: DBitFlip | MemoizedDBitFlip, sources: RandomSources) -> None:
        self._size = mechanism.size
        self._buckets = mechanism.buckets
        self._flip = mechanism.flip
        self._randomness = sources.randomness
        self._bytes = mechanism.report_bytes - 2
        self._unused = 8 * self._bytes - mechanism.buckets

    def report(self, item: int, secret: bytes) -> bytes:
        """The group in two bytes, then one bit for each of its bins."""
        group = self._group(secret)
        bits = self._randomness.bits(self._buckets, self._flip)
        bits ^= self._answers((item - group) % self._size, secret)
        return group.to_bytes(2, "big") + (bits << self._unused).to_bytes(self._bytes, "big")

    def _group(self, secret: bytes) -> int:  # noqa: ARG002  nothing memoised
        return self._randomness.uniform_below(self._size)

    def _answers(self, place: int, secret: bytes) -> int:  # noqa: ARG002  nothing memoised
        """The bits before they are flipped: of a bin in the group, 1 at its place; else none."""
        return 1 << self._buckets - 1 - place if place < self._buckets else 0
