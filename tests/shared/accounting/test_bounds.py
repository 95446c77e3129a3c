"""Bounds of many reports, held to figures that were computed independently."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from deniable_shared.accounting import (
    Bound,
    Component,
    bounds_of,
    group_bound,
    profile_of,
    pure_profile,
)
from deniable_shared.accounting.bounds import advanced
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    RandomizedResponse,
)

DELTA = 1e-6


def worst(epsilon, draws):
    """Draws of which nothing is known but their epsilon."""
    return Component("worst", draws, epsilon, 0.0, pure_profile(epsilon))


def of(mechanism, draws):
    epsilon, delta = mechanism.epsilon, mechanism.delta
    profile = profile_of(mechanism)
    return Component(mechanism.name, draws, epsilon, delta, profile)


@pytest.mark.parametrize(
    ("epsilon", "draws", "total", "advanced", "renyi", "mironov"),
    [
        (0.1, 100, 10, 5.756, 5.073, 5.577),
        (0.1, 365, 36.5, 11.866, 10.955, 11.743),
        (0.25, 365, 91.25, 36.454, 34.515, 35.810),
        (0.5, 365, 182.5, 94.911, 90.160, 91.926),
        (1, 365, 365, 269.10, 250.55, 252.77),
    ],
)
def test_bounds_are_those_of_the_literature(epsilon, draws, total, advanced, renyi, mironov):
    """The known figures took the best of a list of orders: a better one may be below by 0.01%."""
    found = bounds_of([worst(epsilon, draws)], DELTA)
    assert found.sum == (pytest.approx(total), 0)
    assert found.advanced == pytest.approx(advanced, rel=5e-5)
    assert found.renyi == pytest.approx(renyi, rel=1e-4)
    assert found.renyi_mironov == pytest.approx(mironov, rel=1e-4)


@pytest.mark.parametrize("delta", [1e-6, 1e-9, 1e-12, 3e-16, 1e-17, 1e-300])
@pytest.mark.parametrize("own_delta", [0.0, 0.9])
def test_advanced_composition_is_an_upper_bound_for_small_deltas(delta, own_delta):
    """Compared with the formula in 400 digits, where reports have no delta and most of it.

    A difference from 1 in floats would lose 0.13% of the figure at 3e-16, and all of it at 1e-17.
    """
    epsilon, draws = 0.1, 365
    each = own_delta * delta / draws
    report = Component("r", draws, epsilon, each, pure_profile(epsilon))
    with localcontext(prec=400):
        one = Decimal(1)
        slack = one - (one - Decimal(delta)) / (one - Decimal(each)) ** draws
        exact_epsilon = Decimal(epsilon)
        growth = exact_epsilon.exp()
        squares = draws * exact_epsilon**2
        logarithm = min((one / slack).ln(), (one.exp() + squares.sqrt() / slack).ln())
        mean = draws * exact_epsilon * (growth - 1) / (growth + 1)
        exact = mean + (2 * squares * logarithm).sqrt()
    found = advanced([report], delta)
    assert exact <= Decimal(found) < exact * Decimal("1.00000001")


def test_bounds_of_different_metrics_together():
    year = [worst(0.5, 365), worst(1, 52), worst(0.25, 365)]
    found = bounds_of(year, DELTA)
    assert found.sum.epsilon == pytest.approx(325.75)
    assert found.advanced == pytest.approx(147.81, abs=0.005)
    assert found.renyi == pytest.approx(140.12, abs=0.005)


def test_a_figure_is_an_upper_bound_of_the_exact_delta():
    """Of randomized response the loss after T reports is binomial, so delta is a finite sum."""
    epsilon, draws = 0.5, 40
    found = bounds_of([worst(epsilon, draws)], DELTA)

    def delta_at(total):
        truth = 1 / (1 + math.exp(-epsilon))
        return math.fsum(
            math.comb(draws, count)
            * truth**count
            * (1 - truth) ** (draws - count)
            * max(0.0, -math.expm1(total - (2 * count - draws) * epsilon))
            for count in range(draws + 1)
        )

    for figure in (found.advanced, found.renyi, found.renyi_mironov):
        assert delta_at(figure) <= DELTA
    assert delta_at(0.9 * found.renyi) > DELTA


def test_a_mechanism_that_is_not_the_worst_costs_less_than_its_epsilon_says():
    rr, grr = (
        kind.for_epsilon(size, Fraction(1))
        for kind, size in ((RandomizedResponse, 2), (GeneralizedRandomizedResponse, 64))
    )
    found = [bounds_of([of(each, 365)], DELTA).renyi for each in (rr, grr)]
    assert found[0] == pytest.approx(250.55, abs=0.01)
    assert 31.95 < found[1] < 35


@pytest.mark.parametrize("epsilon", [0.001, 8])
@pytest.mark.parametrize("draws", [1, 3650])
def test_nothing_is_more_than_the_sum(epsilon, draws):
    found = bounds_of([worst(epsilon, draws)], DELTA)
    for figure in (found.advanced, found.renyi, found.renyi_mironov):
        assert 0 <= figure <= found.sum.epsilon


def test_without_a_delta_there_is_only_the_sum():
    found = bounds_of([worst(1, 365), of(DiscreteLaplace.for_epsilon(Fraction(1)), 10)], 0.0)
    assert found.advanced == found.renyi == found.sum.epsilon == pytest.approx(375)


def test_deltas_of_gaussian_noise_add_up_and_leave_the_sum_a_delta_of_its_own():
    noise = DiscreteGaussian.for_epsilon(Fraction(1), Fraction(1, 10**6))
    found = bounds_of([of(noise, 365)], DELTA)
    assert found.sum.epsilon == pytest.approx(365)
    assert found.sum.delta == pytest.approx(365 * noise.delta)
    assert found.advanced is None  # the reports' own deltas are more than all of it
    assert 31.0 < found.renyi < 33
    assert bounds_of([of(noise, 365)], 0.0).renyi is None


def test_advanced_composition_has_what_the_reports_leave_of_delta():
    """Deltas of 1e-9 add up to 365e-9."""
    delta = 1e-9
    with_delta = Component("d", 365, 1.0, delta, pure_profile(1.0))
    assert bounds_of([with_delta], DELTA).advanced == pytest.approx(
        bounds_of([worst(1.0, 365)], DELTA - 365 * delta).advanced, rel=1e-6
    )
    assert bounds_of([with_delta], 365 * delta * 0.99).advanced is None


def test_a_device_that_stops_at_a_sum_costs_no_more_than_the_worst_reports_that_fit_into_it():
    rr, grr = (
        kind.for_epsilon(size, Fraction(1))
        for kind, size in ((RandomizedResponse, 2), (GeneralizedRandomizedResponse, 64))
    )
    of_rr, of_both = [of(rr, 100)], [of(rr, 100), of(grr, 365)]
    stopped = bounds_of(of_both, DELTA, limit=100 * rr.epsilon)
    assert stopped.sum.epsilon == 100 * rr.epsilon
    assert stopped.renyi == pytest.approx(bounds_of(of_rr, DELTA).renyi)
    more, everything = bounds_of(of_both, DELTA, limit=150), bounds_of(of_both, DELTA, limit=465)
    assert stopped.renyi < more.renyi < everything.renyi
    assert everything.renyi == pytest.approx(bounds_of(of_both, DELTA).renyi)


def test_a_person_s_devices_compose_and_any_bound_of_one_device_can_be_extended():
    assert group_bound(Bound(2.0, 0.0), 3) == (6.0, 0.0)
    epsilon, delta = group_bound(Bound(1.0, 1e-6), 3)
    assert epsilon == 3.0
    assert delta == pytest.approx(1e-6 * (1 + math.e + math.e**2))
    assert group_bound(Bound(300.0, 1e-6), 3) == (900.0, 1.0)
    assert group_bound(Bound(0.0, 1e-6), 3) == (0.0, 3e-6)
    assert group_bound(Bound(1.0, 1e-6), 1) == (1.0, 1e-6)


def test_randomized_response_of_a_large_epsilon_has_a_loss_and_no_overflow():
    profile = pure_profile(2_000.0)
    assert profile.losses[0] == 2_000
    assert profile.log_moment(1.0) == pytest.approx(2_000)
