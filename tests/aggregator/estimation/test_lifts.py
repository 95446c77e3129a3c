"""Lifts of pairs of flags: from reports, and from tallies drawn from their exact distribution."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_shared.mechanisms import SampledAttribute, SampledCoefficients
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.answered import as_json
from tests.aggregator.served import numbers
from tests.privacy.specs import attribute, record

pytestmark = pytest.mark.audit

REPETITIONS = 400
FOUR_SIGMA = 4 * np.sqrt(0.05 * 0.95 / REPETITIONS)

PAIRS = ["a=true & b=true", "a=true & c=true", "b=true & c=true"]
# P(a), P(b) and P(a and b); c is independent of both, half of all devices.
TOGETHER = (0.4, 0.3, 0.19)


def flags(count, epsilon):
    mechanism = SampledCoefficients.for_epsilon(count, Fraction(epsilon))
    return record(mechanism, *map(attribute, "abcdefgh"[:count]))


def population(first, second, both):
    """The share of each record of three flags: float64, (8,)."""
    of_two = np.array([1 - first - second + both, second - both, first - both, both])
    return np.outer(of_two, [0.5, 0.5]).ravel()


def drawn(spec, held, generator):
    """A tally of devices of which `held[r]` have record r, their flags read as binary digits."""
    mechanism, lie = spec.mechanism, spec.mechanism.inner.support.q
    coefficients = mechanism.coefficients
    records = np.array([*itertools.product((0, 1), repeat=mechanism.attributes)])
    of = np.array([[at in each for at in range(mechanism.attributes)] for each in coefficients])
    parity = (records @ of.T) % 2
    asked = generator.multinomial(held, np.full(len(of), 1 / len(of)))
    lies = generator.binomial(asked, lie)
    ones = np.where(parity, asked - lies, lies).sum(axis=0)
    counts = np.stack([asked.sum(axis=0) - ones, ones], axis=1)
    return counts.ravel()


def lifts_of(tallies, items=None, **options):
    return estimate_shares(tallies, items, EstimateOptions(**options)).lifts[1]


def whole(population_shares, devices):
    return np.round(population_shares * devices).astype(np.int64)


def test_flags_that_go_together_exclude_each_other_or_tell_nothing():
    generator = np.random.default_rng(1)
    for both, expected in ((0.19, 1.58), (0.03, 0.25)):
        held = whole(population(0.4, 0.3, both), 200_000)
        first, independent, _ = lifts_of([(flags(3, 2), drawn(flags(3, 2), held, generator))])
        assert first.values == ("a=true", "b=true")
        assert first.low < first.estimate < first.high
        assert first.estimate == pytest.approx(expected, abs=5 * first.standard_error)
        assert first.expected == pytest.approx(0.12, abs=0.02)
        assert (first.both > first.expected) == (expected > 1)
        assert (first.told, independent.told) == (True, False)


def test_a_lift_over_a_share_that_may_be_zero_is_left_out_with_the_reason():
    held = whole(population(0.4, 0.0, 0.0), 5_000)
    counts = drawn(flags(3, 2), held, np.random.default_rng(2))
    rare, common, _ = lifts_of([(flags(3, 2), counts)])
    assert (rare.estimate, rare.low, rare.high, rare.shift_if_fake) == (None,) * 4
    assert rare.told is False
    assert "the share of b=true is too close to zero" in rare.reason
    assert common.reason is None
    assert common.estimate == pytest.approx(1, abs=5 * common.standard_error)


def test_lifts_are_of_the_pairs_asked_for_and_intervals_widen_with_their_number():
    counts = drawn(flags(3, 2), whole(population(*TOGETHER), 90_000), np.random.default_rng(3))
    tally = [(flags(3, 2), counts)]
    asked = "a=true & b=true"
    (only,) = lifts_of(tally, [asked, "b=true & c=false", "a=true"])
    every = lifts_of(tally)
    assert [each.values for each in every] == [
        ("a=true", "b=true"),
        ("a=true", "c=true"),
        ("b=true", "c=true"),
    ]
    assert (only.estimate, only.ends, only.p_value) == (
        *(every[0].estimate, every[0].ends, every[0].p_value),
    )
    assert lifts_of(tally, interval="all")[0].high > every[0].high
    assert lifts_of(tally, [asked], interval="all")[0].high == every[0].high
    assert estimate_shares(tally, ["a=true"]).lifts is None


def test_metrics_that_do_not_observe_pairs_have_no_lifts():
    three = flags(3, 2)
    spec = record(SampledAttribute(inner=three.mechanism.oracles), *three.attributes)
    answer = as_json(answer_of(estimate_shares([(spec, np.full(6, 50))])))
    assert not numbers(answer, "lift")
    assert "lift" not in answer["head"].get("meanings", {})


def test_an_answer_carries_the_lifts_and_what_they_are():
    counts = drawn(flags(3, 2), whole(population(*TOGETHER), 90_000), np.random.default_rng(4))
    answer = as_json(answer_of(estimate_shares([(flags(3, 2), counts)])))
    lifts = numbers(answer, "lift")
    assert [each["reports"] for each in lifts] == [90_000] * 3
    assert "Benjamini-Hochberg" in answer["head"]["meanings"]["lift"]


def test_fake_reports_move_a_lift_as_far_as_said_and_no_farther():
    spec, fakes = flags(3, 2), 1_000
    counts = drawn(spec, whole(population(*TOGETHER), 99_000), np.random.default_rng(5))
    honest = lifts_of([(spec, counts)])[0]
    moves = []
    for outcome in range(spec.mechanism.outcomes):
        forged = counts.copy()
        forged[outcome] += fakes
        moves.append(abs(lifts_of([(spec, forged)])[0].estimate - honest.estimate))
    assert 0.8 * honest.shift_if_fake < max(moves) <= honest.shift_if_fake + 1e-9


@pytest.mark.statistics
@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
@pytest.mark.parametrize(("epsilon", "devices"), [(2, 20_000), (4, 500)])
def test_intervals_and_errors_of_lifts_are_as_stated(margin, epsilon, devices):
    """400 repetitions and three pairs, with many reports and with 80 a coefficient.

    Misses are within 4 standard deviations of 5%; with many reports the mean square of the errors
    in standard errors is 1, which errors 0.7 and 1.3 times as large would miss by far.
    """
    spec, generator = flags(3, epsilon), np.random.default_rng(6)
    shares = population(*TOGETHER)
    truth = np.array([TOGETHER[2] / (TOGETHER[0] * TOGETHER[1]), 1, 1])
    missed, rejected, errors = np.zeros(3), np.zeros(3), []
    for _ in range(REPETITIONS):
        drawn_devices = margin == "noise-and-sampling"
        held = generator.multinomial(devices, shares) if drawn_devices else whole(shares, devices)
        found = lifts_of([(spec, drawn(spec, held, generator))], PAIRS, margin=margin)
        rows = np.array([(e.low, e.estimate, e.high, e.standard_error, e.p_value) for e in found]).T
        missed += (truth < rows[0]) | (rows[2] < truth)
        rejected += rows[4] <= 0.05
        errors.append((rows[1] - truth) / rows[3])
    assert missed.max() / REPETITIONS < 0.05 + FOUR_SIGMA
    assert rejected[1:].max() / REPETITIONS < 0.05 + FOUR_SIGMA
    if devices > 1_000:
        assert rejected[0] == REPETITIONS
        assert missed.min() / REPETITIONS > 0.05 - FOUR_SIGMA

        def fits(factor):
            squares = np.mean((factor * np.array(errors)) ** 2, axis=0)
            return np.abs(squares - 1) < 4 * np.sqrt(2 / REPETITIONS)

        assert fits(1.0).all()
        assert not fits(0.7).any()
        assert not fits(1.3).any()


@pytest.mark.statistics
@pytest.mark.parametrize("margin", ["noise", "noise-and-sampling"])
def test_a_lift_is_over_the_reports_of_all_versions_that_ask_for_both_flags(margin):
    """The newer version asks for one flag more, and its devices hold other values.

    If the devices are fixed, so is the lift; else each report is drawn from its version's devices.
    """
    old, new = flags(3, 2), flags(4, 1)
    alone = record(SampledAttribute(inner=old.mechanism.oracles), *old.attributes)
    shares = population(*TOGETHER), np.outer(population(0.2, 0.5, 0.05), [0.9, 0.1]).ravel()
    devices, generator, missed = (20_000, 60_000), np.random.default_rng(7), 0
    first, second, both = (np.array(TOGETHER) + 3 * np.array((0.2, 0.5, 0.05))) / 4
    for _ in range(REPETITIONS):
        tallies = [(alone, np.full(6, 100))]
        for spec, held, count in zip((old, new), shares, devices, strict=True):
            drawn_devices = margin == "noise-and-sampling"
            some = generator.multinomial(count, held) if drawn_devices else whole(held, count)
            tallies.append((spec, drawn(spec, some, generator)))
        known, newer = lifts_of(tallies, [PAIRS[0], "a=true & d=true"], margin=margin)
        assert (known.reports, newer.reports) == (80_000, 60_000)
        missed += not known.low <= both / (first * second) <= known.high
    assert abs(missed / REPETITIONS - 0.05) < FOUR_SIGMA


@pytest.mark.statistics
def test_of_pairs_that_are_independent_hardly_ever_one_is_called_clear():
    spec, generator = flags(8, 2), np.random.default_rng(8)
    held = np.full(256, 400)
    found = [lifts_of([(spec, drawn(spec, held, generator))]) for _ in range(100)]
    clear = sum(any(each.told for each in lifts) for lifts in found)
    assert clear <= 5 + 5 * np.sqrt(100 * 0.05 * 0.95)
    assert sum(any(each.p_value <= 0.05 for each in lifts) for lifts in found) > 50
