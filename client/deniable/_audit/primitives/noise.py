"""The audit of `laplace` and `gaussian`, layer by layer.

Each layer is followed over the code that is installed, with exact draws below it: powers of e over
fractions, Laplace noise over powers of e, Gaussian noise over Laplace noise. Paths are followed to
a probability of 2^-56, or less.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from deniable import _randomness
from deniable._audit.domains import spread
from deniable._audit.failure import AuditFailure
from deniable._audit.noise_weights import FINE, decayed, laplace_weights
from deniable._audit.primitives.words import WordWalk
from deniable._audit.walk import Negligible, Walk, follow_all

MOST_RESTS: Final = 8
MOST_PLACES: Final = 257
TAIL_SCALES: Final = 24
"""Noise is compared to so many scales."""

CLOSE: Final = Fraction(1, 10**12)
"""Relative: what is not followed is far below it."""

EXPONENTS: Final = ((0, 1), (1, 1), (1, 2), (1, 100), (99, 100), (7, 2), (12, 5))
FRACTIONS: Final = ((0, 5), (5, 5), (1, 3), (2, 3), (5, 1 << 70), ((1 << 70) - 1, 1 << 70), (7, 8))


class DecayOverFractions(Walk):
    """The installed `bernoulli_exp`."""

    least_bits = 64

    def bernoulli_exp(self, numerator: int, denominator: int) -> bool:
        """As installed."""
        return _randomness.Randomness.bernoulli_exp(self, numerator, denominator)  # type: ignore[arg-type]


class FirstTry(Walk):
    """Follows rejection sampling to its first rejection, after which everything repeats."""

    least_bits = 56

    def start(self, prefix: tuple[int, ...]) -> None:
        """Starts the next path."""
        super().start(prefix)
        self._tried = False

    def try_once(self) -> None:
        """At the beginning of each try."""
        if self._tried:
            raise Negligible
        self._tried = True


class LaplaceOverDecay(FirstTry):
    """The installed `laplace`; of its first draw some outcomes are followed."""

    def laplace(self, scale: int) -> int:
        """As installed."""
        return _randomness.Randomness.laplace(self, scale)  # type: ignore[arg-type]

    def uniform_below(self, bound: int) -> int:
        """The rest of the noise, below its whole scales."""
        self.try_once()
        some = spread(bound, MOST_RESTS)
        return some[super().uniform_below(len(some))]


class GaussianOverLaplace(FirstTry):
    """The installed `gaussian`; of the Laplace noise below it some outcomes are followed."""

    least_bits = 128

    def gaussian(self, variance: int) -> int:
        """As installed."""
        return _randomness.Randomness.gaussian(self, variance)  # type: ignore[arg-type]

    def laplace(self, scale: int) -> int:
        """One of the followed places, as likely as each other."""
        self.try_once()
        places = _places(scale)
        return places[super().uniform_below(len(places))]


def check_decay() -> None:
    """Checks `bernoulli_fraction` and `bernoulli_exp`."""
    for case in FRACTIONS:
        exact, lost = follow_all(
            lambda walk, case=case: _randomness.Randomness.bernoulli_fraction(walk, *case),  # type: ignore[misc]
            WordWalk,
        )
        if not exact.get(True, 0) <= Fraction(*case) <= exact.get(True, 0) + lost:
            raise AuditFailure(f"{case[0]} in {case[1]} is not drawn so")
    for case in EXPONENTS:
        exact, lost = follow_all(
            lambda walk, case=case: walk.bernoulli_exp(*case),  # type: ignore[misc]
            DecayOverFractions,
        )
        wanted = decayed(Fraction(*case))
        if not abs(exact.get(True, Fraction(0)) - wanted) <= lost + Fraction(1, 1 << 130):
            raise AuditFailure(f"e^-({case[0]} / {case[1]}) is not drawn so")


def check_laplace(scale: int) -> None:
    """Checks noise of one scale, at some places up to 24 scales."""
    check_decay()
    exact, _ = follow_all(lambda walk: walk.laplace(scale), LaplaceOverDecay)
    centre = exact[0]
    for rest in spread(scale, MOST_RESTS):
        for whole in range(TAIL_SCALES):
            size = rest + scale * whole
            wanted = centre * decayed(Fraction(size, scale))
            # A size of 0 has one sign only, and half of its draws begin again.
            for place in {size, -size}:
                if not abs(exact.get(place, Fraction(0)) - wanted) <= CLOSE * wanted:
                    raise AuditFailure(f"noise of {place} steps is not drawn as likely as it must")


def check_gaussian(variance: int) -> None:
    """Checks with which probability Laplace noise is accepted, and the Laplace noise."""
    scale = math.isqrt(variance) + 1
    check_laplace(scale)
    exact, _ = follow_all(lambda walk: walk.gaussian(variance), GaussianOverLaplace)
    weights = laplace_weights(scale)
    middle = len(weights) // 2

    def likely(place: int) -> Fraction:
        return exact.get(place, Fraction(0)) * Fraction(weights[middle + place], FINE)

    centre = likely(0)
    for place in _places(scale):
        wanted = centre * decayed(Fraction(place * place, 2 * variance))
        if not abs(likely(place) - wanted) <= CLOSE * wanted:
            raise AuditFailure(f"noise of {place} steps is not accepted as often as it must")


def _places(scale: int) -> list[int]:
    """Places up to ten scales to either side, with 0 among them."""
    reach = 10 * scale
    return [place - reach for place in spread(2 * reach + 1, MOST_PLACES)]
