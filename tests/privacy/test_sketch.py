from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.randomizers import randomizer_for
from deniable_shared import registry
from deniable_shared.errors import RegistryError
from deniable_shared.mechanisms import MEMOIZED_ORACLES, Sketch, SubsetSelection
from tests.privacy.conformance import (
    REJECTION,
    MechanismConformance,
    secret_of,
    seeded,
)
from tests.privacy.kept import OverDevices
from tests.privacy.specs import sketch, string

pytestmark = pytest.mark.audit

VALUES = ("ant", "bee", "cat", "dog", "eel")


class SketchConformance(MechanismConformance):
    """A sketch over one oracle; `inner` is its name."""

    __test__ = False
    losses_are_attained = False
    inner = ""
    rows = 16
    buckets = 32
    population = ["ant"] * 50 + ["bee"] * 30 + ["cat"] * 15 + ["dog"] * 5
    items = ["ant", "bee", "dog", "nobody has this"]

    small_buckets = 8

    def __init_subclass__(cls):
        if cls.inner:
            cls.small = [
                (string(cls.sketched(each, 2, cls.small_buckets)), Fraction(each), VALUES)
                for each in ("0.5", "1", "2", "4")
            ]
            cls.spec = string(cls.sketched("2", cls.rows, cls.buckets))

    @classmethod
    def sketched(cls, epsilon, rows, buckets):
        return sketch(cls.inner, epsilon, rows=rows, buckets=buckets)

    @classmethod
    def with_noise(cls, mechanism, factor):
        epsilon = Fraction(mechanism.epsilon) / factor
        return cls.sketched(epsilon, mechanism.rows, mechanism.buckets)

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
    """FLH: about e^epsilon + 1 buckets, where the family's own error shows."""

    __test__ = True
    inner = "grr"
    buckets = 8


class MemoizedSketchConformance(OverDevices, SketchConformance):
    """A sketch whose devices keep their row and their answers; `permanent` is twice epsilon."""

    __test__ = False
    small_buckets = 4

    @classmethod
    def sketched(cls, epsilon, rows, buckets):
        oracle = MEMOIZED_ORACLES[cls.inner]
        inner = oracle.for_epsilons(buckets, Fraction(epsilon), 2 * Fraction(epsilon))
        return Sketch(rows=rows, inner=inner)

    def test_a_device_keeps_its_row_and_devices_share_them_evenly(self):
        """Chi-square over 16 rows, rejected below 1e-6."""
        randomizer = randomizer_for(self.spec, seeded("rows"))
        first = [randomizer.report(b"ant", secret_of(device))[:2] for device in range(6_400)]
        again = [randomizer.report(b"bee", secret_of(device))[:2] for device in range(6_400)]
        assert first == again
        rows = np.bincount([int.from_bytes(row, "big") for row in first], minlength=self.rows)
        assert rows.size == self.rows
        assert stats.chisquare(rows).pvalue > REJECTION

    def test_strings_of_one_bucket_share_a_permanent_answer(self):
        """So a device has no more answers than buckets, however many strings it ever holds."""
        randomizer = randomizer_for(self.spec, seeded("answers"))
        seen = set()
        inner = randomizer._inner
        asked = type(inner).permanent
        inner.permanent = lambda item, secret: seen.add(item) or asked(inner, item, secret)
        for index in range(1_000):
            randomizer.report(f"word{index}".encode(), secret_of(7))
        assert len(seen) == self.spec.mechanism.memoized_values == self.buckets


class TestSketchOverMemoizedUnaryEncoding(MemoizedSketchConformance):
    __test__ = True
    inner = "losue"


class TestLoloha(MemoizedSketchConformance):
    __test__ = True
    inner = "lgrr"
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
