"""Every kind of interval covers as often as it says, within Monte Carlo error."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.simulated import drawn, holders, spec_of

pytestmark = pytest.mark.audit

SIZE, REPORTS, REPETITIONS = 500, 20_000, 300


@pytest.fixture(scope="module")
def setting():
    spec = spec_of("oue", SIZE, 1)
    held = holders(REPORTS, SIZE, 1.5)
    generator = np.random.default_rng(7)
    tallies = [drawn(spec, held, generator) for _ in range(REPETITIONS)]
    truth = dict(zip(spec.values, held / held.sum(), strict=True))
    return spec, truth, tallies


def covered(setting, options):
    """For every repetition, which of the intervals shown cover."""
    spec, truth, tallies = setting
    found = []
    for counts in tallies:
        answer = estimate_shares([(spec, counts)], None, options)
        actual = np.array([truth[item] for item in answer.items])
        found.append((answer.low <= actual) & (actual <= answer.high))
    return found


@pytest.mark.statistics
def test_an_interval_by_itself_covers_with_its_level(setting):
    """150,000 intervals; the standard error of the coverage is below 0.001."""
    assert np.mean(covered(setting, EstimateOptions())) == pytest.approx(0.95, abs=0.004)


@pytest.mark.statistics
def test_simultaneous_intervals_cover_all_at_once(setting):
    """300 times all 500; the standard error is 0.013."""
    at_once = np.mean([each.all() for each in covered(setting, EstimateOptions(interval="all"))])
    assert at_once == pytest.approx(0.95, abs=0.045)
    assert np.mean([each.all() for each in covered(setting, EstimateOptions())]) == 0


@pytest.mark.statistics
@pytest.mark.parametrize("options", [{"top": 25}, {"detected": True}])
def test_after_selection_naive_intervals_fail_and_selected_ones_do_not(setting, options):
    naive = covered(setting, EstimateOptions(**options, interval="one"))
    selected = covered(setting, EstimateOptions(**options))
    misses = [np.mean(~each) if each.size else 0.0 for each in selected]
    assert np.mean(misses) <= 0.05 + 3 * np.std(misses) / np.sqrt(REPETITIONS)
    if "top" in options:
        assert np.mean(naive) < 0.65  # instead of 0.95


@pytest.mark.statistics
def test_intervals_about_the_population_cover_it_and_those_about_devices_do_not():
    spec = spec_of("grr", 5, 4)
    generator = np.random.default_rng(11)
    truth = np.array([0.4, 0.3, 0.2, 0.08, 0.02])
    hits = {"noise": [], "noise-and-sampling": []}
    for _ in range(1_500):
        counts = drawn(spec, generator.multinomial(4_000, truth), generator)
        for margin, found in hits.items():
            answer = estimate_shares([(spec, counts)], None, EstimateOptions(margin=margin))
            found.append((answer.low <= truth) & (truth <= answer.high))
    assert np.mean(hits["noise-and-sampling"]) == pytest.approx(0.95, abs=0.01)
    assert np.mean(hits["noise"]) < 0.75


@pytest.mark.statistics
@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
def test_few_reports_get_exact_intervals_and_these_cover(margin):
    spec = spec_of("grr", 100, 4)
    generator = np.random.default_rng(13)
    share = holders(150, 100, 1.0) / 150
    hits = []
    for _ in range(400):
        drawn_devices = margin == "noise-and-sampling"
        held = generator.multinomial(150, share) if drawn_devices else holders(150, 100, 1.0)
        answer = estimate_shares(
            [(spec, drawn(spec, held, generator))], None, EstimateOptions(margin=margin)
        )
        assert answer.exact.all()
        hits.append((answer.low <= share + 1e-12) & (share - 1e-12 <= answer.high))
    assert np.mean(hits) >= 0.95


@pytest.mark.statistics
@pytest.mark.parametrize("reports", [(150, 450), (150, 45_000), (20_000, 40_000)])
def test_combined_specs_cover_too_whether_or_not_some_are_exact(reports):
    specs = [spec_of("grr", 100, 4), spec_of("oue", 100, 2)]
    held = [holders(min(reports), 100, 1.0)] * 2
    held[1] = held[1] * (reports[1] // reports[0])  # devices of all specs are alike
    truth = held[0] / held[0].sum()
    generator = np.random.default_rng(17)
    hits, errors, stated = [], [], []
    for _ in range(300):
        tallies = [
            (spec, drawn(spec, each, generator)) for spec, each in zip(specs, held, strict=True)
        ]
        answer = estimate_shares(tallies)
        hits.append((answer.low <= truth + 1e-12) & (truth - 1e-12 <= answer.high))
        errors.append(answer.share - truth)
        stated.append(answer.standard_error**2)
    assert 0.945 < np.mean(hits) < 0.99
    deviations = np.mean(errors, axis=0) / np.sqrt(np.mean(stated, axis=0) / 300)
    assert np.abs(deviations).max() < 4.5  # unbiased
    ratio = np.mean(np.square(errors), axis=0) / np.mean(stated, axis=0)
    # With few reports, variances at estimates that are clipped at 0 are a little too large.
    assert 0.8 < ratio.mean() < 1.06


@pytest.mark.statistics
@pytest.mark.parametrize("reports", [(150, 450), (20_000, 40_000)])
def test_combined_specs_cover_after_selection_too(reports):
    specs = [spec_of("grr", 100, 4), spec_of("oue", 100, 2)]
    held = holders(reports[0], 100, 0.1)
    truth = dict(zip(specs[0].values, held / held.sum(), strict=True))
    generator = np.random.default_rng(23)
    misses = {None: [], "one": []}
    for _ in range(300):
        both = zip(specs, (held, held * (reports[1] // reports[0])), strict=True)
        tallies = [(spec, drawn(spec, devices, generator)) for spec, devices in both]
        for interval, found in misses.items():
            answer = estimate_shares(tallies, None, EstimateOptions(top=10, interval=interval))
            actual = np.array([truth[item] for item in answer.items]) + 1e-12
            found.append(np.mean((answer.low > actual) | (actual > answer.high + 2e-12)))
    assert np.mean(misses[None]) <= 0.05 + 3 * np.std(misses[None]) / np.sqrt(300)
    assert np.mean(misses["one"]) > 0.1


def test_weights_that_follow_the_data_would_be_biased():
    """Few reports at a large epsilon: inverse variance at the estimates favours low ones."""
    held, reports, repetitions = 12, 40, 50_000
    generator = np.random.default_rng(19)
    shares, variances, fixed = [], [], []
    for name in ("oue", "sue"):
        support = spec_of(name, 10, 4).mechanism.support
        counts = generator.binomial(held, support.p, repetitions)
        counts += generator.binomial(reports - held, support.q, repetitions)
        shares.append(support.share(counts, reports))
        variances.append(support.variance(np.clip(shares[-1], 0, 1), reports))
        fixed.append(support.variance(0.0, reports))
    combined = np.average(shares, axis=0, weights=1 / np.array(fixed))
    naive = np.average(shares, axis=0, weights=1 / np.array(variances))
    error = np.std(combined) / np.sqrt(repetitions)
    assert abs(np.mean(combined) - held / reports) < 4 * error
    assert np.mean(naive) < held / reports - 10 * error


def test_the_exact_interval_of_an_absent_item_contains_its_estimate():
    spec = spec_of("grr", 100, 4)
    counts = np.zeros(100, np.int64)
    counts[0] = 50
    answer = estimate_shares([(spec, counts)])
    assert answer.share[5] < 0
    assert (answer.low <= answer.share).all()
    assert (answer.share <= answer.high).all()
    assert {row.method for row in answer_of(answer).of("share")} == {"exact"}


@pytest.mark.statistics
def test_intervals_keep_their_level_where_the_variance_depends_on_the_share():
    """With the variance at the estimate they would cover 0.957; the standard error is 0.0007."""
    reports, spec = 4_000, spec_of("oue", SIZE, 4)
    held = np.zeros(SIZE, np.int64)
    held[0] = reports
    generator = np.random.default_rng(17)
    hits, plain = [], []
    for _ in range(200):
        answer = estimate_shares([(spec, drawn(spec, held, generator))])
        assert not answer.exact.any()
        hits.append((answer.low <= held / reports) & (held / reports <= answer.high))
        plain.append(np.abs(answer.share - held / reports) <= 1.96 * answer.standard_error)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.003)
    assert np.mean(plain) > 0.953
