"""Memoised dBitFlip on the device: permanent bits for each class, flipped afresh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.randomizers.base import randomizes
from deniable.randomizers.dbitflip import DBitFlipRandomizer
from deniable_shared.mechanisms import MemoizedDBitFlip

if TYPE_CHECKING:
    from deniable.randomizers.base import RandomSources


@randomizes(MemoizedDBitFlip)
class MemoizedDBitFlipRandomizer(DBitFlipRandomizer):
    """Looks the permanent bits of the value's class up, and flips each at random.

    Ding, Kulkarni and Yekhanin (2017), sections 3 and 4. A class is a bin of the group, or all bins
    outside of it.

    Args:
        mechanism: bins, and the weights of both rounds.
        sources: what it draws from.
    """

    def __init__(self, mechanism: MemoizedDBitFlip, sources: RandomSources) -> None:
        super().__init__(mechanism, sources)
        self._lie = mechanism.permanent

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised bits of a bin's class, as an integer of ``buckets`` bits."""
        return self._answers((item - self._group(secret)) % self._size, secret)

    def _answers(self, place: int, secret: bytes) -> int:
        purpose = b"class\x00" + min(place, self._buckets).to_bytes(4, "big")
        stream = self._permanent.stream(secret, purpose, self._buckets + 64)
        return stream.bits(self._buckets, self._lie) ^ super()._answers(place, secret)
