"""A metric with segments is a category over pairs, and passes all that a category passes."""

from __future__ import annotations

from fractions import Fraction

from deniable_shared.attributes import Attribute
from deniable_shared.mechanisms import GeneralizedRandomizedResponse, MemoizedRandomizedResponse
from deniable_shared.segments import Segments
from deniable_shared.spec import Spec
from tests.privacy.conformance import MechanismConformance

PAIRS = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")]


def segmented(values, segments, mechanism):
    own = Attribute("choice", "category", tuple(values.split()))
    pairs = Segments(own, Attribute("channel", "category", tuple(segments.split())))
    return Spec("tests", "choice", "category", pairs.items, None, mechanism, "day", segments=pairs)


def grr(size, epsilon):
    return GeneralizedRandomizedResponse.for_epsilon(size, Fraction(epsilon))


class TestPairs(MechanismConformance):
    """Two pairs differ in the value, the segment or both; the worst of them costs epsilon."""

    small = [
        (segmented("a b", "x y", grr(4, 1)), Fraction(1), PAIRS),
        (segmented("a b c", "x y", grr(6, "0.5")), Fraction("0.5"), PAIRS),
    ]
    spec = segmented("a b c", "x y", grr(6, "1.5"))
    population = [("a", "x")] * 50 + [("b", "x")] * 20 + [("a", "y")] * 20 + [("c", "y")] * 10
    items = spec.items

    @classmethod
    def encoded(cls, spec, value):
        return spec.encode(*value)

    @classmethod
    def label(cls, value):
        return f"choice={value[0]} & channel={value[1]}"

    @classmethod
    def with_noise(cls, mechanism, factor):
        return grr(mechanism.size, Fraction(mechanism.epsilon) / factor)

    def out_of_range(self):
        return [b"\x06", b"\xff"]


def test_a_memoised_pair_has_one_permanent_answer_for_each_pair():
    mechanism = MemoizedRandomizedResponse.for_epsilons(4, Fraction(1), Fraction(2))
    assert segmented("a b", "x y", mechanism).mechanism.memoized_values == 4
