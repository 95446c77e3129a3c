from __future__ import annotations

from fractions import Fraction

from deniable_shared.mechanisms import OptimizedUnaryEncoding, SymmetricUnaryEncoding
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import category


def unary(kind, size, epsilon):
    names = " ".join(f"item{index}" for index in range(size))
    return category(names, kind.for_epsilon(size, Fraction(epsilon)))


class UnaryConformance(MechanismConformance):
    __test__ = False
    population = ["item0"] * 60 + ["item1"] * 30 + ["item5"] * 10
    items = ["item0", "item1", "item2", "item5"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return type(mechanism).for_epsilon(mechanism.size, Fraction(mechanism.epsilon) / factor)

    def out_of_range(self):
        return [b"\x01", b"\xff"]


class TestSymmetricUnaryEncoding(UnaryConformance):
    __test__ = True
    small = [
        (unary(SymmetricUnaryEncoding, size, epsilon), Fraction(epsilon), ("item0", "item1"))
        for size, epsilon in [(2, "0.5"), (6, "1"), (8, "2"), (9, "4")]
    ]
    spec = unary(SymmetricUnaryEncoding, 6, "1.5")


class TestOptimizedUnaryEncoding(UnaryConformance):
    __test__ = True
    small = [
        (unary(OptimizedUnaryEncoding, size, epsilon), Fraction(epsilon), ("item0", "item1"))
        for size, epsilon in [(2, "0.5"), (6, "1"), (8, "2"), (9, "4")]
    ]
    spec = unary(OptimizedUnaryEncoding, 6, "1.5")
