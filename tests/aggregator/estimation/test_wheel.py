"""Estimates of items of sets in hashed buckets, by reports that are drawn one by one.

Squared errors are compared with stated variances over 1,000 absent items and six runs, whose ratio
has a standard deviation of 2%.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from benchmarks.sets import collect, metric, population, shares_kept
from deniable_aggregator.answering.estimation.estimator import estimate
from deniable_aggregator.answering.estimation.inputs import CollectedTallies, EstimateRequest
from deniable_aggregator.answering.estimation.items import combine_specs
from deniable_aggregator.answering.estimation.share_changes import compare_shares
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.statistics.intervals import detect
from deniable_aggregator.counting.statistics.sketch_estimates import StringSums, shares_of_strings
from deniable_aggregator.counting.statistics.sketch_rows import SketchRows, SketchStack
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.counting.tallies.string_places import HashedStrings, StringPlaces
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import Wheel

pytestmark = [pytest.mark.statistics, pytest.mark.audit]

DEVICES, MOST, RUNS = 200_000, 3, 6
FEWER = 50_000
HELD = [f"held {index}" for index in range(300)]
ABSENT = [f"absent {index}" for index in range(1_000)]
MECHANISM = Wheel.for_epsilon(MOST, Fraction(2), DEVICES, rows=256)


class Runs(NamedTuple):
    truth: np.ndarray
    counts: list
    estimates: list

    @property
    def errors(self):
        return np.array([each.share for each in self.estimates]) - self.truth

    @property
    def stated(self):
        return np.array([each.variance for each in self.estimates])


@pytest.fixture(scope="module")
def runs():
    """One item of 95% and others by Zipf's law; each run hashes anew."""
    random = np.random.default_rng(35)
    held = population("heavy", DEVICES, MOST, random)
    truth = np.concatenate([shares_kept(held, len(HELD), MOST), np.zeros(len(ABSENT))])
    counts = [
        (metric(MECHANISM, run), collect(metric(MECHANISM, run), HELD, held, random))
        for run in range(RUNS)
    ]
    estimates = [combine_specs([each], [*HELD, *ABSENT], "noise").combined for each in counts]
    return Runs(truth, counts, estimates)


def biases(errors, stated):
    """Mean errors of the common items beside the heaviest, in standard errors."""
    return errors.mean(axis=0)[1:5] / np.sqrt(stated.mean(axis=0)[1:5] / len(errors))


def test_common_items_beside_a_heavy_one_are_unbiased(runs):
    assert np.abs(biases(runs.errors, runs.stated)).max() < 4


def test_leaving_out_rows_as_for_strings_would_be_biased(runs):
    """So the test above has the power to notice it."""
    errors, stated = [], []
    for spec, counts in runs.counts:
        cells = counts.reshape(MECHANISM.rows, MECHANISM.buckets)
        rows = SketchRows(cells.sum(axis=1), cells, MECHANISM.bucket_support)
        words = hash_cells.words([*HELD, *ABSENT], spec.salt)
        strings = HashedStrings(words, MECHANISM.rows, MECHANISM.buckets)
        places = StringPlaces(strings, np.arange(MECHANISM.rows))
        stack = SketchStack([rows])
        sums = StringSums(*places.sums(stack.packed))
        (found,) = shares_of_strings(stack, sums, [MECHANISM.support], places.cells, [(1, 1)])
        errors.append(found.share - runs.truth)
        stated.append(found.variance)
    assert biases(np.array(errors), np.array(stated)).max() > 5.5


def fits(runs, chosen, noise, tolerance):
    ratio = (runs.errors[:, chosen] ** 2 / (noise**2 * runs.stated[:, chosen])).mean()
    return abs(ratio - 1) < tolerance


def test_errors_are_as_large_as_stated_and_not_smaller_or_larger(runs):
    absent = runs.truth == 0
    assert fits(runs, absent, 1.0, 0.1)
    assert not fits(runs, absent, 0.7, 0.1)
    assert not fits(runs, absent, 1.3, 0.1)
    assert runs.stated[:, absent].mean() < 1.4 * MECHANISM.variance(0.0, DEVICES)
    assert fits(runs, runs.truth > 0.02, 1.0, 0.5)


def test_few_found_items_are_held_by_nobody_and_intervals_cover(runs):
    false, covered = [], []
    for each in runs.estimates:
        detected = detect(each.scores)
        assert detected[:8].all()
        false.append((detected & (runs.truth == 0)).sum() / detected.sum())
        limits = each.limits(np.arange(runs.truth.size), 0.05)
        covered.append((limits.low <= runs.truth) & (runs.truth <= limits.high))
    assert np.mean(false) < 0.12
    covered = np.array(covered)
    assert 0.935 < covered[:, runs.truth == 0].mean() < 0.965
    assert covered[:, runs.truth > 0.02].mean() > 0.88


def test_a_heavy_item_that_is_no_candidate_is_noticed_and_its_errors_are_stated(runs):
    for (spec, counts), whole in zip(runs.counts, runs.estimates, strict=True):
        without = combine_specs([(spec, counts)], [*HELD[1:], *ABSENT], "noise").combined
        (part,) = without.parts
        assert part.shares.unlisted == pytest.approx(0.95, abs=0.05)
        assert whole.parts[0].shares.unlisted is None
        ratio = (without.share[299:] ** 2).mean() / without.variance[299:].mean()
        assert 0.8 < ratio < 1.2
        assert without.variance[-1] > 1.5 * whole.variance[-1]


