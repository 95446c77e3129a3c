"""Exact composition, held to figures that were computed independently, and to finite sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.counting.composition import POINTS, Losses, compose, on_grid
from deniable_shared.accounting import profile_of, pure_profile
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    GeneralizedRandomizedResponse,
    OptimizedUnaryEncoding,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
)

DELTA = 1e-6
STEP = 1e-3
"""The known figures rounded losses up to a grid of this step: half of it too much for a report."""


def arrays(profile):
    return Losses(np.array(profile.losses), np.array(profile.weights), profile.infinite)


def epsilon_of(*parts, points=POINTS):
    return compose([(arrays(profile), count) for profile, count in parts], points).epsilon_at(DELTA)


def mechanisms(epsilon):
    return {
        "rr": RandomizedResponse.for_epsilon(2, epsilon),
        "grr 8": GeneralizedRandomizedResponse.for_epsilon(8, epsilon),
        "grr 64": GeneralizedRandomizedResponse.for_epsilon(64, epsilon),
        "grr 1024": GeneralizedRandomizedResponse.for_epsilon(1024, epsilon),
        "oue": OptimizedUnaryEncoding.for_epsilon(16, epsilon),
        "ss 64": SubsetSelection.for_epsilon(64, epsilon),
        "pgr 1093": ProjectiveGeometryResponse.for_epsilon(1093, epsilon),
        "laplace": DiscreteLaplace.for_epsilon(epsilon),
        "gaussian": DiscreteGaussian.for_epsilon(epsilon, Fraction(1, 10**6)),
    }


@pytest.mark.parametrize(
    ("epsilon", "reports", "known"),
    [
        ("1", 30, "29.99 19.80 8.17 3.00 22.6 22.72 22.95 27.8 6.6"),
        ("1", 365, "244.63 117.36 31.95 7.87 143.4 144.65 148.86 204.4 31.0"),
        (".5", 365, "86.9 38.0 11.2 3.0 53.1 53.6 51.8 78.4"),
    ],
)
def test_reports_of_each_mechanism_cost_what_is_known(epsilon, reports, known):
    """To the digits of the known figures, or below them by their own rounding up."""
    for (name, mechanism), figure in zip(
        mechanisms(Fraction(epsilon)).items(), known.split(), strict=False
    ):
        digit = 10.0 ** -len(figure.partition(".")[2])
        found = epsilon_of((profile_of(mechanism), reports))
        assert found < float(figure) + digit / 2 + 1e-9, name
        assert found > float(figure) - digit / 2 - reports * STEP / 2, name


@pytest.mark.parametrize(
    ("epsilon", "reports", "known"),
    [
        (0.1, 100, 4.775),
        (0.1, 365, 10.314),
        (0.25, 365, 32.858),
        (0.5, 365, 86.857),
        (1, 365, 244.63),
    ],
)
def test_the_worst_mechanism_of_an_epsilon_costs_what_is_known(epsilon, reports, known):
    digits = len(str(known).partition(".")[2])
    assert round(epsilon_of((pure_profile(epsilon), reports)), digits) == known


def test_different_metrics_compose():
    year = [(pure_profile(0.5), 365), (pure_profile(1), 52), (pure_profile(0.25), 365)]
    assert epsilon_of(*year) == pytest.approx(135.6330734, abs=1e-4)


@pytest.mark.parametrize("epsilon", [0.001, 0.3, 8])
@pytest.mark.parametrize("reports", [1, 12, 365])
def test_figures_are_never_below_the_finite_sum_and_hardly_above_it(epsilon, reports):
    """Of randomized response, by the binomial distribution of its lies."""
    found = compose([(arrays(pure_profile(epsilon)), reports)])
    truth = 1 / (1 + math.exp(-epsilon))
    counts = np.arange(reports + 1)
    weights = np.array(
        [math.comb(reports, k) * truth**k * (1 - truth) ** (reports - k) for k in counts.tolist()]
    )
    losses = (2 * counts - reports) * epsilon
    for total in np.linspace(0, reports * epsilon, 7)[:-1]:
        exact = float(weights @ -np.expm1(np.minimum(total - losses, 0)))
        assert exact <= found.delta_at(total) <= exact * (1 + 1e-3) + 1e-9


def test_a_split_loss_keeps_both_weights_and_only_two_places():
    losses = Losses(np.array([0.37, -1.24, 12.3456]), np.array([0.5, 0.3, 0.2]))
    gridded = on_grid(losses, 0.1)
    assert gridded.weights.sum() == pytest.approx(1)
    assert (gridded.weights >= 0).all()
    other = losses.weights @ np.exp(-losses.losses)
    assert gridded.weights @ np.exp(-gridded.losses) == pytest.approx(other)
    assert gridded.places.tolist() == [-13, -12, 3, 4, 123, 124]


def test_a_coarser_grid_gives_a_larger_figure_and_a_finer_one_a_nearer_one():
    profile = profile_of(mechanisms(Fraction(1))["oue"])
    figures = [epsilon_of((profile, 365), points=1 << power) for power in (8, 10, 12, 14)]
    assert figures == sorted(figures, reverse=True)
    assert figures[0] > figures[-1] + 10
    assert figures[2] < figures[-1] + 0.1


def test_infinite_losses_count_in_full_and_without_a_delta_nothing_is_enough():
    losses = Losses(np.array([1.0, -1.0]), np.array([0.6, 0.39]), 0.01)
    found = compose([(losses, 2)])
    assert found.delta_at(100.0) == pytest.approx(1 - 0.99**2)
    assert found.epsilon_at(0.01) == math.inf
    assert found.epsilon_at(0.03) <= 2.0 + found.step
    assert compose([(arrays(pure_profile(1.0)), 3)]).epsilon_at(0.0) == math.inf


def test_of_reports_that_tell_nothing_the_figure_is_zero():
    nothing = Losses(np.array([0.0]), np.array([1.0]))
    assert compose([(nothing, 365)]).epsilon_at(DELTA) == 0.0


def test_ten_years_of_fifty_metrics_compose():
    parts = [(pure_profile(0.01 * (1 + index)), 3_650) for index in range(50)]
    found = compose([(arrays(profile), count) for profile, count in parts])
    figure = found.epsilon_at(DELTA)
    total = sum(profile.losses[0] * count for profile, count in parts)
    assert 0.15 * total < figure < 0.2 * total
    assert found.allowance < DELTA / 100
    assert figure - found.epsilon_at(DELTA, allowing=False) < 1e-5 * figure


def test_delta_is_not_the_probability_of_a_larger_loss():
    """The figures of docs/reviewer/account.md."""
    flag = arrays(profile_of(RandomizedResponse.for_epsilon(2, Fraction(1))))
    epsilon = compose([(flag, 30)]).epsilon_at(DELTA)
    assert epsilon < 29.99 < 30 * flag.losses.max()
    assert flag.weights[flag.losses > 0] ** 30 == pytest.approx(8.3e-5, rel=0.01)
