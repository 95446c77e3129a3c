"""Memoised generalized randomized response on the device: a permanent answer, randomized again."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import MemoizedRandomizedResponse


@randomizes(MemoizedRandomizedResponse)
class MemoizedRandomizedResponseRandomizer:
    """Looks the item's permanent answer up, and sends it or any other index.

    Arcolezi et al. 2022, L-GRR.

    Args:
        mechanism: the weights of both rounds.
        sources: what it draws from.
    """

    def __init__(self, mechanism: MemoizedRandomizedResponse, sources: RandomSources) -> None:
        self._permanent = sources.permanent(mechanism)
        self._permanent_weights = mechanism.permanent_own, mechanism.permanent_other
        self._randomness = sources.randomness
        self._own, self._other = mechanism.own, mechanism.other
        self._bytes = mechanism.report_bytes

    def report(self, item: int | bytes, secret: bytes) -> bytes:
        """The reported index, big-endian."""
        permanent = self.permanent(cast("int", item), secret)
        drawn = self._randomness.one_of(self._own, self._other)
        return _index_of_draw(permanent, drawn).to_bytes(self._bytes, "big")

    def permanent(self, item: int, secret: bytes) -> int:
        """The memoised answer for an item: an index."""
        stream = self._permanent.stream(secret, b"item\x00" + item.to_bytes(4, "big"), 4)
        return _index_of_draw(item, stream.one_of(*self._permanent_weights))


def _index_of_draw(index: int, drawn: int) -> int:
    """The index itself for draw 0; the other indices, in order, for draws 1, 2, ..."""
    return drawn - 1 + (drawn > index) if drawn else index