@pytest.mark.parametrize("is_listed", [True, False])
def test_changes_err_as_stated_where_a_heavy_item_stays_in_both_periods(is_listed):
    """Its collisions are the same in both, so the difference has noise alone."""
    random = np.random.default_rng(36)
    spec = metric(Wheel.for_epsilon(MOST, Fraction(4), FEWER, rows=256), 1)
    sides = [population("heavy", FEWER, MOST, random) for _ in range(2)]
    asked = [*HELD[0 if is_listed else 1 :], *ABSENT]
    first, second = (
        combine_specs(
            [(spec, collect(spec, HELD, held, random))],
            asked,
            "noise-and-sampling",
            versions=[spec],
        )
        for held in sides
    )
    changes = compare_shares(first, second, np.arange(len(asked)), 0.05)
    absent = slice(-len(ABSENT), None)
    errors = (changes.after - changes.before)[absent]
    ratio = (errors**2).mean() / (changes.standard_error[absent] ** 2).mean()
    assert 0.85 < ratio < 1.15
    assert (changes.p_value[absent] < 0.05).mean() == pytest.approx(0.05, abs=0.025)
    misses = (changes.low[absent] > 0) | (changes.high[absent] < 0)
    assert misses.mean() == pytest.approx(0.05, abs=0.025)
    separate = first.combined.variance[-1] + second.combined.variance[-1]
    if not is_listed:
        assert separate > 3 * changes.standard_error[-1] ** 2


def test_where_rows_have_few_reports_what_is_taken_off_has_mean_zero_too():
    random = np.random.default_rng(40)
    held = population("heavy", 20_000, MOST, random)
    deviations = []
    for run in range(2):
        spec = metric(Wheel.for_epsilon(MOST, Fraction(4), 200_000), run)
        assert spec.mechanism.rows > 3_000
        counts = collect(spec, HELD, held, random)
        found = combine_specs([(spec, counts)], [*HELD, *ABSENT], "noise").combined
        deviations.append((found.share / np.sqrt(found.variance))[-len(ABSENT) :])
    assert abs(np.mean(deviations)) < 0.1


def test_few_reports_have_exact_intervals():
    random = np.random.default_rng(37)
    mechanism = Wheel.for_epsilon(MOST, Fraction(1), 300)
    held = population("heavy", 300, MOST, random)
    truth = np.concatenate([shares_kept(held, len(HELD), MOST), np.zeros(200)])
    covered, exact = [], []
    for run in range(20):
        spec = metric(mechanism, run)
        counts = collect(spec, HELD, held, random)
        found = combine_specs([(spec, counts)], [*HELD, *ABSENT[:200]], "noise").combined
        limits = found.limits(np.arange(truth.size), 0.001)
        exact.append(limits.exact)
        covered.append((limits.low <= truth) & (truth <= limits.high))
    assert np.all(exact)
    assert np.mean(covered) > 0.995


def test_the_share_of_sets_with_more_items_than_a_report_covers_is_told():
    random = np.random.default_rng(38)
    held = population("sizes", FEWER, MOST, random)
    spec = metric(Wheel.for_epsilon(MOST, Fraction(4), FEWER), 1)
    sizes = tally_for(spec).sizes(collect(spec, HELD, held, random))
    truth = ((held >= 0).sum(axis=1) > MOST).mean()
    assert truth > 0.05
    error = sizes.above.variance[0] ** 0.5
    assert abs(sizes.above.share[0] - truth) < 4 * error
    assert error < 0.01
    assert (sizes.most, sizes.items, sizes.empty) == (MOST, None, None)


def test_sets_of_texts_are_asked_with_candidates_and_say_what_is_missing():
    random = np.random.default_rng(39)
    held = population("sizes", FEWER, MOST, random)
    spec = metric(Wheel.for_epsilon(MOST, Fraction(4), FEWER, rows=256), 1)
    counts = collect(spec, HELD, held, random)
    tallies = CollectedTallies([(spec, counts)], {spec.digest: {20_000: FEWER}})
    with pytest.raises(ParameterError, match="candidates must be given"):
        estimate(tallies, EstimateRequest(EstimateQuery(postprocess="none"), ValueLists()))
    lists = ValueLists(candidates=("held 1", "held 2", "nobody has this"))
    found = estimate(tallies, EstimateRequest(EstimateQuery(postprocess="none"), lists))
    truth = shares_kept(held, len(HELD), MOST)
    for number, share in zip(found.numbers()[-3:], (*truth[1:3], 0.0), strict=True):
        assert number.low - 0.01 < share < number.high + 0.01
    larger = next(each for each in found.numbers() if each.measure == "set size")
    assert larger.value == f"more than {MOST} items"
    codes = {notice.code: notice.message for notice in found.notices}
    assert codes["cut_sets"].startswith("about")
    assert codes["unlisted_string"].startswith("a string that was not looked for is in about")


@pytest.mark.parametrize("strings", [3, 40])
def test_cells_are_added_up_alike_for_few_strings_and_for_many(strings):
    """By string where these are fewer than the rows, else by row."""
    random = np.random.default_rng(41)
    words = random.integers(0, 1 << 63, strings).astype(np.uint64)
    places = StringPlaces(HashedStrings(words, 7, 5), np.arange(7))
    tables = [np.full((7, 5), 7), random.integers(-(1 << 30), 1 << 30, (7, 5))]
    buckets = places.buckets(np.arange(strings))
    for table in tables:
        found = places.table_sums(table)
        assert (found == table[np.arange(7), buckets].sum(axis=1)).all()
    assert (places.buckets(np.array([1])) == buckets[1]).all()
