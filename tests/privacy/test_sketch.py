from __future__ import annotations

from fractions import Fraction

from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import sketch, string

VALUES = ("ant", "bee", "cat", "dog", "eel")


class SketchConformance(MechanismConformance):
    """A sketch over one oracle; `inner` is its name."""

    __test__ = False
    inner = ""
    population = ["ant"] * 100 + ["bee"] * 60 + ["cat"] * 30 + ["dog"] * 10
    items = ["ant", "bee", "dog", "nobody has this"]

    def __init_subclass__(cls):
        cls.small = [
            (string(sketch(cls.inner, epsilon, rows=2, buckets=8)), Fraction(epsilon), VALUES)
            for epsilon in ("0.5", "1", "2", "4")
        ]
        cls.spec = string(sketch(cls.inner, "2", rows=64, buckets=32))

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return sketch(cls.inner, epsilon, rows=mechanism.rows, buckets=mechanism.buckets)

    def out_of_range(self):
        width = self.spec.mechanism.inner.report_bytes
        return [(64).to_bytes(2, "big") + bytes(width), b"\xff" * (2 + width)]


class TestCountMeanSketch(SketchConformance):
    """Apple's CMS."""

    __test__ = True
    inner = "sue"


class TestSketchOverOptimizedUnaryEncoding(SketchConformance):
    __test__ = True
    inner = "oue"


class TestSketchOverRandomizedResponse(SketchConformance):
    """Local hashing with a finite family."""

    __test__ = True
    inner = "grr"
