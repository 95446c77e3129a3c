"""Whether a distribution has changed as a whole, by how much, and its quantiles."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from scipy import stats

from benchmarks.distributions import drawn, populations, spec_of
from deniable_aggregator.answering.change import change
from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.questions import ChangeQuery
from deniable_aggregator.counting.statistics.outcomes import (
    OutcomeCounts,
    Repetition,
    channel,
    combined_p_value,
    common_variance,
    homogeneity_p_value,
)
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from tests.aggregator.answered import change_answer
from tests.aggregator.simulated import spec_of as category
from tests.aggregator.trends.test_change import gathered
from tests.privacy import specs

pytestmark = pytest.mark.audit

SPEC = spec_of("sw", "4", 32)
BINS = np.arange(32)
DAYS = tuple(DayRange(date(2026, 1, day), date(2026, 1, day)) for day in (1, 2))


def evenly(*bins):
    """A histogram that is the same in some bins and 0 in others."""
    return np.isin(BINS, np.concatenate([np.arange(first, last) for first, last in bins])) / sum(
        last - first for first, last in bins
    )


def compared(before, after, **options):
    query = ChangeQuery(before="2026-01-01", after="2026-01-02", **options)
    return change(before, after, ChangeRequest(query))


def period(truth, reports, random, day=0, spec=SPEC):
    return gathered(spec, drawn(spec, truth, reports, random), day, 1)


def test_distributions_with_the_same_mean_are_told_apart():
    """All values in the middle, then none there: their means are equal, and they share no value."""
    random = np.random.default_rng(1)
    before = period(evenly((8, 24)), 20_000, random)
    after = period(evenly((0, 8), (24, 32)), 20_000, random, 1)
    found = change_answer(compared(before, after), *DAYS)
    assert not found.one("difference in mean").told
    distance = found.one("distance", period=1)
    assert (distance.value, distance.told) == ("earth-mover", True)
    assert distance.p_value == pytest.approx(1 / 2_001)
    assert distance.low <= 8 / 31 <= distance.high
    assert distance.noise < 0.01 < distance.estimate


def test_a_small_shift_at_the_same_mean_is_found():
    random = np.random.default_rng(2)
    before = period(evenly((8, 24)), 20_000, random)
    found = compared(before, period(evenly((7, 25)), 20_000, random, 1))
    assert found.comparison.shape.p_value < 0.005
    assert found.comparison.differences.p_value[0] > 0.05


def test_without_a_change_the_distance_begins_at_zero_and_its_noise_is_said():
    random = np.random.default_rng(3)
    truth = evenly((4, 20))
    found = compared(period(truth, 5_000, random), period(truth, 5_000, random, 1))
    distance = change_answer(found, *DAYS).one("distance")
    assert (distance.told, distance.low) == (False, 0)
    assert 0 < distance.estimate < 4 * distance.noise


@pytest.mark.statistics
@pytest.mark.parametrize("kind", ["ordered", "unordered", "bits"])
def test_the_p_value_is_as_it_says_where_nothing_has_changed(kind):
    """Of 100 tests, their p-values are uniform, those of bits (Bonferroni) not below it.

    Were noise taken to be 0.7 or 1.3 times what it is, they would not be.
    """
    random, mechanism = np.random.default_rng(4), SPEC.mechanism
    law = channel(mechanism) @ evenly((4, 20))

    def outcomes(reports):
        counts = random.multinomial(reports, law)
        if kind == "bits":
            counts = random.binomial(reports, 0.3, size=40)
        return OutcomeCounts(kind, counts, np.full(counts.size, reports))

    found = [homogeneity_p_value(outcomes(3_000), outcomes(5_000)) for _ in range(100)]
    if kind == "bits":
        assert np.mean(np.array(found) <= 0.05) <= 0.13
        assert min(found) < 0.3
        return
    assert stats.kstest(found, "uniform").pvalue > 0.001
    scores = stats.norm.isf(np.array(found))
    for factor in (0.7, 1.3):
        skewed = stats.norm.sf(scores / factor + (1 / factor - 1) * 2)
        assert stats.kstest(skewed, "uniform").pvalue < 0.001


def test_the_chance_in_a_p_value_is_not_the_same_in_all_tests():
    """Else one unlucky set of draws would make all alarms of a size too frequent.

    Two counts of a million, as far apart each time: p is 7.4%, and the draws err by 0.6%.
    """

    def p_value(number):
        half, reports = 500_000, np.full(2, 1_000_000)
        pairs = np.array([[half - number, half + number]]) + np.array([[0, 0], [1_265, -1_265]])
        before, after = (OutcomeCounts("unordered", each, reports) for each in pairs)
        found = homogeneity_p_value(before, after)
        assert found == homogeneity_p_value(before, after)
        return found

    found = [p_value(number) for number in range(25)]
    assert np.mean(found) == pytest.approx(0.074, abs=0.004)
    assert 0.003 < np.std(found) < 0.012


def test_few_expected_ones_are_counted_exactly():
    """2 of 30 against none of 3,000: the normal approximation would call it 14 errors."""
    trials = np.array([30, 3_000])
    before, after = (
        OutcomeCounts("bits", np.array([ones]), np.array([asked]))
        for ones, asked in zip((2, 0), trials, strict=True)
    )
    exact = 2 * (30 / 3_030) ** 2
    assert homogeneity_p_value(before, after) == pytest.approx(exact, rel=0.01)


def test_repeated_reports_of_the_same_devices_make_the_test_more_careful():
    once, again = Repetition(), Repetition(6 / 1_000, 6 / 1_000, epsilon=1.0)
    counts = [np.array([600, 400]), np.array([540, 460])]
    outcomes = [OutcomeCounts("ordered", each, np.full(2, 1_000)) for each in counts]
    assert homogeneity_p_value(*outcomes, once) < 0.02
    assert homogeneity_p_value(*outcomes, again) > 2 * homogeneity_p_value(*outcomes, once)
    unknown = again._replace(epsilon=np.inf)
    assert homogeneity_p_value(*outcomes, unknown) > homogeneity_p_value(*outcomes, again)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 800.0, np.inf])
def test_the_largest_variance_between_devices_is_that_of_any_two_bounds(epsilon):
    share, ratio = np.linspace(0.0, 1.0, 21), np.exp(-epsilon)
    low = share * np.linspace(0.0, 1.0, 20_001)[:, None]
    high = 1 - (1 - low) * ratio
    if ratio > 0:
        high = np.minimum(high, low / ratio)
    tried = (np.maximum(high - share, 0.0) * (share - low)).max(axis=0)
    found = common_variance(share, epsilon)
    assert (found >= tried).all()
    np.testing.assert_allclose(found, tried, atol=2e-5)


def test_versions_are_tested_by_themselves_and_those_of_one_period_left_out():
    random, truth = np.random.default_rng(5), evenly((4, 20))
    other = spec_of("sw", "2", 32)
    third = spec_of("sw", "1", 32)

    def both(specs_, day):
        tallies = [(spec, drawn(spec, truth, 2_000, random)) for spec in specs_]
        return CollectedTallies(tallies, {spec.digest: {day: 2_000} for spec in specs_})

    found = compared(both([SPEC, other, third], 0), both([SPEC, other], 1))
    assert found.comparison.shape.left_out == 2_000
    alone = compared(both([third], 0), both([other], 1))
    assert alone.comparison.shape is None
    answer = change_answer(alone, *DAYS)
    assert answer.one("distance") is None
    assert "shape" not in answer.head.meanings


def test_tests_of_several_versions_are_combined_as_fisher_did():
    found = combined_p_value([0.04, 0.2, 0.6])
    assert found == pytest.approx(stats.combine_pvalues([0.04, 0.2, 0.6]).pvalue)
    assert combined_p_value([0.04]) == 0.04


def test_categories_have_a_shape_and_a_total_variation():
    random, spec = np.random.default_rng(6), category("grr", 4, 3)
    own = spec.mechanism.support
    laws = [
        own.q + (own.p - own.q) * np.array(held)
        for held in ([0.7, 0.2, 0.1, 0], [0.4, 0.5, 0.1, 0])
    ]
    periods = [
        gathered(spec, random.multinomial(9_000, law), day, 1) for day, law in enumerate(laws)
    ]
    found = change_answer(compared(*periods), *DAYS)
    distance = found.one("distance")
    assert (distance.value, distance.told) == ("total-variation", True)
    assert distance.low <= 0.3 <= distance.high
    assert not found.of("difference in quantile")


def test_strings_are_tested_without_being_listed():
    random = np.random.default_rng(7)
    spec = specs.string(specs.sketch("oue", 1, rows=4, buckets=16))
    tally = tally_for(spec)
    rows = random.binomial(2_000, 0.3, size=(2, 4, 17))
    rows[:, :, 0] = 2_000
    same, other = (tally.outcomes(each.ravel()) for each in rows)
    assert same.counts.size == 64
    assert homogeneity_p_value(same, other) > 0.01
    rows[1, 2, 5] += 300
    assert homogeneity_p_value(same, tally.outcomes(rows[1].ravel())) < 0.001


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", ["sw", "dbitflip"])
def test_intervals_of_differences_of_quantiles_cover(mechanism):
    """Of 20 repetitions x 3 quantiles, at least 93% cover; and where all moved, it is found."""
    random = np.random.default_rng(8)
    before, after = (
        next(each for each in populations() if each.name == name) for name in ("gamma", "bimodal")
    )
    spec, asked, covered, found = spec_of(mechanism, "2", 32), (0.25, 0.75, 0.95), [], []
    for _ in range(20):
        one = period(before.shares(32), 20_000, random, 0, spec)
        other = period(after.shares(32), 20_000, random, 1, spec)
        rows = compared(one, other, quantile=asked).comparison.quantiles
        for row in rows:
            actual = after.quantile(row.quantile) - before.quantile(row.quantile)
            covered.append(row.low - 1e-9 <= actual <= row.high + 1e-9)
        found.append(rows[1].told)
    assert np.mean(covered) >= 0.93
    assert np.mean(found) == 1


def test_only_a_distribution_has_quantiles():
    random, spec = np.random.default_rng(9), category("grr", 4, 3)
    periods = [gathered(spec, random.multinomial(900, [0.25] * 4), day, 1) for day in range(2)]
    with pytest.raises(ParameterError, match="quantile must be left out: only a distribution"):
        compared(*periods, quantile=(0.5,))


def test_unlike_bins_are_combined_as_far_as_their_edges_are_the_same():
    random = np.random.default_rng(10)
    coarse = spec_of("sw", "4", 16)
    half = evenly((4, 20)).reshape(16, 2).sum(axis=1)
    found = compared(
        period(evenly((4, 20)), 9_000, random), period(half, 9_000, random, 1, coarse)
    ).comparison
    assert found.distance is not None
    assert found.distance.low == 0
    assert all(row.low <= 0 <= row.high for row in found.quantiles)
