"""Generalized randomized response on the device."""

from __future__ import annotations

from typing import cast

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import GeneralizedRandomizedResponse


@randomizes(GeneralizedRandomizedResponse)
class GeneralizedRandomizedResponseRandomizer:
    """Sends the item's index, or any other index with probability other / 2^32 each."""

    def __init__(self, mechanism: GeneralizedRandomizedResponse, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._own = mechanism.own
        self._other = mechanism.other
        self._bytes = mechanism.report_bytes

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """The reported index, big-endian."""
        index = cast("int", item)
        drawn = self._randomness.one_of(self._own, self._other)
        if drawn:
            index = drawn - 1 + (drawn > index)
        return index.to_bytes(self._bytes, "big")
