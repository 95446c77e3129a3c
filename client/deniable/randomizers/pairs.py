"""Sampled Hadamard coefficients on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable._randomness import Randomness
    from deniable.randomizers.base import Randomizer
    from deniable_shared.mechanisms import SampledCoefficients


class SampledCoefficientsRandomizer:
    """Draws a coefficient, and reports the parity of its flags through randomized response.

    Args:
        mechanism: the coefficients.
        inner: randomizes a parity.
        randomness: draws the coefficient.
    """

    def __init__(
        self, mechanism: SampledCoefficients, inner: Randomizer, randomness: Randomness
    ) -> None:
        self._randomness = randomness
        self._inner = inner
        self._coefficients = mechanism.coefficients
        self._width = mechanism.report_bytes

    def report(self, item: tuple[int, ...], secret: bytes) -> bytes:
        """Twice the coefficient's number plus the randomized parity, big-endian."""
        number = self._randomness.uniform_below(len(self._coefficients))
        parity = sum(item[position] for position in self._coefficients[number]) & 1
        bit = self._inner.report(parity, secret)[0]
        return (2 * number + bit).to_bytes(self._width, "big")
