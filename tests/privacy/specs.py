"""Short ways to write a spec in tests."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_shared.attributes import Attribute
from deniable_shared.mechanisms import ORACLES, Sketch, Trie
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from deniable_shared.letters import LetterCode
    from deniable_shared.mechanisms import Mechanism

UNIT = (Fraction(0), Fraction(1))


def boolean(mechanism: Mechanism) -> Spec:
    return Spec("tests", "flag", "boolean", (), None, mechanism, "day")


def category(values: str, mechanism: Mechanism) -> Spec:
    return Spec("tests", "choice", "category", tuple(values.split()), None, mechanism, "day")


def set_of(values: str, mechanism: Mechanism) -> Spec:
    return Spec("tests", "set", "set", tuple(values.split()), None, mechanism, "day")


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


class SpecOfPieces(Spec):
    """A spec that takes the pieces of a code, as "3.1.2", so that tests can go through them all."""

    def _check_letters(self) -> None:
        pass

    def encode(self, value: object, segment: object = None) -> tuple[int, ...]:
        assert isinstance(value, str)
        assert segment is None
        return tuple(map(int, value.split(".")))


def trie(
    *,
    levels: int,
    epsilon: object,
    rows: int = 2,
    first_bits: int = 3,
    deeper_bits: int = 2,
    shares: tuple[int, ...] = (),
) -> Spec:
    """A trie with few pieces."""
    mechanism = Trie.for_epsilon(
        levels,
        Fraction(epsilon),
        rows=rows,
        first_bits=first_bits,
        deeper_bits=deeper_bits,
        shares=shares,
    )
    return SpecOfPieces("tests", "text", "string", (), None, mechanism, "day")


def discovered(letters: LetterCode, epsilon: Fraction) -> Spec:
    mechanism = Trie.for_epsilon(letters.levels, epsilon)
    return Spec("tests", "text", "string", (), None, mechanism, "day", letters=letters)


def number(mechanism: Mechanism) -> Spec:
    return Spec("tests", "amount", "number", (), None, mechanism, "day", range=UNIT)


def histogram(mechanism: Mechanism) -> Spec:
    return Spec("tests", "spread", "distribution", (), None, mechanism, "day", range=UNIT)
