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
        self._mechanism = mechanism
        self._most = mechanism.most
        self._inside = mechanism.inside
        self._fillers = mechanism.first_filler
        self._others = mechanism.outside_count
        self._bytes = mechanism.report_bytes

    def report(self, item: Sequence[int], secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The reported outcome, big-endian.

        Args:
            item: the numbers of the device's items, all different and in their order.
        """
        held = self._held(item)
        if self._randomness.bernoulli(self._inside):
            outcome = held[self._randomness.uniform_below(self._most)]
        else:
            outcome = self._randomness.uniform_below(self._others)
            for each in held:  # in their order: every one that is not above moves it up by one
                outcome += outcome >= each
        return outcome.to_bytes(self._bytes, "big")

    def _held(self, items: Sequence[int]) -> list[int]:
        """The `most` outcomes of a set, in their order."""
        missing = self._most - len(items)
        if missing >= 0:
            return [*items, *range(self._fillers, self._fillers + missing)]
        kept = list(items)
        for place in range(self._most - 1):
            other = place + self._randomness.uniform_below(len(kept) - place)
            kept[place], kept[other] = kept[other], kept[place]
        assert self._mechanism.marker is not None  # else no set has so many items
        return [*sorted(kept[: self._most - 1]), self._mechanism.marker]
