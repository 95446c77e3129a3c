"""The wheel in buckets on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.randomizers.base import RandomSources, randomizes
from deniable.randomizers.sketch import KEPT_KEYS
from deniable_shared import hashing
from deniable_shared.mechanisms import Wheel
from deniable_shared.mechanisms.sets.wheel import MARKER

if TYPE_CHECKING:
    from collections.abc import Sequence


@randomizes(Wheel)
class WheelRandomizer:
    """Draws a row, and reports one of the set's buckets in it, or one of the others.

    Args:
        mechanism: rows, buckets and the weight of each bucket with an item.
        sources: what it draws from.
    """

    def __init__(self, mechanism: Wheel, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._salt = sources.salt
        self._randomness = sources.randomness
        self._keys = [hashing.key(row) for row in range(min(mechanism.rows, KEPT_KEYS))]

    def report(self, item: Sequence[bytes], secret: bytes) -> bytes:  # noqa: ARG002
        """The row in two bytes, then the bucket.

        Args:
            item: the different canonical texts of a set, in their order.
        """
        mechanism, randomness = self._mechanism, self._randomness
        row = randomness.uniform_below(mechanism.rows)
        member = self._keys[row] if row < KEPT_KEYS else hashing.key(row)
        held = sorted(
            {
                hashing.bucket(hashing.word(text, self._salt), member, mechanism.buckets)
                for text in self._within_limit(item)
            }
        )
        if randomness.bernoulli(len(held) * mechanism.own):
            bucket = held[randomness.uniform_below(len(held))]
        else:
            bucket = randomness.uniform_below(mechanism.buckets - len(held))
            for taken in held:  # from the lowest on, so that it counts the others alone
                bucket += bucket >= taken
        return row.to_bytes(2, "big") + bucket.to_bytes(mechanism.bucket_bytes, "big")

    def _within_limit(self, texts: Sequence[bytes]) -> Sequence[bytes]:
        """The set, or of one that is too large the marker and the items from a random one on.

        Behind the last item comes the first, so each is as probable as all others.
        """
        most = self._mechanism.most
        if len(texts) <= most:
            return texts
        start = self._randomness.uniform_below(len(texts))
        return [MARKER, *(*texts, *texts)[start : start + most - 1]]
