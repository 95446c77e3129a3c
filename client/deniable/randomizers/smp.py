"""One sampled attribute on the device."""

from __future__ import annotations

from deniable.randomizers.base import RandomSources, make_randomizer, randomizes
from deniable_shared.mechanisms import SampledAttribute


@randomizes(SampledAttribute)
class SampledAttributeRandomizer:
    """Draws an attribute, and reports it through its own oracle.

    Args:
        mechanism: how many attributes, and how wide their reports are.
        sources: what it draws from.
    """

    def __init__(self, mechanism: SampledAttribute, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._inner = [make_randomizer(oracle, sources) for oracle in mechanism.inner]
        self._numbers = [bytes([number]) for number in range(len(self._inner))]
        self._width = mechanism.report_bytes

    def report(self, item: tuple[int, ...], secret: bytes) -> bytes:
        """The attribute's number in one byte, the inner report, and zeros up to the width."""
        number = self._randomness.uniform_below(len(self._inner))
        report = self._numbers[number] + self._inner[number].report(item[number], secret)
        return report.ljust(self._width, b"\x00")
