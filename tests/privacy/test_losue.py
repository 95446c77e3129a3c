from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable._randomness import keyed_randomness
from deniable.randomizers import randomizer_for
from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import log_upper
from deniable_shared.mechanisms import MemoizedUnaryEncoding, OptimizedUnaryEncoding
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.memoized import MemoizedConformance
from tests.privacy.specs import category

pytestmark = pytest.mark.audit


def losue(size, epsilon, permanent):
    names = " ".join(f"item{index}" for index in range(size))
    return category(names, mechanism(size, epsilon, permanent))


def mechanism(size, epsilon, permanent):
    return MemoizedUnaryEncoding.for_epsilons(size, Fraction(epsilon), Fraction(permanent))


class TestMemoizedUnaryEncoding(MemoizedConformance):
    __test__ = True
    small = [
        (losue(2, "0.5", "1"), Fraction("0.5"), ("item0", "item1")),
        (losue(3, "1", "2"), Fraction(1), ("item0", "item1", "item2")),
        (losue(5, "2", "4"), Fraction(2), ("item0", "item1", "item4")),
        (losue(4, "0.5", "8"), Fraction("0.5"), ("item0", "item1", "item3")),
    ]
    permanent = ("1", "2", "4", "8")
    tiny = losue(3, "1", "2")
    spec = losue(12, "1.5", "3")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item11"] * 10
    items = ["item0", "item1", "item2", "item11"]

    @classmethod
    def once_and_for_all(cls, spec):
        each = spec.mechanism
        own, other = each.permanent_own, each.permanent_other
        return OptimizedUnaryEncoding(size=each.size, own=own, other=other)

    def out_of_range(self):
        return [b"\x00\x01", b"\xff\xff"]


@pytest.mark.parametrize(("epsilon", "permanent"), [("0.5", "1"), ("1", "2"), ("4", "5")])
def test_one_report_is_optimized_unary_encoding_at_epsilon(epsilon, permanent):
    memoized = mechanism(50, epsilon, permanent)
    once = OptimizedUnaryEncoding.for_epsilon(50, Fraction(epsilon))
    assert memoized.support.p == once.support.p == 0.5
    assert memoized.support.q == pytest.approx(once.support.q, rel=1e-6)
    assert memoized.variance(0.0, 1) == pytest.approx(once.variance(0.0, 1), rel=1e-6)


def test_reports_of_one_value_reach_the_permanent_epsilon_and_stop_there():
    """At (4, 1), after 1, 2, 5 and 10 reports: 1.00, 1.95, 3.74 and 4.00."""
    each = mechanism(100, "1", "4")
    costs = [log_upper(each.odds(count)) for count in (1, 2, 5, 10, 1_000)]
    assert costs == pytest.approx([1.00, 1.95, 3.74, 4.00, 4.00], abs=0.006)
    assert max(costs) <= each.epsilon_permanent


def test_the_second_round_is_the_one_that_was_derived():
    """1 - b = (a c - 1) / ((a - 1) (c + 1))."""
    a, c = math.exp(4), math.exp(1)
    kept = (a * c - 1) / ((a - 1) * (c + 1))
    assert 1 - mechanism(9, "1", "4").flip / 2**32 == pytest.approx(kept, rel=1e-8)


def test_epsilon_must_be_below_epsilon_permanent():
    for epsilon in ("2", "3"):
        with pytest.raises(ParameterError, match="epsilon must be below epsilon_permanent"):
            mechanism(9, epsilon, "2")


def test_no_two_of_300_values_share_a_label_of_kept_noise():
    labels = set()

    def keyed(secret, label, length):
        labels.add(label)
        return keyed_randomness(secret, label, length)

    randomizer = randomizer_for(losue(300, "1", "2"), seeded("labels"), keyed)
    for item in range(300):
        randomizer.permanent(item, secret_of(1))
    assert len(labels) == 300
