"""Walks through every random choice of a shipped randomizer and adds up P(report | value).

`Walk` stands in for `deniable._randomness.Randomness`. Each primitive branches into its outcomes
with their exact probabilities; the code under audit is run once per path, and it is the code that
ships. That the primitives themselves have those probabilities is audited in `primitives`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from deniable._audit.noise_weights import FINE, decayed, gaussian_weights, laplace_weights
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Outcome = TypeVar("Outcome")
WalkOfKind = TypeVar("WalkOfKind", bound="Walk")


class Negligible(Exception):  # noqa: N818  no error: the path ends here
    """A path whose probability is below what is followed."""


class Walk:
    """One path: follows a given prefix of choices, then always takes the first outcome."""

    least_bits = 1 << 20
    """Paths are followed down to a probability of 2^-least_bits."""

    def __init__(self, prefix: tuple[int, ...] = ()) -> None:
        self.start(prefix)

    def start(self, prefix: tuple[int, ...]) -> None:
        """Starts the next path."""
        self._prefix = prefix
        self.path: list[int] = []
        self.options: list[int] = []
        self.numerator = 1
        self.denominator = 1

    def bernoulli(self, weight: int) -> bool:
        if 0 < weight < SCALE:
            drawn = self._turn(2)
            self._multiply(weight if drawn else SCALE - weight, SCALE)
            return bool(drawn)
        return bool(self._choose([SCALE - weight, weight], SCALE))

    def uniform_below(self, bound: int) -> int:
        drawn = self._turn(bound)
        self._multiply(1, bound)
        return drawn

    def one_of(self, own: int, other: int) -> int:
        others, rest = divmod(SCALE - own, other)
        if rest or not own > 0:
            return self._choose([own] + [other] * others, SCALE)
        drawn = self._turn(1 + others)
        self._multiply(other if drawn else own, SCALE)
        return drawn

    def weighted_place(self, *weights: int) -> int:
        return self._choose(list(weights), SCALE)

    def bernoulli_fraction(self, numerator: int, denominator: int) -> bool:
        return bool(self._choose([denominator - numerator, numerator], denominator))

    def bernoulli_exp(self, numerator: int, denominator: int) -> bool:
        weight = int(FINE * decayed(Fraction(numerator, denominator)))
        return bool(self._choose([FINE - weight, weight], FINE))

    def laplace(self, scale: int) -> int:
        return self._noise(laplace_weights(scale))

    def gaussian(self, variance: int) -> int:
        return self._noise(gaussian_weights(variance))

    def _noise(self, weights: tuple[int, ...]) -> int:
        drawn = self._turn(len(weights))
        self._multiply(weights[drawn], FINE)
        return drawn - len(weights) // 2

    def _choose(self, weights: list[int], total: int) -> int:
        if sum(weights) != total or min(weights) < 0:
            raise ValueError(f"weights must be at least 0 and add up to {total}")
        possible = [index for index, weight in enumerate(weights) if weight]
        turn = self._turn(len(possible))
        self._multiply(weights[possible[turn]], total)
        return possible[turn]

    def _turn(self, options: int) -> int:
        """Which of so many possible outcomes this path takes."""
        depth = len(self.path)
        turn = self._prefix[depth] if depth < len(self._prefix) else 0
        self.path.append(turn)
        self.options.append(options)
        return turn

    def _multiply(self, weight: int, total: int) -> None:
        self.numerator *= weight
        self.denominator *= total
        # Shifting is slow, and in vain unless the numerator is so much shorter.
        shorter = self.denominator.bit_length() - self.numerator.bit_length()
        if shorter >= self.least_bits and self.numerator << self.least_bits < self.denominator:
            raise Negligible


def paths(run: Callable[[WalkOfKind], Outcome], walk: WalkOfKind) -> Iterator[Outcome | Negligible]:
    """What `run` returns on each path, one after the other; the walk knows the path's probability.

    Args:
        run: draws from the walk.
        walk: started anew for each path.
    """
    prefix: tuple[int, ...] | None = ()
    while prefix is not None:
        walk.start(prefix)
        try:
            yield run(walk)
        except Negligible as negligible:
            yield negligible
        prefix = _next_prefix(walk)


def follow_all(
    run: Callable[[Walk], Outcome], walker: type[Walk]
) -> tuple[dict[Outcome, Fraction], Fraction]:
    """The exact law of what `run` returns, and the probability of what was not followed.

    Args:
        run: draws from a walk.
        walker: says how far paths are followed.
    """
    sums: dict[tuple[Outcome, int], int] = {}
    lost = Fraction(0)
    walk = walker(())
    for outcome in paths(run, walk):
        if isinstance(outcome, Negligible):
            lost += Fraction(walk.numerator, walk.denominator)
        else:
            key = (outcome, walk.denominator)
            sums[key] = sums.get(key, 0) + walk.numerator
    weights, common = over_one_denominator(sums)
    assert Fraction(sum(weights.values()), common) + lost == 1
    exact = {outcome: Fraction(weight, common) for outcome, weight in weights.items()}
    return exact, lost


def over_one_denominator(
    sums: Mapping[tuple[Outcome, int], int],
) -> tuple[dict[Outcome, int], int]:
    """The weights of outcomes over a common denominator; integers add up faster than fractions.

    Args:
        sums: numerators, by outcome and denominator.
    """
    common = math.lcm(*{denominator for _, denominator in sums})
    weights: dict[Outcome, int] = {}
    for (outcome, denominator), numerator in sums.items():
        weight = numerator * (common // denominator)
        weights[outcome] = weights.get(outcome, 0) + weight
    return weights, common


def _next_prefix(walk: Walk) -> tuple[int, ...] | None:
    path = list(walk.path)
    while path and path[-1] + 1 == walk.options[len(path) - 1]:
        path.pop()
    if not path:
        return None
    path[-1] += 1
    return tuple(path)
