from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared.errors import ParameterError
from deniable_shared.exact_bounds import SCALE, exp_lower
from deniable_shared.mechanisms import (
    GeneralizedRandomizedResponse,
    MemoizedRandomizedResponse,
    Support,
)
from tests.privacy.memoized import MemoizedConformance
from tests.privacy.specs import boolean, category

pytestmark = pytest.mark.audit


def lgrr(size, epsilon, permanent):
    names = " ".join(f"item{index}" for index in range(size))
    return category(names, mechanism(size, epsilon, permanent))


def mechanism(size, epsilon, permanent):
    return MemoizedRandomizedResponse.for_epsilons(size, Fraction(epsilon), Fraction(permanent))


class TestMemoizedRandomizedResponse(MemoizedConformance):
    __test__ = True
    small = [
        (lgrr(2, "0.5", "1"), Fraction("0.5"), ("item0", "item1")),
        (lgrr(3, "1", "2"), Fraction(1), ("item0", "item1", "item2")),
        (lgrr(5, "2", "4"), Fraction(2), ("item0", "item1", "item4")),
        (lgrr(20, "2", "3"), Fraction(2), ("item0", "item1", "item19")),
        (boolean(mechanism(2, "1", "2")), Fraction(1), (False, True)),
    ]
    permanent = ("1", "2", "4", "3", "2")
    tiny = lgrr(3, "1", "2")
    spec = lgrr(6, "1.5", "3")
    population = ["item0"] * 60 + ["item1"] * 30 + ["item5"] * 10
    items = ["item0", "item1", "item2", "item5"]

    @classmethod
    def once_and_for_all(cls, spec):
        each = spec.mechanism
        return GeneralizedRandomizedResponse(size=each.size, other=each.permanent_other)

    def out_of_range(self):
        return [b"\x06", b"\xff"]


class TestAFlag(MemoizedConformance):
    __test__ = True
    small = [(boolean(mechanism(2, "0.25", "4")), Fraction("0.25"), (False, True))]
    permanent = ("4",)
    tiny = boolean(mechanism(2, "0.25", "4"))
    spec = boolean(mechanism(2, "1", "2"))
    population = [True] * 65 + [False] * 35
    items = ["true", "false"]

    @classmethod
    def label(cls, value):
        return str(value).lower()

    @classmethod
    def once_and_for_all(cls, spec):
        return GeneralizedRandomizedResponse(size=2, other=spec.mechanism.permanent_other)

    def out_of_range(self):
        return [b"\x02", b"\xff"]


@pytest.mark.parametrize(
    ("size", "epsilon", "permanent"), [(2, "1", "2"), (100, "1", "2"), (300, "2", "4")]
)
def test_one_report_is_generalized_randomized_response_at_epsilon(size, epsilon, permanent):
    memoized = mechanism(size, epsilon, permanent)
    once = GeneralizedRandomizedResponse.for_epsilon(size, Fraction(epsilon))
    assert memoized.variance(0.0, 1) == pytest.approx(once.variance(0.0, 1), rel=1e-4)
    assert memoized.support.p == pytest.approx(once.support.p, rel=1e-4)
    assert memoized.report_bytes == once.report_bytes


def published(size, epsilon, permanent):
    """Epsilon and variance of one report with the second round as published, (ac - 1) / (a - c)."""
    a, c = math.exp(float(permanent)), math.exp(float(epsilon))
    ratio = (a * c - 1) / (a - c)
    own, other = a / (a + size - 1), 1 / (a + size - 1)
    told, lied = ratio / (ratio + size - 1), 1 / (ratio + size - 1)
    p = own * told + (1 - own) * lied
    q = other * told + (1 - other) * lied
    return math.log(p / q), Support(p, q).variance(0.0, 1)


def test_the_published_second_round_wastes_nearly_all_of_epsilon():
    """The published formula gives a tenth of epsilon and 90 times the variance, and more."""
    exact = mechanism(100, "1", "2")
    assert published(100, "1", "2") == pytest.approx((0.166, 3060), rel=0.01)
    assert exact.epsilon == pytest.approx(1.0, abs=1e-6)
    assert exact.variance(0.0, 1) == pytest.approx(34.1, abs=0.05)
    epsilon, variance = published(100, "0.5", "1")
    assert epsilon == pytest.approx(0.037, rel=0.02)
    right = mechanism(100, "0.5", "1").variance(0.0, 1)
    assert variance / right == pytest.approx(300, rel=0.1)
    assert published(2, "1", "2")[0] == pytest.approx(1.0, abs=1e-9)


def test_parameters_under_which_epsilons_would_not_add_up_are_refused():
    """With 100 items at (4, 0.5) two reports would cost 1.23, not 1.0: a budget would be short."""
    with pytest.raises(ParameterError, match="epsilon must be nearer to epsilon_permanent"):
        mechanism(100, "0.5", "4")
    first = GeneralizedRandomizedResponse.for_epsilon(100, Fraction(4))
    a, c = Fraction(first.own, first.other), exp_lower(Fraction(1, 2))
    ratio = (c * (a + 98) - 99) / (a - c)
    p, q = Fraction(first.own, SCALE), Fraction(first.other, SCALE)

    def cost(reports):
        told = ratio**reports
        return math.log((p * told + 1 - p) / (q * told + 1 - q))

    assert cost(1) == pytest.approx(0.5, abs=1e-6)
    assert cost(2) == pytest.approx(1.233, abs=1e-3)


@pytest.mark.parametrize("size", [2, 3, 5, 16, 100])
def test_epsilon_must_be_below_epsilon_permanent(size):
    for epsilon in ("2", "3"):
        with pytest.raises(ParameterError, match="epsilon must be below epsilon_permanent"):
            mechanism(size, epsilon, "2")


def test_no_bound_covers_values_that_alternate():
    """What memoisation does not hide: eight reports of a value that alternates, against a constant.

    At (1, 0.5) both values together are promised 2.0 nats; against a device that never changes, the
    exact loss of eight reports is 4.10. So a change of the value is only hidden by the budget.
    """
    each = mechanism(2, "0.5", "1")
    p, q = Fraction(each.permanent_own, SCALE), Fraction(each.permanent_other, SCALE)
    told, lied = Fraction(each.own, SCALE), Fraction(each.other, SCALE)

    def answers(reports, permanent):
        return math.prod(told if report == permanent else lied for report in reports)

    def constant(reports):
        return p * answers(reports, 0) + q * answers(reports, 1)

    def alternating(reports):
        even, odd = reports[::2], reports[1::2]
        zero = p * answers(even, 0) + q * answers(even, 1)
        one = q * answers(odd, 0) + p * answers(odd, 1)
        return zero * one

    sequences = [tuple(bits >> place & 1 for place in range(8)) for bits in range(256)]
    ratios = [alternating(reports) / constant(reports) for reports in sequences]
    assert sum(map(constant, sequences)) == sum(map(alternating, sequences)) == 1
    loss = math.log(max(max(ratios), 1 / min(ratios)))
    assert loss == pytest.approx(4.10, abs=0.005)
    assert loss > each.epsilon_total > 1.99
    assert loss > 8 * each.epsilon
    second_round = math.log(each.own / each.other)
    assert second_round == pytest.approx(1.18, abs=0.005)
    assert loss < 8 * second_round
