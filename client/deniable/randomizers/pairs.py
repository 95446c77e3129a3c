"""Sampled Hadamard coefficients on the device."""

from __future__ import annotations

from deniable.randomizers.base import RandomSources, make_randomizer, randomizes
from deniable_shared.mechanisms import SampledCoefficients


@randomizes(SampledCoefficients)
class SampledCoefficientsRandomizer:
    """Draws a coefficient, and reports the parity of its flags through randomized response.

    Args:
        mechanism: the coefficients.
        sources: what it draws from.
    """

    def __init__(self, mechanism: SampledCoefficients, sources: RandomSources) -> None:
        self._randomness = sources.randomness
        self._inner = make_randomizer(mechanism.inner, sources)
        self._coefficients = mechanism.coefficients
        self._width = mechanism.report_bytes

    def report(self, item: tuple[int, ...], secret: bytes) -> bytes:
        """Twice the coefficient's number plus the randomized parity, big-endian."""
        number = self._randomness.uniform_below(len(self._coefficients))
        parity = sum(item[position] for position in self._coefficients[number]) & 1
        bit = self._inner.report(parity, secret)[0]
        return (2 * number + bit).to_bytes(self._width, "big")
