from __future__ import annotations

from fractions import Fraction

from deniable_shared.mechanisms import GeneralizedRandomizedResponse
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import category


def grr(size, epsilon):
    names = " ".join(f"item{index}" for index in range(size))
    return category(names, GeneralizedRandomizedResponse.for_epsilon(size, Fraction(epsilon)))


class TestGeneralizedRandomizedResponse(MechanismConformance):
    small = [
        (grr(size, epsilon), Fraction(epsilon), ("item0", "item1", f"item{size - 1}"))
        for size, epsilon in [(2, "0.5"), (3, "1"), (5, "2"), (300, "3"), (8, "4")]
    ]
    spec = grr(6, "1.5")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item5"] * 10
    items = ["item0", "item1", "item2", "item5"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return GeneralizedRandomizedResponse.for_epsilon(
            mechanism.size, Fraction(mechanism.epsilon) / factor
        )

    def out_of_range(self):
        return [b"\x06", b"\xff"]


class TestTwoByteReports(MechanismConformance):
    small = [(grr(257, "3"), Fraction(3), ("item0", "item256"))]
    spec = grr(300, "5")
    population = ["item0"] * 60 + ["item299"] * 40
    items = ["item0", "item1", "item299"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return GeneralizedRandomizedResponse.for_epsilon(
            mechanism.size, Fraction(mechanism.epsilon) / factor
        )

    def out_of_range(self):
        return [(300).to_bytes(2, "big"), b"\xff\xff"]
