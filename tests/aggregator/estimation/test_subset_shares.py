"""Shares of sets of items: unbiased, with the variance that their covariances give."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    ProjectiveGeometryResponse,
    Rappor,
    RecursiveHadamardResponse,
)
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.answered import as_json
from tests.aggregator.served import number
from tests.aggregator.simulated import drawn, holders, items, spec_of
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.specs import category, sketch, string
from tests.privacy.walking import distribution

pytestmark = pytest.mark.audit

REPETITIONS = 500
"""Their mean square has a standard deviation of 6.3%: the limits are four of them away."""


def neighbours_in_space():
    """256 items at epsilon 2, of which 64 neighbours lie in a plane.

    Their sum has 0.58 times the variance of the sum of 64 items drawn at random.
    """
    return category(items(256), ProjectiveGeometryResponse.for_epsilon(256, Fraction(2)))


CASES = {
    "grr": spec_of("grr", 10, 1),
    "oue": spec_of("oue", 10, 1),
    "sue": spec_of("sue", 10, 1),
    "ss": spec_of("ss", 10, 1),
    "ht": spec_of("ht", 10, 1),
    "olh": spec_of("olh", 10, 1),
    "pgr": neighbours_in_space(),
    "sketch over oue": string(sketch("oue", 2, rows=64, buckets=8)),
    "sketch over grr": string(sketch("grr", 2, rows=64, buckets=8)),
}


@pytest.fixture(scope="module", params=CASES)
def outcomes(request):
    """Errors of a sum, and the standard errors stated for it; by the shipped client."""
    spec = CASES[request.param]
    names = spec.values or items(10).split()
    held = holders(120, len(names), 0.7)
    values = [name for name, count in zip(names, held.tolist(), strict=True) for _ in range(count)]
    added = names[1 : 1 + max(4, len(names) // 4)]
    truth = sum(held[1 : 1 + len(added)]) / len(values)
    randomizer, tally = randomizer_for(spec, seeded(request.param)), tally_for(spec)
    encoded = [spec.encode(value) for value in values]
    secret = secret_of(1)
    errors, stated = [], []
    for _ in range(REPETITIONS):
        counts = tally.count(b"".join(randomizer.report(item, secret) for item in encoded))
        found = estimate_shares([(spec, counts)], add=added).combined
        errors.append(found.share - truth)
        stated.append(found.standard_error)
    return np.array(errors), np.array(stated)


def fits(outcomes, claimed):
    errors, stated = outcomes
    return abs(np.mean(errors**2) / np.mean((claimed * stated) ** 2) - 1) < 0.25


def test_the_variance_of_a_sum_is_right_and_no_other(outcomes):
    assert fits(outcomes, 1.0)
    assert not fits(outcomes, 0.7)
    assert not fits(outcomes, 1.3)


def test_a_sum_is_unbiased(outcomes):
    errors, _ = outcomes
    assert abs(errors.mean()) < 4.5 * errors.std() / np.sqrt(REPETITIONS)


@pytest.mark.statistics
def test_the_error_of_a_sum_contains_that_of_the_hash_family():
    """16 rows of 16 buckets at epsilon 8: collisions dominate, also those within the sum."""
    spec = string(sketch("sue", 8, rows=16, buckets=16))
    held = np.full(30, 20)
    names = [f"held {index}" for index in range(held.size)]
    values = [name for name, count in zip(names, held, strict=True) for _ in range(count)]
    truth = held[:10].sum() / len(values)
    randomness, scores, noise = seeded("family"), [], []
    for repetition in range(300):
        family = replace(spec, name=f"text{repetition}")
        randomizer, tally = randomizer_for(family, randomness), tally_for(family)
        payload = b"".join(randomizer.report(family.encode(value), b"") for value in values)
        found = estimate_shares(
            [(family, tally.count(payload))], add=[*names[:10], "absent"]
        ).combined
        scores.append((found.share - truth) / found.standard_error)
        alone = spec.mechanism.inner.variance(0.0, len(values))
        noise.append(11 * alone / found.standard_error**2)
    assert np.mean(noise) < 0.5  # most of the error is the family's
    assert 0.7 < np.mean(np.square(scores)) < 1.4


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "ss", "ht"])
def test_pair_probabilities_are_those_of_the_tally(name):
    """Every possible report is counted, and asked which two items it supports."""
    spec = spec_of(name, 6, 1)
    oracle, tally = spec.mechanism, tally_for(spec)
    both = {"own": [], "other": []}
    reports = possible_reports(spec)
    supported = {
        report: tally.shares(tally.count(report), spec.values).support_counts.supporting > 0
        for report in reports
    }
    for holder in range(6):
        chances = channel(spec, holder)
        for one, two in itertools.combinations(range(6), 2):
            chance = sum(
                chance for report, chance in chances.items() if supported[report][[one, two]].all()
            )
            both["own" if holder in (one, two) else "other"].append(float(chance))
    pairs = oracle.pair_support()
    assert np.allclose(both["own"], pairs.own, atol=1e-9)
    assert np.allclose(both["other"], pairs.other, atol=1e-9)


def channel(spec, item):
    return distribution(lambda walk: randomizer_for(spec, walk).report(item, secret_of(1)))


def possible_reports(spec):
    return channel(spec, 0)


def test_the_covariance_of_generalized_randomized_response_is_its_own():
    """-sum over x of n_x P(v|x) P(w|x), and a whole domain always sums to one."""
    spec = spec_of("grr", 5, 1)
    counts = drawn(spec, holders(1_000, 5, 1.0), np.random.default_rng(1))
    whole = estimate_shares([(spec, counts)], add=spec.values).combined
    assert whole.share == pytest.approx(1)
    assert whole.standard_error == pytest.approx(0, abs=1e-9)
    pair = estimate_shares([(spec, counts)], add=["i0", "i1"])
    independent = np.sqrt((pair.standard_error**2).sum())
    assert pair.combined.standard_error < independent


def test_a_sum_of_one_item_is_that_item():
    for spec in (spec_of("oue", 6, 1), spec_of("grr", 6, 4), spec_of("ss", 6, 1)):
        name = spec.mechanism.name
        held = holders(100, 6, 1.0)
        if name == "ss":
            randomizer = randomizer_for(spec, seeded("one"))
            payload = b"".join(
                randomizer.report(item, b"")
                for item, count in enumerate(held)
                for _ in range(count)
            )
            counts = tally_for(spec).count(payload)
        else:
            counts = drawn(spec, held, np.random.default_rng(2))
        for margin in ("noise", "noise-and-sampling"):
            answer = estimate_shares(
                [(spec, counts)], add=["i2"], options=EstimateOptions(margin=margin)
            )
            assert answer.combined.share == pytest.approx(answer.share[0])
            assert answer.combined.standard_error == pytest.approx(answer.standard_error[0])
            assert (answer.combined.low, answer.combined.high) == pytest.approx(
                (answer.low[0], answer.high[0])
            )


@pytest.mark.statistics
def test_the_interval_of_a_sum_covers_where_few_reports_are_expected():
    spec = spec_of("grr", 100, 5)
    held = holders(150, 100, 1.0)
    added = list(spec.values[1:8])
    truth = held[1:8].sum() / 150
    generator = np.random.default_rng(3)
    hits = []
    for _ in range(400):
        found = estimate_shares([(spec, drawn(spec, held, generator))], add=added).combined
        assert found.exact
        hits.append(found.low <= truth + 1e-12 <= found.high + 2e-12)
    assert np.mean(hits) > 0.93


def test_the_processed_sum_is_better_and_stands_beside_the_raw_one():
    spec, size, reports = spec_of("oue", 256, 1), 256, 20_000
    held = holders(reports, size, 1.5)
    generator = np.random.default_rng(4)
    raw, processed = [], []
    for _ in range(60):
        counts = drawn(spec, held, generator)
        tenth = generator.permutation(size)[:25]
        answer = estimate_shares([(spec, counts)], add=[spec.values[index] for index in tenth])
        truth = held[tenth].sum() / reports
        raw.append(answer.combined.share - truth)
        processed.append(answer.processed.combined - truth)
        data = as_json(answer_of(answer))
        together = number(data, "combined")
        assert together["adjusted"] == answer.processed.combined
        assert together["estimate"] == answer.combined.share
        assert data["head"]["postprocess"] == "norm-sub"
    assert np.mean(np.square(processed)) < 0.4 * np.mean(np.square(raw))


def test_a_sum_is_over_the_reports_of_every_version_that_knows_it():
    small, large = spec_of("grr", 4, 1), spec_of("oue", 6, 1)
    generator = np.random.default_rng(5)
    tallies = [
        (small, drawn(small, holders(1_000, 4, 1.0), generator)),
        (large, drawn(large, holders(3_000, 6, 1.0), generator)),
    ]
    both = estimate_shares(tallies, add=["i0", "i1"]).combined
    alone = [estimate_shares([tally], add=["i0", "i1"]).combined for tally in tallies]
    assert both.share == pytest.approx(alone[0].share / 4 + alone[1].share * 3 / 4)
    errors = [each.standard_error for each in alone]
    assert both.standard_error == pytest.approx(np.hypot(errors[0] / 4, errors[1] * 3 / 4))
    # No device with the smaller version can hold i5.
    late = estimate_shares(tallies, add=["i0", "i5"]).combined
    first = estimate_shares(tallies[:1], add=["i0"]).combined.share
    second = estimate_shares(tallies[1:], add=["i0", "i5"]).combined.share
    assert late.share == pytest.approx(first / 4 + second * 3 / 4)
    assert late.reports == both.reports == 4_000


def test_unknown_covariances_are_bounded_and_the_answer_says_so():
    spec = category(items(16), RecursiveHadamardResponse.with_bits(16, 3, Fraction(2)))
    counts = np.random.default_rng(6).integers(5, 15, tally_for(spec).cells)
    answer = estimate_shares([(spec, counts)], add=["i0", "i1", "i4"])
    assert answer.combined.standard_error == pytest.approx(answer.standard_error.sum())
    meaning = answer_of(answer).head.meanings["combined"]
    assert "largest that any could give" in meaning


def test_a_rappor_sum_uses_the_covariances_of_its_regression():
    spec = string(Rappor.for_epsilons(Fraction(3), Fraction(6), bits=32, hashes=1, cohorts=4))
    generator = np.random.default_rng(7)
    counts = np.column_stack([np.full(4, 500), generator.integers(150, 250, (4, 32))]).ravel()
    answer = estimate_shares([(spec, counts)], add=["a", "b", "c"])
    assert "reports themselves" in answer_of(answer).head.meanings["combined"]
    assert 0 < answer.combined.standard_error < answer.standard_error.sum()


def test_what_cannot_be_summed_is_refused_with_the_reason():
    spec = spec_of("oue", 4, 1)
    counts = drawn(spec, holders(100, 4, 1.0), np.random.default_rng(8))
    for added, reason in (
        ([], "combined must be at least one value"),
        (["i0", "i0"], "combined must be all different"),
        (["i0", "purple"], "combined must be one of i0, i1, i2, i3, got 'purple'"),
    ):
        with pytest.raises(ParameterError, match=reason):
            estimate_shares([(spec, counts)], add=added)


@pytest.mark.parametrize("name", ["grr", "ht", "oue", "pgr", "ss"])
def test_the_sum_of_a_whole_domain_is_a_number_however_few_reports_there_are(name):
    spec = spec_of(name, 7, 8)
    randomizer, tally = randomizer_for(spec, seeded("whole")), tally_for(spec)
    counts = tally.count(randomizer.report(3, secret_of(1)))
    tallies = [(spec, counts), (replace(spec, every="week"), counts)]
    total = estimate_shares(tallies, add=spec.values).combined
    assert np.isfinite([total.share, total.standard_error, total.low, total.high]).all()
    assert total.low <= total.share <= total.high


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_a_few_reports_that_agree_do_not_make_a_sum_certain(reports):
    spec = spec_of("pgr", 20, 1)
    counts = tally_for(spec).count(bytes(reports * spec.mechanism.report_bytes))
    total = estimate_shares([(spec, counts)], add=spec.values[:5]).combined
    assert total.low < total.share - 0.5
    assert total.high > total.share + 0.5
