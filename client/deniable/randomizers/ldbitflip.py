"""Memoised dBitFlip on the device: permanent bits for each thing to say, flipped afresh."""

from __future__ import annotations

from deniable.randomizers.base import RandomSources, randomizes
from deniable.randomizers.dbitflip import DBitFlipRandomizer
from deniable_shared.mechanisms import MemoizedDBitFlip


@randomizes(MemoizedDBitFlip)
class MemoizedDBitFlipRandomizer(DBitFlipRandomizer):
    """Looks up the permanent bits for the value's bin, and flips each at random.

    Ding, Kulkarni and Yekhanin (2017), sections 3 and 4. All bins outside of the device's group
    have the same permanent bits.

    Args:
        mechanism: bins, and the weights of both rounds.
        sources: what it draws from.
    """

    def __init__(self, mechanism: MemoizedDBitFlip, sources: RandomSources) -> None:
        super().__init__(mechanism, sources)
        self._lie = mechanism.permanent
        self._permanent = sources.permanent(mechanism)

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised bits for a bin, as an integer of ``buckets`` bits."""
        return self._answers((item - self._group(secret)) % self._size, secret)

    def _group(self, secret: bytes) -> int:
        return self._permanent.group(secret)

    def _answers(self, place: int, secret: bytes) -> int:
        purpose = b"place\x00" + min(place, self._buckets).to_bytes(4, "big")
        stream = self._permanent.stream(secret, purpose, self._buckets + 64)
        return stream.bits(self._buckets, self._lie) ^ super()._answers(place, secret)
