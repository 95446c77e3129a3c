"""What a report costs in a crowd, held to sums and attackers that share no line with it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from deniable_aggregator.counting.relayed import (
    DELTA,
    Crowd,
    GroupSize,
    central_epsilon,
    crowds,
    honest_reports,
)


def clones_law(epsilon, honest, truth):
    """Theorem 3.2 of Hiding among the clones: all outcomes and their probabilities, one by one."""
    clone = math.exp(-epsilon)
    found = Counter()
    for clones in range(honest):
        several = binom.pmf(clones, honest - 1, clone)
        for first in range(clones + 1):
            share = several * math.comb(clones, first) / 2**clones
            found[first + 1, clones - first] += share * truth
            found[first, clones - first + 1] += share * (1 - truth)
    return found


def together(one, other, reports):
    """The losses of independent reports, each with its probability under the first law."""
    single = Counter({math.inf: 0.0})
    for seen, share in one.items():
        if share:
            single[math.log(share / other[seen])] += share
    losses = Counter({0.0: 1.0})
    for _ in range(reports):
        summed = Counter()
        for before, weight in losses.items():
            for loss, share in single.items():
                summed[round(before + loss, 9)] += weight * share
        losses = summed
    return losses


def least_epsilon(losses, most):
    low, high = 0.0, most
    for _ in range(60):
        middle = (low + high) / 2
        delta = sum(
            share * -math.expm1(middle - loss) for loss, share in losses.items() if loss > middle
        )
        low, high = (middle, high) if delta > DELTA else (low, middle)
    return high


@pytest.mark.parametrize(
    ("epsilon", "honest", "reports"), [(1.0, 150, 1), (0.5, 60, 1), (3.0, 90, 1), (0.5, 12, 2)]
)
def test_figures_are_those_of_the_theorem_summed_up_one_by_one(epsilon, honest, reports):
    truth = 1 / (1 + math.exp(-epsilon))
    one, other = (clones_law(epsilon, honest, each) for each in (truth, 1 - truth))
    exact = min(least_epsilon(together(one, other, reports), reports * epsilon), reports * epsilon)
    assert exact <= central_epsilon(epsilon, honest, reports) * (1 + 1e-9)
    assert central_epsilon(epsilon, honest, reports) <= exact * 1.005


@pytest.mark.parametrize(("epsilon", "honest"), [(1.0, 1_000), (2.0, 4_000), (4.0, 20_000)])
def test_who_knows_all_other_devices_learns_no_more_of_randomized_response(epsilon, honest):
    """The aggregator knows the values of all others, and sees how often each answer was given."""
    truth = 1 / (1 + math.exp(-epsilon))
    figure = central_epsilon(epsilon, honest)
    counts = np.arange(honest + 1)
    delta = 0.0
    for ones in (0, honest // 2, honest - 1):
        others = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, truth),
            binom.pmf(np.arange(honest - ones), honest - 1 - ones, 1 - truth),
        )
        if_one, if_zero = (
            np.convolve(others, [1 - answers_one, answers_one])[counts]
            for answers_one in (truth, 1 - truth)
        )
        for seen, otherwise in ((if_one, if_zero), (if_zero, if_one)):
            worse = np.maximum(seen - math.exp(figure) * otherwise, 0.0)
            delta = max(delta, float(worse.sum()))
            # The same attacker would be wrong to claim a fifth of it.
            assert np.maximum(seen - math.exp(figure / 5) * otherwise, 0.0).sum() > DELTA
    assert delta <= DELTA


def test_figures_are_those_of_the_design():
    for epsilon, honest, known in (
        (4.0, 10_000, 0.755),
        (4.0, 100_000, 0.215),
        (2.0, 1_000, 0.684),
    ):
        assert central_epsilon(epsilon, honest) == pytest.approx(known, abs=5e-4)
    assert central_epsilon(4.0, honest_reports(100_000)) == pytest.approx(0.310, abs=5e-4)


def test_nobody_hides_in_a_crowd_of_one_and_no_figure_is_above_the_devices_own():
    for epsilon, honest, reports in ((1.0, 1, 1), (8.0, 500, 1), (8.0, 2, 7)):
        figure = central_epsilon(epsilon, honest, reports)
        assert figure == pytest.approx(epsilon * reports, rel=1e-5)
        assert figure <= epsilon * reports
    assert (honest_reports(1), honest_reports(2), honest_reports(9)) == (1, 1, 4)


def test_the_figure_for_more_of_the_reports_is_about_smaller_groups():
    groups = [GroupSize(8_192, 9_000), GroupSize(1_000, 980), GroupSize(15, 15), GroupSize(5, 5)]
    assert crowds(groups) == [
        Crowd(50, 4_096, 1_000),
        Crowd(90, 4_096, 1_000),
        Crowd(99, 500, 20),
        Crowd(100, 2, 0),
    ]
    assert crowds(reversed(groups)) == crowds(groups)


def test_groups_of_one_size_are_taken_together():
    assert crowds([GroupSize(4, 4)] * 3 + [GroupSize(1, 1)])[0] == Crowd(50, 2, 1)
    assert crowds([]) == []
