from __future__ import annotations

from fractions import Fraction

from deniable_shared.mechanisms import PrivSet
from deniable_shared.spec import Spec

ITEMS = tuple(f"item{number}" for number in range(12))


def set_spec(size=12, most=3, epsilon="1", other=None):
    mechanism = PrivSet.for_epsilon(size, most, Fraction(epsilon))
    return Spec("tests", "plugins", "set", ITEMS[:size], other, mechanism, "day")
