from __future__ import annotations

from fractions import Fraction

from deniable_shared.mechanisms import CountMeanSketch
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import string


def sketch(epsilon, rows, buckets):
    return string(CountMeanSketch.for_epsilon(Fraction(epsilon), rows=rows, buckets=buckets))


class TestCountMeanSketch(MechanismConformance):
    small = [
        (sketch(epsilon, 2, 8), Fraction(epsilon), ("ant", "bee", "cat", "dog", "eel"))
        for epsilon in ("0.5", "1", "2", "4")
    ]
    spec = sketch("2", 64, 32)
    population = ["ant"] * 100 + ["bee"] * 60 + ["cat"] * 30 + ["dog"] * 10
    items = ["ant", "bee", "dog", "nobody has this"]

    @classmethod
    def with_noise(cls, mechanism, factor):
        return CountMeanSketch.for_epsilon(
            Fraction(mechanism.epsilon) / factor, rows=mechanism.rows, buckets=mechanism.buckets
        )

    def out_of_range(self):
        return [(64).to_bytes(2, "big") + bytes(4), b"\xff" * 6]
