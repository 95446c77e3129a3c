"""Errors over several periods, in which the same devices report with the same permanent noise."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.answering.estimation.means import estimate_mean
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.statistics.intervals import (
    repeats_of,
    reports_by_period,
    shared_pairs,
    shared_pairs_across_specs,
)
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.mechanisms import (
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OneBitMean,
    SquareWave,
)
from tests import one_metric
from tests.aggregator.simulated import spec_of
from tests.privacy import specs
from tests.privacy.conformance import secret_of, seeded

pytestmark = pytest.mark.audit

PERIODS, REPETITIONS = 6, 150
HELD = (90, 45, 15, 0)
ITEMS = [f"i{index}" for index in range(len(HELD))]
TRUTH = np.array(HELD) / sum(HELD)
FOUR = (
    'type = "category"\nvalues = ["i0", "i1", "i2", "i3"]\ncomplete = true\n'
    "epsilon = 3\nepsilon_permanent = 3.5\n"
)
STRINGS = 'type = "string"\nepsilon = 3\nepsilon_permanent = 3.5\n'
METRICS = {
    "lgrr": FOUR,
    "losue": FOUR + 'mechanism = "losue"',
    "sketch": STRINGS + 'mechanism = { name = "sketch", buckets = 64 }',
    "rappor": STRINGS + 'mechanism = { name = "rappor", bits = 32, cohorts = 4, hashes = 1 }',
}


def simulated(spec, values, name):
    """Tallies of the same devices over all periods, with other permanent answers each time."""
    randomness, encoded = seeded(name), [spec.encode(value) for value in values]
    secrets = [secret_of(device) for device in range(len(values))]
    for repetition in range(REPETITIONS):
        again = replace(spec, name=f"m{repetition}")
        randomizer, tally = randomizer_for(again, randomness), tally_for(again)
        counts = sum(
            tally.count(b"".join(map(randomizer.report, encoded, secrets))) for _ in range(PERIODS)
        )
        yield again, counts, {again.digest: dict.fromkeys(range(PERIODS), len(values))}


@pytest.fixture(scope="module", params=METRICS)
def memoised(request):
    spec = one_metric.spec_of(one_metric.MEMOIZED + METRICS[request.param])
    values = [item for item, count in zip(ITEMS, HELD, strict=True) for _ in range(count)]
    return list(simulated(spec, values, request.param))


@pytest.fixture(scope="module")
def mended(memoised):
    """Estimates that allow for the same devices in all periods."""
    return [estimate_shares([(spec, c)], ITEMS, periods=periods) for spec, c, periods in memoised]


def covers(answer):
    return (answer.low <= TRUTH) & (answer.high >= TRUTH)


@pytest.mark.statistics
def test_intervals_over_six_periods_of_the_same_devices_cover(memoised, mended):
    """600 intervals, of 150 independent repetitions: the standard error is about 1.1%.

    Taken for 900 devices' reports, the same tallies give intervals that miss far too often. But for
    RAPPOR's: the residuals of its regression show the permanent noise.
    """
    assert np.mean([covers(answer) for answer in mended]) > 0.92
    if memoised[0][0].mechanism.name != "rappor":
        naive = [estimate_shares([(spec, counts)], ITEMS) for spec, counts, _ in memoised]
        assert np.mean([covers(answer) for answer in naive]) < 0.85


@pytest.mark.statistics
def test_the_stated_error_is_that_of_the_worst_case_which_this_is(mended):
    """The mean squared error over the stated variance, of 600 values: standard error about 0.08."""
    ratio = np.mean([np.mean(((a.share - TRUTH) / a.standard_error) ** 2) for a in mended])
    assert 0.7 < ratio < 1.3


@pytest.mark.statistics
def test_an_item_that_nobody_holds_is_seldom_detected(memoised):
    """150 one-sided tests at 5%, the standard error is 1.8%; naive ones find it far more often."""
    options = EstimateOptions(false_finds="none")
    found = [
        [
            bool(estimate_shares([(s, c)], ITEMS[3:], options, periods=p).detected[0])
            for p in (periods, None)
        ]
        for s, c, periods in memoised
    ]
    mended, naive = np.mean(found, axis=0)
    assert mended <= 0.11
    if memoised[0][0].mechanism.name not in ("rappor", "sketch"):  # their law is in their counts
        assert naive > mended


@pytest.mark.statistics
@pytest.mark.parametrize("memoised", sorted({*METRICS} - {"rappor"}), indirect=True)
def test_a_sum_has_the_error_of_permanent_answers_too(memoised):
    """But for RAPPOR, where the covariances of the regression are tested by its shares."""
    scores = []
    for spec, counts, periods in memoised:
        total = estimate_shares([(spec, counts)], add=ITEMS[1:3], periods=periods).combined
        scores.append((total.share - TRUTH[1] - TRUTH[2]) / total.standard_error)
    assert 0.65 < np.mean(np.square(scores)) < 1.4  # 150 of them: three standard errors of 0.115


def test_one_period_changes_nothing():
    spec = spec_of("oue", 10, 2)
    counts = tally_for(spec).count(b"\x80\x00" * 50 + b"\x01\x40" * 150)
    for margin in ("noise", "noise-and-sampling"):
        plain = estimate_shares([(spec, counts)], options=EstimateOptions(margin=margin))
        same = estimate_shares(
            [(spec, counts)],
            options=EstimateOptions(margin=margin),
            periods={spec.digest: {7: 200}},
        )
        assert (plain.standard_error == same.standard_error).all()
        assert (plain.low == same.low).all()
        assert (plain.exact == same.exact).all()


def test_fresh_noise_of_these_devices_averages_out_and_their_sampling_does_not():
    spec = spec_of("grr", 3, 4)
    counts = np.array([3_000, 2_000, 1_000])
    periods = {spec.digest: dict.fromkeys(range(30), 200)}
    for margin, factor in (("noise", 1.0), ("noise-and-sampling", 30.0)):
        options = EstimateOptions(margin=margin)
        plain = estimate_shares([(spec, counts)], options=options).standard_error ** 2
        again = (
            estimate_shares([(spec, counts)], options=options, periods=periods).standard_error ** 2
        )
        noise = estimate_shares([(spec, counts)]).standard_error ** 2
        assert np.allclose(again - noise, factor * (plain - noise))


@pytest.mark.statistics
def test_the_population_is_covered_where_the_same_devices_report_every_day():
    """2,400 intervals, of 800 samples: the standard error is 0.6%; naive ones cover half."""
    spec, truth, days, devices = spec_of("grr", 3, 6), np.array([0.5, 0.3, 0.2]), 10, 400
    generator, support = np.random.default_rng(3), spec_of("grr", 3, 6).mechanism.support
    channel = np.full((3, 3), support.q) + np.eye(3) * (support.p - support.q)
    channel /= channel.sum(axis=1, keepdims=True)
    periods = {spec.digest: dict.fromkeys(range(days), devices)}
    hits, naive = [], []
    for _ in range(800):
        held = generator.multinomial(devices, truth)
        counts = generator.multinomial(held * days, channel).sum(axis=0)
        for found, within in ((hits, periods), (naive, None)):
            answer = estimate_shares(
                [(spec, counts)],
                options=EstimateOptions(margin="noise-and-sampling"),
                periods=within,
            )
            found.append((answer.low <= truth) & (truth <= answer.high))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.025)
    assert np.mean(naive) < 0.65


def test_two_specs_that_the_same_devices_used_one_after_the_other_are_no_larger_sample():
    one, other = spec_of("grr", 3, 6), spec_of("grr", 3, 7)
    counts = np.array([300, 200, 100])
    options = EstimateOptions(margin="noise-and-sampling")
    apart = {one.digest: {1: 600}, other.digest: {2: 600}}
    at_once = {one.digest: {1: 600}, other.digest: {1: 600}}
    tallies = [(one, counts), (other, counts)]
    single, both, disjoint = (
        estimate_shares(*asked, options=options, periods=periods).standard_error[0]
        for asked, periods in (([[tallies[0]]], {}), ([tallies], apart), ([tallies], at_once))
    )
    assert disjoint == pytest.approx(estimate_shares(tallies, options=options).standard_error[0])
    assert disjoint < 0.8 * single
    assert both == pytest.approx(single, rel=0.02)


@pytest.mark.parametrize(
    ("counts", "others"),
    [({1: 3, 2: 10, 3: 5}, {2: 4, 3: 7}), ({5: 1}, {5: 9}), ({1: 2, 2: 2}, {})],
)
def test_pairs_of_reports_are_those_of_nested_devices(counts, others):
    assert shared_pairs(counts, counts) == sum(
        map(min, itertools.product(counts.values(), repeat=2))
    )
    everything = sum(map(min, itertools.product(counts.values(), others.values())))
    assert shared_pairs(counts, others) == shared_pairs(others, counts) == everything
    same = sum(min(counts[period], others[period]) for period in counts.keys() & others.keys())
    assert shared_pairs_across_specs(counts, others) == everything - same


def test_a_metric_of_a_week_has_one_period_in_seven_days():
    weekly = replace(spec_of("grr", 3, 1), every="week")
    monday = 4  # 1970-01-05
    epochs = {monday + day: 10 for day in range(7)}
    assert reports_by_period(weekly, epochs) == {1: 70}
    assert reports_by_period(weekly, {**epochs, monday + 7: 5}) == {1: 70, 2: 5}
    assert reports_by_period(replace(weekly, every="once"), epochs) == {0: 70}
    assert repeats_of(weekly, 70, reports_by_period(weekly, epochs)).extra == 0


def test_a_day_with_few_reports_adds_little():
    spec = spec_of("grr", 3, 1)
    assert repeats_of(spec, 1_010, {1: 1_000, 2: 10}).extra * 1_010 == pytest.approx(20 / 1_010)


@pytest.mark.parametrize("kind", [MemoizedRandomizedResponse, MemoizedUnaryEncoding])
def test_without_a_second_round_a_report_would_be_its_permanent_answer(kind):
    mechanism = kind.for_epsilons(5, Fraction(39_999, 10_000), Fraction(4))
    permanent, report = mechanism.permanent_support(), mechanism.support
    assert (permanent.p, permanent.q) == pytest.approx((report.p, report.q), rel=1e-3)
    permanent_pairs, pairs = mechanism.permanent_pair_support(), mechanism.pair_support()
    assert permanent_pairs.own == pytest.approx(pairs.own, rel=1e-3)
    assert permanent_pairs.other == pytest.approx(pairs.other, rel=1e-3)


@pytest.mark.statistics
def test_a_mean_over_six_periods_of_the_same_devices_covers():
    """150 intervals: the standard error is 1.8%."""
    mechanism = MemoizedOneBitMean.for_epsilons(Fraction(3), Fraction(4))
    values = [0.2, 0.5, 0.9] * 50
    hits, naive = [], []
    for spec, counts, periods in simulated(specs.number(mechanism), values, "mean"):
        for found, within in ((hits, periods), (naive, None)):
            answer = estimate_mean([(spec, counts)], periods=within)
            found.append(answer.low <= np.mean(values) <= answer.high)
    assert np.mean(hits) > 0.9
    assert np.mean(naive) < 0.85


def test_a_mean_of_fresh_bits_is_about_no_more_devices_than_there_may_be():
    spec = specs.number(OneBitMean.for_epsilon(Fraction(2)))
    counts = np.array([3_500, 3_500])
    once = estimate_mean([(spec, counts)]).standard_error ** 2
    daily = estimate_mean([(spec, counts)], periods={spec.digest: dict.fromkeys(range(7), 1_000)})
    assert daily.standard_error**2 - once == pytest.approx(0.25 * 6 / 7_000)


@pytest.mark.statistics
@pytest.mark.parametrize("buckets", [1, 4])
def test_a_distribution_over_six_periods_of_the_same_devices_covers(buckets):
    """600 intervals of bins and 150 of means; their standard errors are about 1.2% and 1.8%."""
    mechanism = MemoizedDBitFlip.for_epsilons(4, Fraction(3), Fraction(4), buckets=buckets)
    values = [0.1] * 60 + [0.4] * 60 + [0.9] * 30
    truth = np.array([0.4, 0.4, 0.0, 0.2])
    hits, naive, means = [], [], []
    for spec, counts, periods in simulated(specs.histogram(mechanism), values, f"bins{buckets}"):
        for found, within in ((hits, periods), (naive, None)):
            answer = estimate_distribution([(spec, counts)], quantiles=(), periods=within)
            bars = zip(answer.shares, truth, strict=True)
            found.append([bar.low <= share <= bar.high for bar, share in bars])
        mended = estimate_distribution([(spec, counts)], quantiles=(), periods=periods).mean
        means.append(mended.low <= truth @ [0.125, 0.375, 0.625, 0.875] <= mended.high)
    assert np.mean(hits) > 0.92
    assert np.mean(means) > 0.9
    assert np.mean(naive) < 0.88


def test_a_histogram_is_known_no_better_than_from_the_fewest_devices_there_may_be():
    spec = specs.histogram(SquareWave.for_epsilon(8, Fraction(6)))
    generator = np.random.default_rng(5)
    counts = generator.multinomial(6_000, np.full(tally_for(spec).cells, 1 / tally_for(spec).cells))
    widths = []
    for days in (1, 30):
        periods = {spec.digest: dict.fromkeys(range(days), 6_000 // days)}
        found = estimate_distribution([(spec, counts)], quantiles=(), periods=periods)
        widths.append(found.shares[3].high - found.shares[3].low)
    assert widths[1] > 2.5 * widths[0]
