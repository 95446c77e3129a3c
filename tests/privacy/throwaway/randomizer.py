"""What stands in the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.randomizers.base import randomizes
from tests.privacy.throwaway.mechanism import CopiedHadamardResponse

if TYPE_CHECKING:
    from deniable.randomizers.base import RandomSources


@randomizes(CopiedHadamardResponse)
class CopiedHadamardResponseRandomizer:
    def __init__(self, mechanism: CopiedHadamardResponse, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._randomness = sources.randomness

    def report(self, item: int, secret: bytes) -> bytes:  # noqa: ARG002  nothing memoised
        row = self._randomness.uniform_below(self._mechanism.order - 1)
        negative = (row + 1 & item).bit_count() & 1
        negative ^= self._randomness.bernoulli(self._mechanism.flip)
        return (2 * row + negative).to_bytes(self._mechanism.report_bytes, "big")
