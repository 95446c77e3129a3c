"""The law of one place of a report: how probable a 1 is, and how far a device keeps that."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from deniable._audit.laws.truth_tables import ONE, ZERO, Function, RandomBit
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class PlaceLaw:
    """The law of one place of a report; there is one object for each law, made by `of`.

    Attributes:
        chances: (probability of a 1, how probable it is that a device keeps it), in order.
    """

    __slots__ = ("chances",)
    _known: ClassVar[dict[tuple[tuple[Fraction, Fraction], ...], PlaceLaw]] = {}

    def __init__(self, chances: tuple[tuple[Fraction, Fraction], ...]) -> None:
        self.chances = chances

    @classmethod
    def of(cls, chances: Mapping[Fraction, Fraction]) -> PlaceLaw:
        """The law with these chances by probability of a 1."""
        key = tuple(sorted((one, chance) for one, chance in chances.items() if chance))
        return cls._known.setdefault(key, cls(key))

    @property
    def one(self) -> Fraction:
        """The probability of a 1 in one report."""
        return sum((one * chance for one, chance in self.chances), Fraction(0))


ALWAYS_0 = PlaceLaw.of({Fraction(0): Fraction(1)})
ALWAYS_1 = PlaceLaw.of({Fraction(1): Fraction(1)})


@lru_cache(maxsize=65_536)
def place_law(function: Function) -> PlaceLaw:
    """The law of a place that is a function of random bits."""
    if function in (ZERO, ONE):
        return ALWAYS_1 if function == ONE else ALWAYS_0
    kept = [bit for bit in function.bits if bit.kept]
    ones: dict[tuple[int, ...], Fraction] = {}
    for index, values in enumerate(itertools.product((0, 1), repeat=len(function.bits))):
        given = dict(zip(function.bits, values, strict=True))
        state = tuple(given[bit] for bit in kept)
        chance = _chance((bit, value) for bit, value in given.items() if not bit.kept)
        ones[state] = ones.get(state, Fraction(0)) + chance * (function.table >> index & 1)
    law: dict[Fraction, Fraction] = {}
    for state, one in ones.items():
        law[one] = law.get(one, Fraction(0)) + _chance(zip(kept, state, strict=True))
    return PlaceLaw.of(law)


def _chance(values: Iterable[tuple[RandomBit, int]]) -> Fraction:
    """The probability that independent bits have these values."""
    weights = (bit.weight if value else SCALE - bit.weight for bit, value in values)
    return math.prod((Fraction(weight, SCALE) for weight in weights), start=Fraction(1))
