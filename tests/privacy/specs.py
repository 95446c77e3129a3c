"""Short ways to write a spec in tests."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.attributes import Attribute
from deniable_shared.mechanisms import ORACLES, Sketch, Trie
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism

UNIT = (Fraction(0), Fraction(1))


def boolean(mechanism: Mechanism) -> Spec:
    return Spec("tests", "flag", "boolean", (), None, mechanism, "day")


def category(values: str, mechanism: Mechanism) -> Spec:
    return Spec("tests", "choice", "category", tuple(values.split()), None, mechanism, "day")


def string(mechanism: Mechanism) -> Spec:
    return Spec("tests", "text", "string", (), None, mechanism, "day")


def record(mechanism: Mechanism, *attributes: Attribute) -> Spec:
    return Spec("tests", "record", "attributes", (), None, mechanism, "day", attributes)


def attribute(name: str, values: str = "") -> Attribute:
    """A flag, or a category of words."""
    kind = "category" if values else "boolean"
    return Attribute(name, kind, tuple(values.split()))


def sketch(inner: str, epsilon: object, *, rows: int, buckets: int) -> Sketch:
    return Sketch(rows=rows, inner=ORACLES[inner].for_epsilon(buckets, Fraction(epsilon)))


class UncodedSpec(Spec):
    """A spec over pieces too few for any code, so that tests can go through all of them."""

    def _check_letters(self) -> None:
        pass


def small_trie(*, levels: int, epsilon: object, rows: int = 2) -> Spec:
    """A trie whose first pieces have three bits and whose further ones have two."""
    mechanism = Trie.for_epsilon(levels, Fraction(epsilon), rows=rows, first_bits=3, deeper_bits=2)
    return UncodedSpec("tests", "text", "string", (), None, mechanism, "day")


def number(mechanism: Mechanism) -> Spec:
    return Spec("tests", "amount", "number", (), None, mechanism, "day", range=UNIT)


def histogram(mechanism: Mechanism) -> Spec:
    return Spec("tests", "spread", "distribution", (), None, mechanism, "day", range=UNIT)
