"""One sampled attribute on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable._randomness import Randomness
    from deniable.randomizers.base import Randomizer
    from deniable_shared.mechanisms import SampledAttribute


class SampledAttributeRandomizer:
    """Draws an attribute, and reports it through its own oracle.

    Args:
        mechanism: how many attributes, and how wide their reports are.
        inner: randomizes each attribute.
        randomness: draws the attribute.
    """

    def __init__(
        self, mechanism: SampledAttribute, inner: Sequence[Randomizer], randomness: Randomness
    ) -> None:
        self._randomness = randomness
        self._inner = tuple(inner)
        self._numbers = [bytes([number]) for number in range(len(self._inner))]
        self._width = mechanism.report_bytes

    def report(self, item: tuple[int, ...], secret: bytes) -> bytes:
        """The attribute's number in one byte, the inner report, and zeros up to the width."""
        number = self._randomness.uniform_below(len(self._inner))
        report = self._numbers[number] + self._inner[number].report(item[number], secret)
        return report.ljust(self._width, b"\x00")
