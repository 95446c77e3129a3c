from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable_shared import registry
from deniable_shared.errors import RegistryError
from deniable_shared.mechanisms import SubsetSelection
from tests.privacy.conformance import MechanismConformance
from tests.privacy.specs import sketch, string

VALUES = ("ant", "bee", "cat", "dog", "eel")


class SketchConformance(MechanismConformance):
    """A sketch over one oracle; `inner` is its name."""

    __test__ = False
    inner = ""
    rows = 64
    buckets = 32
    population = ["ant"] * 100 + ["bee"] * 60 + ["cat"] * 30 + ["dog"] * 10
    items = ["ant", "bee", "dog", "nobody has this"]

    def __init_subclass__(cls):
        cls.small = [
            (string(sketch(cls.inner, epsilon, rows=2, buckets=8)), Fraction(epsilon), VALUES)
            for epsilon in ("0.5", "1", "2", "4")
        ]
        cls.spec = string(sketch(cls.inner, "2", rows=cls.rows, buckets=cls.buckets))

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return sketch(cls.inner, epsilon, rows=mechanism.rows, buckets=mechanism.buckets)

    def out_of_range(self):
        width = self.spec.mechanism.inner.report_bytes
        return [self.rows.to_bytes(2, "big") + bytes(width), b"\xff" * (2 + width)]


class TestCountMeanSketch(SketchConformance):
    """Apple's CMS."""

    __test__ = True
    inner = "sue"


class TestSketchOverOptimizedUnaryEncoding(SketchConformance):
    __test__ = True
    inner = "oue"


class TestSketchOverRandomizedResponse(SketchConformance):
    __test__ = True
    inner = "grr"


class TestHadamardCountMeanSketch(SketchConformance):
    """Apple's HCMS."""

    __test__ = True
    inner = "ht"


class TestSketchOverSubsetSelection(SketchConformance):
    __test__ = True
    inner = "ss"

    @classmethod
    def with_noise(cls, mechanism, factor):
        """With subsets of the same size, so that reports are comparable."""
        epsilon, inner = Fraction(mechanism.epsilon) / factor, mechanism.inner
        noisier = SubsetSelection.with_subset(inner.size, inner.subset, epsilon)
        return replace(mechanism, inner=noisier)


class TestLocalHashingWithAFiniteFamily(SketchConformance):
    """FLH: about e^epsilon + 1 buckets, and members enough for the family's own error to show."""

    __test__ = True
    inner = "grr"
    rows = 16
    buckets = 8


HCMS = """\
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4
epsilon_lifetime = 40
[metrics.emoji]
type = "string"
epsilon = 1
mechanism = {}
"""


def test_apples_hadamard_sketch_is_the_one_over_the_one_bit_response():
    short, long = (
        registry.parse(HCMS.format(choice)).metrics["emoji"].spec.mechanism
        for choice in ('"hcms"', '{ name = "sketch", inner = "ht", buckets = 1024 }')
    )
    assert short == long
    assert short.report_bytes == 2 + 2


def test_its_buckets_are_a_power_of_two():
    with pytest.raises(RegistryError, match=r"mechanism\.buckets must be a power of two"):
        registry.parse(HCMS.format('{ name = "hcms", buckets = 1000 }'))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_its_variance_is_the_papers(epsilon):
    """(m / (m-1))^2 (c^2 - 1/m^2) for an absent item, without the row that says nothing."""
    m, e = 64, math.exp(float(epsilon))
    c = (e + 1) / (e - 1)
    papers = (m / (m - 1)) ** 2 * (c**2 - 1 / m**2)
    ours = sketch("ht", epsilon, rows=64, buckets=m).variance(0.0, 1)
    assert 1 - 2 / m < ours / papers < 1
