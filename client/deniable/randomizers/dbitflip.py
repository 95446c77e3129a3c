"""dBitFlip on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable.randomizers.permanent import PermanentChoices
    from deniable_shared.mechanisms import DBitFlip, MemoizedDBitFlip


class DBitFlipRandomizer:
    """Answers, with lies, for the few bins of the device's group (Ding et al. 2017, section 3).

    The group is permanent, and does not depend on any value.

    Args:
        mechanism: bins, and how many of them a device answers for.
        permanent: where the group comes from.
        randomness: fresh randomness for the lies.
    """

    def __init__(
        self,
        mechanism: DBitFlip | MemoizedDBitFlip,
        permanent: PermanentChoices,
        randomness: Randomness,
    ) -> None:
        self._size = mechanism.size
        self._buckets = mechanism.buckets
        self._flip = mechanism.flip
        self._permanent = permanent
        self._randomness = randomness
        self._bytes = mechanism.report_bytes - 2
        self._unused = 8 * self._bytes - mechanism.buckets

    def report(self, item: int, secret: bytes) -> bytes:
        """The group in two bytes, then one bit for each of its bins."""
        group = self._group(secret)
        told = self._randomness.bits(self._buckets, self._flip)
        told ^= self._answers((item - group) % self._size, secret)
        return group.to_bytes(2, "big") + (told << self._unused).to_bytes(self._bytes, "big")

    def _group(self, secret: bytes) -> int:
        return self._permanent.group(secret, b"group\x00", self._size)

    def _answers(self, place: int, secret: bytes) -> int:  # noqa: ARG002  nothing memoised
        """The bits before they are flipped: of a bin in the group, 1 at its place; else none."""
        return 1 << self._buckets - 1 - place if place < self._buckets else 0
