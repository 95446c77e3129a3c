"""Shares of a distribution above and between numbers: exact at edges of bins, else bracketed."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace as with_fields
from scipy import stats

from deniable_aggregator.answering.estimation.changes import direction_of
from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.answering.estimation.thresholds import change_between, share_between
from deniable_shared.mechanisms import SquareWave
from tests.aggregator.estimation.test_distributions import answered, drawn, flips, shares, wave

pytestmark = pytest.mark.audit

BINS = 16
TRUTH = shares(stats.beta(2, 4), BINS)


def found(spec, truth=TRUTH, seed=1, reports=20_000):
    draw = drawn if isinstance(spec.mechanism, SquareWave) else answered
    tally = draw(spec, truth, reports, np.random.default_rng(seed))
    return estimate_distribution([tally], quantiles=())


def asked(estimate, above, below=None, *, edges=None):
    places = estimate.edges if edges is None else edges
    return share_between(estimate.histogram, places, above, below, 0.95)


def test_at_an_edge_of_a_bin_it_is_the_share_of_the_bins_above():
    estimate = found(wave("2"))
    edge = float(estimate.edges[6])
    number = asked(estimate, edge)
    assert number.estimate == pytest.approx(estimate.histogram.held[6:].sum(), abs=1e-12)
    assert number.low <= number.estimate <= number.high
    assert number.high - number.low < 0.1
    rest = asked(estimate, None, edge)
    assert rest.estimate == pytest.approx(1 - number.estimate, abs=1e-9)
    between = asked(estimate, float(estimate.edges[3]), edge)
    assert between.estimate == pytest.approx(estimate.histogram.held[3:6].sum(), abs=1e-12)


def test_within_a_bin_it_is_bracketed_by_the_bins_on_both_sides():
    estimate = found(wave("2"))
    edges = estimate.edges
    number = asked(estimate, float(edges[6] + edges[7]) / 2)
    assert number.estimate is None
    assert number.reason
    assert number.low == asked(estimate, float(edges[7])).low
    assert number.high == asked(estimate, float(edges[6])).high


def test_nothing_is_known_of_values_beyond_the_range():
    estimate = found(wave("2"))
    last, above_range = float(estimate.edges[-2]), float(estimate.edges[-1]) + 5
    beyond = asked(estimate, above_range)
    assert (beyond.low, beyond.estimate) == (0.0, None)
    assert beyond.high == asked(estimate, last).high
    below = asked(estimate, None, above_range)
    assert below.low == asked(estimate, None, last).low
    assert below.high == 1.0


def test_the_first_bin_holds_all_values_below_a_range_that_does_not_begin_at_zero():
    estimate = found(wave("2"))
    edge = float(estimate.edges[4])
    assert float(estimate.edges[0]) == 0
    assert asked(estimate, 0.0, edge).estimate == asked(estimate, None, edge).estimate
    moved = estimate.edges + 10
    assert asked(estimate, 10.0, edge + 10, edges=moved).estimate is None
    assert asked(estimate, None, edge + 10, edges=moved).estimate is not None


def test_an_edge_is_met_in_spite_of_rounding():
    estimate = found(wave("2"))
    edge = float(estimate.edges[6])
    assert asked(estimate, edge * (1 + 1e-14)) == with_fields(
        asked(estimate, edge), bin_from=edge * (1 + 1e-14)
    )


@pytest.mark.statistics
@pytest.mark.parametrize("spec", [wave("2"), flips("2")], ids=["wave", "flips"])
def test_intervals_of_shares_above_an_edge_cover_and_narrower_ones_do_not(spec):
    """300 answers; the standard error at 95% is 0.013."""
    actual, covered, narrow = float(TRUTH[5:].sum()), [], []
    for seed in range(300):
        estimate = found(spec, seed=seed, reports=5_000)
        number = asked(estimate, float(estimate.edges[5]))
        middle, half = (number.low + number.high) / 2, (number.high - number.low) / 2
        covered.append(number.low <= actual <= number.high)
        narrow.append(abs(middle - actual) <= 0.6 * half)
    assert 0.95 - 3 * 0.013 <= np.mean(covered) <= 0.95 + 3 * 0.013
    assert np.mean(narrow) < 0.85


def differs(sides, above):
    """How the share above an edge differs between two estimates."""
    specs = [spec for side in sides for spec, _ in side.specs]
    histograms = sides[0].histogram, sides[1].histogram
    return change_between(histograms, sides[0].edges, specs, above, None, 0.05)


def changes(first, second, repetitions=300):
    for seed in range(repetitions):
        sides = [
            found(wave("2"), of, seed + at * 1_000, 5_000) for at, of in enumerate((first, second))
        ]
        yield differs(sides, float(sides[0].edges[5]))


@pytest.mark.statistics
def test_a_change_of_a_threshold_is_tested_at_its_level_and_found():
    """300 changes; the standard error of the level is 0.013."""
    same = [number.told for number in changes(TRUTH, TRUTH)]
    assert np.mean(same) <= 0.05 + 3 * 0.013
    slower = shares(stats.beta(2.6, 4), BINS)
    truly = float(slower[5:].sum() - TRUTH[5:].sum())
    moved = list(changes(TRUTH, slower))
    assert np.mean([number.told for number in moved]) > 0.8
    covered = np.mean([number.low <= truly <= number.high for number in moved])
    assert covered == pytest.approx(0.95, abs=3 * 0.013)
    assert np.mean([number.estimate for number in moved]) == pytest.approx(truly, abs=0.005)


def test_a_change_within_a_bin_is_bracketed_by_what_it_can_be_at_both_edges():
    sides = found(wave("2")), found(wave("2"), shares(stats.beta(4, 3), BINS), seed=2)
    edges = sides[0].edges
    number = differs(sides, float(edges[6] + edges[7]) / 2)
    exact = [differs(sides, float(edges[at])) for at in (6, 7)]
    assert (number.estimate, number.before, number.after) == (None, None, None)
    assert number.reason
    assert number.low < min(each.low for each in exact)
    assert number.high > max(each.high for each in exact)
    assert number.told
    assert number.low > 0
    same = differs((sides[0], sides[0]), float(edges[6] + edges[7]) / 2)
    assert not same.told


def moved_to(law, seed):
    """The direction in which a distribution has moved from the first one."""
    sides = found(wave("2"), seed=seed), found(wave("2"), shares(law, BINS), seed + 1_000)
    return direction_of(*(side.histogram.raw for side in sides))


def test_the_direction_of_a_change_is_that_of_the_values_or_of_their_spread():
    assert moved_to(stats.beta(3, 4), 1) == "higher"
    assert moved_to(stats.beta(2, 6), 2) == "lower"
    assert moved_to(stats.beta(0.5, 1), 3) == "wider"
    assert moved_to(stats.beta(8, 16), 4) == "narrower"


@pytest.mark.statistics
def test_without_a_change_a_direction_is_seldom_named():
    """200 changes of nothing; the standard error at 5% is 0.015, and Bonferroni errs less often."""
    named = [moved_to(stats.beta(2, 4), seed) is not None for seed in range(200)]
    assert np.mean(named) <= 0.05 + 3 * 0.015
