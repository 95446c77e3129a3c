"""PrivSet on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import PrivSet

if TYPE_CHECKING:
    from collections.abc import Sequence


@randomizes(PrivSet)
class PrivSetRandomizer:
    """Sends one of the outcomes that the device holds, or one of the others."""

    def __init__(self, mechanism: PrivSet, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._most = mechanism.most
        self._inside = mechanism.inside
        self._marker = mechanism.size
        self._fillers = mechanism.first_filler
        self._others = mechanism.outside_count
        self._bytes = mechanism.report_bytes

    def report(self, item: Sequence[int], secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The reported outcome, big-endian.

        Args:
            item: the numbers of the device's items, all different and in their order.
        """
        drawn, most = self._randomness, self._most
        inside = drawn.bernoulli(self._inside)
        place = drawn.uniform_below(most if inside else self._others)
        left_out = len(item) - most + 1  # how many items have no place beside the marker
        if left_out > 1:
            # A uniform one of the items that are held, or that are left out, is a uniform item.
            if place < (most - 1 if inside else left_out):
                return self._encoded(item[drawn.uniform_below(len(item))])
            held = [*item, self._marker]
            place = len(item) if inside else place - left_out
        else:
            held = [*item, *range(self._fillers, self._fillers + most - len(item))]
        if inside:
            return self._encoded(held[place])
        for each in held:  # in their order: every one that is not above moves it up by one
            place += place >= each
        return self._encoded(place)

    def _encoded(self, outcome: int) -> bytes:
        return outcome.to_bytes(self._bytes, "big")
