from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable_aggregator.counting.statistics.binomial import (
    clopper_pearson_limits,
    finite_population_limits,
    is_small_count,
    null_scores,
)
from deniable_aggregator.counting.statistics.intervals import z_for_alpha
from deniable_aggregator.counting.tallies import SupportCounts
from deniable_shared.mechanisms import GeneralizedRandomizedResponse, OptimizedUnaryEncoding

REPORTS = 150
SUPPORT = GeneralizedRandomizedResponse.for_epsilon(100, Fraction(4)).support
EVERY_COUNT = SupportCounts(np.arange(REPORTS + 1), REPORTS, SUPPORT)
"""Everything that can be counted; an absent item has one supporter on average."""


def chances(holders):
    """P(count) if so many of the devices hold the item, by convolution."""
    numbers = np.arange(REPORTS + 1)
    own = stats.binom.pmf(numbers, holders, SUPPORT.p)
    others = stats.binom.pmf(numbers, REPORTS - holders, SUPPORT.q)
    return np.convolve(own, others)[: REPORTS + 1]


def normal_limits(alpha):
    share = SUPPORT.share(EVERY_COUNT.supporting, REPORTS)
    error = np.sqrt(SUPPORT.variance(np.clip(share, 0, 1), REPORTS))
    return share - z_for_alpha(alpha) * error, share + z_for_alpha(alpha) * error


def coverage(limits, truth, probabilities):
    low, high = limits
    return probabilities[(low <= truth + 1e-12) & (truth - 1e-12 <= high)].sum()


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_exact_intervals_of_these_devices_cover_for_every_truth(alpha):
    """Coverage is computed, not simulated."""
    limits = finite_population_limits(EVERY_COUNT, alpha)
    covered = [coverage(limits, h / REPORTS, chances(h)) for h in range(0, REPORTS + 1, 5)]
    assert min(covered) >= 1 - alpha
    assert np.mean(covered) < 1 - alpha / 3  # and they are not just wide


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_exact_intervals_of_the_population_cover_for_every_truth(alpha):
    limits = clopper_pearson_limits(EVERY_COUNT, alpha)
    numbers = np.arange(REPORTS + 1)
    covered = []
    for share in np.linspace(0, 1, 61):
        chance = SUPPORT.q + share * (SUPPORT.p - SUPPORT.q)
        covered.append(coverage(limits, share, stats.binom.pmf(numbers, REPORTS, chance)))
    assert min(covered) >= 1 - alpha
    assert np.mean(covered) < 1 - alpha / 3


def test_normal_intervals_fail_where_few_reports_are_expected():
    assert is_small_count(EVERY_COUNT, 0.05)
    for alpha, covered in ((0.05, 0.86), (0.001, 0.97)):
        limits = normal_limits(alpha)
        assert min(coverage(limits, h / REPORTS, chances(h)) for h in range(40)) < covered


def test_clopper_and_pearson_agree_with_their_definition():
    low, high = clopper_pearson_limits(EVERY_COUNT, 0.05)
    for count in (0, 1, 7, 75, 149, 150):
        interval = stats.binomtest(count, REPORTS).proportion_ci(0.95, "exact")
        for found, expected in ((low, interval.low), (high, interval.high)):
            assert SUPPORT.q + found[count] * (SUPPORT.p - SUPPORT.q) == pytest.approx(
                expected, abs=1e-12
            )


def test_intervals_of_these_devices_are_the_shorter_ones():
    own, drawn = (
        limits(EVERY_COUNT, 0.05)[1] - limits(EVERY_COUNT, 0.05)[0]
        for limits in (finite_population_limits, clopper_pearson_limits)
    )
    assert (own[10:40] < drawn[10:40]).all()


def test_a_threshold_for_many_items_at_once_asks_for_more():
    counted = SupportCounts(np.array([10]), 4_000, SUPPORT)
    assert counted.reports * SUPPORT.q > 20
    assert not is_small_count(counted, 0.05)
    assert is_small_count(counted, 0.05 / 1_000)


def test_an_absent_item_is_found_no_more_often_than_stated():
    """The normal test at 1 in 20,000 errs more than ten times as often; the exact one never."""
    absent, alpha = chances(0), 0.05 / 1_000
    exact = absent[stats.norm.sf(null_scores(EVERY_COUNT)) <= alpha].sum()
    assert 0 < exact <= alpha
    share = SUPPORT.share(EVERY_COUNT.supporting, REPORTS)
    scores = share / np.sqrt(SUPPORT.variance(0.0, REPORTS))
    assert absent[stats.norm.sf(scores) <= alpha].sum() > 10 * alpha


def test_scores_of_large_counts_are_the_normal_ones():
    counted = SupportCounts(np.arange(490_000, 512_000, 500), 1_000_000, SUPPORT)._replace(
        support=OptimizedUnaryEncoding.for_epsilon(100, Fraction(1, 100)).support
    )
    share = counted.support.share(counted.supporting, counted.reports)
    expected = share / np.sqrt(counted.support.variance(0.0, counted.reports))
    near = np.abs(expected) < 4.9
    assert np.allclose(null_scores(counted)[near], expected[near], atol=0.01)
    assert (np.diff(null_scores(counted)) >= 0).all()
