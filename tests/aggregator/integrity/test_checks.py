"""Checks of reports: silent on honest ones, loud on fakes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import special

from deniable_aggregator.answering.integrity.examiner import ALARM_P
from deniable_aggregator.counting.statistics.checks import MEANINGS, ones_distribution
from deniable_aggregator.counting.statistics.outcomes import channel
from deniable_aggregator.counting.statistics.tail_bounds import (
    bennett_bound,
    binomial_at_least,
    binomial_at_most,
    evenness_test,
    most_extreme_counts,
)
from deniable_aggregator.counting.tallies import base, tally_for
from deniable_shared.mechanisms import (
    DBitFlip,
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    MemoizedDBitFlip,
    MemoizedOneBitMean,
    MemoizedRandomizedResponse,
    MemoizedUnaryEncoding,
    OneBitMean,
    Piecewise,
    Rappor,
    SampledAttribute,
    SampledCoefficients,
    SquareWave,
    Support,
)
from deniable_shared.mechanisms.oracles.grr import GeneralizedRandomizedResponse
from deniable_shared.mechanisms.oracles.rr import RandomizedResponse
from deniable_shared.mechanisms.oracles.unary import OptimizedUnaryEncoding
from tests.aggregator.fakes import bits_of_oue, checks_of, honest_payload, padded_fakes
from tests.aggregator.simulated import items, spec_of
from tests.privacy.specs import attribute, category, histogram, number, record, sketch, string

pytestmark = pytest.mark.audit

SIZE = 64


def found(spec, payload):
    tally = tally_for(spec)
    reports, stored = tally.fold(payload)
    return {check.name: check.p for check in checks_of(tally, stored, reports)}


def metrics():
    one, two = Fraction(1), Fraction(2)
    oracles = [
        spec_of(name, 12, 1) for name in ("grr", "oue", "sue", "olh", "ss", "pgr", "ht", "rhr")
    ]
    return [
        *oracles,
        spec_of("oue", 100, 4),
        category(items(12), MemoizedUnaryEncoding.for_epsilons(12, one, two)),
        category(items(12), MemoizedRandomizedResponse.for_epsilons(12, one, two)),
        string(sketch("oue", 2, rows=8, buckets=32)),
        string(sketch("ht", 2, rows=8, buckets=32)),
        string(sketch("pgr", 2, rows=8, buckets=13)),
        string(Rappor.for_epsilons(two, Fraction(4), bits=32, hashes=2, cohorts=8)),
        record(
            SampledAttribute(
                (
                    OptimizedUnaryEncoding.for_epsilon(6, one),
                    GeneralizedRandomizedResponse.for_epsilon(3, one),
                    RandomizedResponse.for_epsilon(2, one),
                )
            ),
            attribute("one", "a b c d e f"),
            attribute("two", "x y z"),
            attribute("three"),
        ),
        record(SampledCoefficients.for_epsilon(4, one), *(attribute(name) for name in "abcd")),
        histogram(SquareWave.for_epsilon(16, one)),
        histogram(DBitFlip.for_epsilon(12, one, 4)),
        histogram(MemoizedDBitFlip.for_epsilons(12, one, two, 4)),
        number(OneBitMean.for_epsilon(one)),
        number(MemoizedOneBitMean.for_epsilons(one, two, 16)),
        number(Piecewise.for_epsilon(one)),
        number(Hybrid.for_epsilon(two)),
        number(DiscreteLaplace.for_epsilon(one)),
        number(DiscreteGaussian.for_epsilon(one, Fraction(1, 10**6))),
    ]


def named(spec):
    return f"{spec.mechanism.name}-{getattr(spec.mechanism, 'size', '')}"


@pytest.mark.parametrize("reports", [1, 30, 3_000])
@pytest.mark.parametrize("spec", metrics(), ids=named)
def test_what_the_shipped_client_sends_passes_every_check(spec, reports):
    """Honest reports fail one of these with a probability below 1.4e-5 each."""
    checks = found(spec, honest_payload(spec, reports))
    assert checks
    assert set(checks) <= set(MEANINGS)
    made = [p for p in checks.values() if p is not None]
    # One report on a record is about one attribute: the others are not checked.
    assert len(made) == len(checks) or (spec.type == "attributes" and reports == 1)
    assert min(made) > ALARM_P


@pytest.mark.slow
@pytest.mark.parametrize("reports", [20, 400, 20_000])
@pytest.mark.parametrize("concentrated", [True, False])
def test_honest_reports_fail_no_more_often_than_the_p_value_says(reports, concentrated):
    """400 sets of reports: a p-value of 0.05 comes up in at most 5% of them (40 is 4.5 sd more).

    Of 1,600 checks two alarms or more have a probability of 2e-4.
    """
    generator = np.random.default_rng(reports)
    spec = spec_of("oue", 16, 1)
    shares = np.eye(16)[3] if concentrated else generator.dirichlet(np.ones(16))
    low, alarms = dict.fromkeys(("bounds", "pairs", "sizes", "sum"), 0), 0
    for _ in range(400):
        bits = bits_of_oue(spec, generator.choice(16, reports, p=shares), generator)
        for name, p in found(spec, np.packbits(bits, axis=1).tobytes()).items():
            low[name] += p <= 0.05
            alarms += p < ALARM_P
    assert max(low.values()) <= 40
    assert alarms <= 1


@pytest.mark.slow
@pytest.mark.parametrize("spec", metrics(), ids=named)
def test_no_mechanism_of_the_shipped_client_alarms_more_often_than_the_p_value_says(spec):
    """200 days of 200 devices each: p-values of 0.05 come up in 10 of them at most, on average.

    For one check 26 would be as rare as 1e-5, and two alarms in all as rare as 6e-5.
    """
    low, alarms = {}, 0
    for run in range(200):
        for name, p in found(spec, honest_payload(spec, 200, run)).items():
            low[name] = low.get(name, 0) + (p <= 0.05)
            alarms += p < ALARM_P
    assert max(low.values()) < 26
    assert alarms <= 1


@pytest.mark.parametrize(
    ("padding", "loud", "silent"),
    [
        ("none", {"sizes", "sum", "pairs"}, set()),
        ("mean", {"sizes", "pairs"}, {"bounds", "sum"}),
        ("law", {"pairs"}, {"bounds", "sizes", "sum"}),
    ],
)
def test_two_percent_of_fakes_that_promote_five_items_are_seen(padding, loud, silent):
    """30,000 reports of OUE at epsilon 1 over 64 items: every pair of targets is 9 sd too often.

    Fakes that have as many ones as the average report are seen by that very number, and those whose
    number of ones is drawn as it should be still by the pairs.
    """
    generator = np.random.default_rng(41)
    spec = spec_of("oue", SIZE, 1)
    shares = 1 / np.arange(1, SIZE + 1)
    held = generator.choice(SIZE, 29_400, p=shares / shares.sum())
    honest = bits_of_oue(spec, held, generator)
    fakes = padded_fakes(spec, 600, range(5), padding, generator)
    checks = found(spec, np.packbits(np.vstack([honest, fakes]), axis=1).tobytes())
    assert all(checks[name] < ALARM_P for name in loud)
    assert all(checks[name] > ALARM_P for name in silent)


def test_input_poisoning_passes_every_check():
    """Devices that lie about what they hold send what honest holders of it would."""
    generator = np.random.default_rng(43)
    spec = spec_of("oue", SIZE, 1)
    held = np.concatenate([generator.integers(0, SIZE, 20_000), np.zeros(5_000, int)])
    checks = found(spec, np.packbits(bits_of_oue(spec, held, generator), axis=1).tobytes())
    assert min(checks.values()) > ALARM_P


def fakes_of(spec, count):
    """As many times one report that says the most."""
    name, inner = spec.mechanism.name, getattr(spec.mechanism, "inner", None)
    width = spec.mechanism.report_bytes
    if name == "sketch":
        full = bytes(inner.report_bytes) if inner.name != "oue" else bytes([0xFF] * (width - 2))
        return (b"\x00\x01" + full) * count
    if name == "rappor":
        return (b"\x00\x03" + bytes([0xFF] * (width - 2))) * count
    if name == "dbitflip":
        return (b"\x00\x03" + bytes([0xF0])) * count
    return (bytes(width - 1) + b"\x01") * count


@pytest.mark.parametrize(
    ("spec", "check"),
    [
        (spec_of("olh", 12, 1), "seeds"),
        (spec_of("ht", 12, 1), "groups"),
        (spec_of("rhr", 60, 1), "groups"),
        (spec_of("pgr", 100, 1), "bounds"),
        (string(sketch("oue", 2, rows=8, buckets=32)), "groups"),
        (string(sketch("oue", 2, rows=8, buckets=32)), "sizes"),
        (string(sketch("ht", 2, rows=8, buckets=32)), "groups"),
        (string(Rappor.for_epsilons(Fraction(2), Fraction(4), bits=32, cohorts=8)), "groups"),
        (string(Rappor.for_epsilons(Fraction(2), Fraction(4), bits=32, cohorts=8)), "sizes"),
        (histogram(DBitFlip.for_epsilon(12, Fraction(1), 4)), "groups"),
        (
            record(SampledCoefficients.for_epsilon(4, Fraction(1)), *map(attribute, "abcd")),
            "groups",
        ),
        (number(DiscreteLaplace.for_epsilon(Fraction(1))), "bounds"),
    ],
    ids=lambda each: each if isinstance(each, str) else named(each),
)
def test_the_same_report_over_and_over_is_seen(spec, check):
    """A tenth of 5,000 reports; the check that sees it is named."""
    payload = honest_payload(spec, 4_500) + fakes_of(spec, 500)
    assert found(spec, payload)[check] < ALARM_P


def test_what_was_counted_before_its_structure_is_not_judged_by_it():
    spec = spec_of("oue", 12, 1)
    tally = tally_for(spec)
    payload = honest_payload(spec, 200)
    reports, stored = tally.fold(payload)
    older = stored.copy()
    older[tally.cells :] = 0
    checks = {each.name: each.p for each in checks_of(tally, older, reports)}
    assert checks["sizes"] is None
    assert checks["pairs"] is None
    assert checks["sum"] is not None
    mixed = {each.name: each.p for each in checks_of(tally, stored + older, 2 * reports)}
    assert mixed["sizes"] is None


@pytest.mark.parametrize("size", [5, 64, 65, 600, 1_030])
def test_structures_add_and_pairs_are_what_counting_one_by_one_gives(size):
    spec = spec_of("oue", size, 1)
    tally = tally_for(spec)
    bits = np.random.default_rng(size).random((300, size)) < 0.3
    reports, stored = tally.fold(np.packbits(bits, axis=1).tobytes())
    halves = [tally.fold(np.packbits(half, axis=1).tobytes())[1] for half in np.split(bits, 2)]
    assert (sum(halves) == stored).all()
    sizes, pairs = tally.diagnostics.parts
    edges = np.concatenate([[0], np.cumsum(pairs.lengths)])
    runs = np.add.reduceat(bits.astype(np.int64), edges[:-1], axis=1)
    gram = runs.T @ runs
    beside = stored[tally.cells :]
    assert (beside[sizes.cells :] == gram[pairs.rows, pairs.columns]).all()
    assert beside[: sizes.cells].sum() == reports == 300
    assert stored.size == tally.stored_cells


def test_tails_are_those_of_the_binomial_distribution():
    law = ones_distribution(20, 0, Support(0.9, 0.3))
    counts = np.arange(-1, 22)
    below = np.array([law[: max(k + 1, 0)].sum() for k in counts])
    above = np.array([law[max(k, 0) :].sum() for k in counts])
    assert binomial_at_most(counts, 20, 0.3) == pytest.approx(below, abs=1e-12)
    assert binomial_at_least(counts, 20, 0.3) == pytest.approx(above, abs=1e-12)


def test_what_lies_within_the_bounds_is_never_odd():
    counts = np.array([[300, 400, 500], [300, 400, 600]])
    within, rarest = zip(*most_extreme_counts(counts, 1_000, 0.3, 0.5), strict=True)
    assert within == (1.0, 0)
    assert (rarest[0] < 1e-8, rarest[1]) == (True, 2)


def test_the_most_extreme_count_of_each_slice_is_the_one_with_the_least_tail():
    """Every tail by itself; counts within three standard deviations of their bounds are not odd."""
    generator = np.random.default_rng(61)
    counts = generator.integers(0, 60, (300, 4, 5))
    counts[:100] = generator.binomial(60, 0.3, (100, 4, 5))
    trials = np.maximum(60 + generator.integers(0, 3, (300, 4, 1)), counts)
    low, high = np.sort(generator.uniform(0.1, 0.5, (2, 5)), axis=0)
    found = most_extreme_counts(counts, trials, low, high)
    for p, place, row, of in zip(*found, counts, trials, strict=True):
        tails = {}
        for at in np.ndindex(row.shape):
            count, n, lowest, highest = row[at], of[at], low[at[1]], high[at[1]]
            if lowest * n - count > 3 * np.sqrt(n * lowest * (1 - lowest)):
                tails[at] = special.bdtr(count, n, lowest)
            if count - highest * n > 3 * np.sqrt(n * highest * (1 - highest)):
                tails[at] = special.bdtrc(count - 1, n, highest)
        least = min(tails.values(), default=1.0)
        assert p == pytest.approx(min(1.0, 2 * row.size * least), rel=1e-9)
        if tails:
            assert tails[np.unravel_index(place, row.shape)] == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("spec", metrics(), ids=named)
def test_slices_that_are_checked_together_do_not_know_of_each_other(spec, monkeypatch):
    """Honest, forged, small, and without diagnostics: each as if it were checked alone."""
    tally = tally_for(spec)
    one = honest_payload(spec, 1)
    payloads = [one, honest_payload(spec, 300), honest_payload(spec, 90) + 40 * one, 30 * one]
    reports, stored = map(np.array, zip(*map(tally.fold, payloads), strict=True))
    older = np.where(np.arange(tally.stored_cells) < tally.cells, stored[1], 0)
    stored, reports = np.vstack([stored, older]), np.append(reports, reports[1])
    alone = [checks_of(tally, *each) for each in zip(stored, reports, strict=True)]
    together = tally.checks(stored, reports)
    assert [
        list(each) for each in zip(*(check.as_checks() for check in together), strict=True)
    ] == alone
    monkeypatch.setattr(base, "CHECKED_CELLS", 2 * tally.stored_cells)
    in_parts = tally.checks(stored, reports)
    for whole, part in zip(together, in_parts, strict=True):
        assert whole.as_checks() == part.as_checks()
        assert whole.take(np.array([3, 1])).as_checks() == [
            whole.as_checks()[3],
            whole.as_checks()[1],
        ]


def test_a_single_place_and_all_together_may_be_uneven():
    generator = np.random.default_rng(47)
    even = generator.multinomial(100_000, np.full(50, 0.02))
    wave = 0.02 * (1 + 0.07 * np.where(np.arange(50) % 2, 1, -1))
    wavy = generator.multinomial(100_000, wave)
    few = np.array([40] + 49 * [0])
    found = evenness_test(np.array([even, wavy, few])).p
    assert (found < ALARM_P).tolist() == [False, True, True]
    squares = ((wavy - 2_000) ** 2 / 2_000).sum()
    assert found[1] == pytest.approx(2 * special.chdtrc(49, squares))


def test_bennetts_bound_is_above_the_tail_of_coins():
    for reports in (20, 1_000, 10**6):
        counts = np.arange(0, reports + 1, max(1, reports // 1_000))
        deviation = counts - 0.2 * reports
        bound = bennett_bound(deviation, reports * 0.16, 0.8)
        tail = np.where(
            deviation > 0,
            binomial_at_least(counts, reports, 0.2),
            binomial_at_most(counts, reports, 0.2),
        )
        assert (bound >= tail * (1 - 1e-9)).all()


@pytest.mark.parametrize("bins", [16, 3])
def test_bounds_of_outcomes_are_those_of_the_channel(bins):
    mechanism = SquareWave.for_epsilon(bins, Fraction(1, 2))
    low, high = mechanism.outcome_bounds()
    matrix = channel(mechanism)
    assert low == pytest.approx(matrix.min(axis=1))
    assert high == pytest.approx(matrix.max(axis=1))
