"""Binary randomized response on the device."""

from __future__ import annotations

from deniable.randomizers.base import RandomSources, randomizes
from deniable_shared.mechanisms import RandomizedResponse


@randomizes(RandomizedResponse)
class RandomizedResponseRandomizer:
    """Sends the flag, or its opposite with probability flip / 2^32 (Warner 1965)."""

    def __init__(self, mechanism: RandomizedResponse, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._flip = mechanism.flip

    def report(self, item: int | bytes, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        """One byte, 0 or 1."""
        return b"\x01" if self._randomness.bernoulli(self._flip) ^ (item == 1) else b"\x00"
