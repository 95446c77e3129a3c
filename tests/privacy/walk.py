"""Walks through every random choice of a shipped randomizer and adds up P(report | value).

`Walk` stands in for `deniable._randomness.Randomness`. Each primitive branches into its outcomes
with their exact probabilities; the code under test is run once per path, and it is the code that
ships. That the primitives themselves have those probabilities is tested in
tests/client/test_randomness.py.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from deniable_shared.rationals import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable

Outcome = TypeVar("Outcome")


class Walk:
    """One path: follows a given prefix of choices, then always takes the first outcome."""

    def __init__(self, prefix: tuple[int, ...]) -> None:
        self._prefix = prefix
        self.path: list[int] = []
        self.options: list[int] = []
        self.numerator = 1
        self.denominator = 1

    def bernoulli(self, weight: int) -> bool:
        return bool(self._choose([SCALE - weight, weight], SCALE))

    def below(self, bound: int) -> int:
        return self._choose([1] * bound, bound)

    def one_of(self, own: int, other: int) -> int:
        return self._choose([own] + [other] * ((SCALE - own) // other), SCALE)

    def bits(self, count: int, weight: int) -> LazyBits:
        return LazyBits(self, count, weight)

    def _choose(self, weights: list[int], total: int) -> int:
        assert sum(weights) == total
        possible = [index for index, weight in enumerate(weights) if weight]
        depth = len(self.path)
        turn = self._prefix[depth] if depth < len(self._prefix) else 0
        self.path.append(turn)
        self.options.append(len(possible))
        self.numerator *= weights[possible[turn]]
        self.denominator *= total
        return possible[turn]


class LazyBits:
    """Independent bits that are only drawn where they are looked at.

    A bit that is masked away cannot influence the report, so it need not be branched on.
    """

    def __init__(self, walk: Walk, count: int, weight: int) -> None:
        self._walk = walk
        self._count = count
        self._weight = weight

    def __and__(self, mask: int) -> int:
        drawn = 0
        for index in range(self._count):
            if mask >> index & 1 and self._walk.bernoulli(self._weight):
                drawn |= 1 << index
        return drawn

    __rand__ = __and__

    def __xor__(self, other: int) -> int:
        return (self & (1 << self._count) - 1) ^ other

    __rxor__ = __xor__


def distribution(run: Callable[[Walk], Outcome]) -> dict[Outcome, Fraction]:
    """The exact distribution of what `run` returns over all choices it makes."""
    sums: dict[tuple[Outcome, int], int] = {}
    prefix: tuple[int, ...] | None = ()
    while prefix is not None:
        walk = Walk(prefix)
        outcome = run(walk)
        key = (outcome, walk.denominator)
        sums[key] = sums.get(key, 0) + walk.numerator
        prefix = _next_prefix(walk)
    exact: dict[Outcome, Fraction] = {}
    for (outcome, denominator), numerator in sums.items():
        exact[outcome] = exact.get(outcome, Fraction(0)) + Fraction(numerator, denominator)
    assert sum(exact.values()) == 1
    return exact


def _next_prefix(walk: Walk) -> tuple[int, ...] | None:
    path = list(walk.path)
    while path and path[-1] + 1 == walk.options[len(path) - 1]:
        path.pop()
    if not path:
        return None
    path[-1] += 1
    return tuple(path)
