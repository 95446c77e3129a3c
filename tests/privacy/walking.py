"""The exact distribution of what a shipped randomizer returns, of bits drawn one by one.

`deniable._audit.walk` follows the choices. The audit keeps rows of bits symbolic, tests do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from deniable._audit.walk import Walk, follow_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

Outcome = TypeVar("Outcome")


class BitwiseWalk(Walk):
    """A walk that also draws rows of bits, and by weights of any number."""

    def weighted(self, weights: list[int]) -> int:
        """An index, with a probability proportional to its weight."""
        return self._choose(weights, sum(weights))

    def bits(self, count: int, weight: int) -> LazyBits:
        return LazyBits(self, count, weight)


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


def distribution(run: Callable[[BitwiseWalk], Outcome]) -> dict[Outcome, Fraction]:
    """The exact distribution of what `run` returns over all choices it makes."""
    exact, lost = follow_all(run, BitwiseWalk)
    assert not lost
    return exact
