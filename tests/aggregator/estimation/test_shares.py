from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import GeneralizedRandomizedResponse, Rappor
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.answered import as_json
from tests.aggregator.served import numbers
from tests.privacy.conformance import secret_of, seeded
from tests.privacy.specs import category, sketch, string

pytestmark = pytest.mark.audit


def grr(epsilon, values="red green blue"):
    size = len(values.split())
    return category(values, GeneralizedRandomizedResponse.for_epsilon(size, Fraction(epsilon)))


def counted(spec, values, seed="estimate"):
    randomizer = randomizer_for(spec, seeded(seed))
    payload = b"".join(
        randomizer.report(spec.encode(value), secret_of(device))
        for device, value in enumerate(values)
    )
    return spec, tally_for(spec).count(payload)


@pytest.mark.statistics
def test_intervals_have_the_level_they_state():
    """Of 2,400 intervals at 80%, between 77% and 83% cover: more than 3.5 standard deviations."""
    values = ["red"] * 120 + ["green"] * 60 + ["blue"] * 20
    truth = np.array([0.6, 0.3, 0.1])
    covered = []
    for repetition in range(800):
        result = estimate_shares([counted(grr("2"), values, f"r{repetition}")], level=0.8)
        covered.append((result.low <= truth) & (truth <= result.high))
    assert 0.77 < np.mean(covered) < 0.83


def test_a_share_is_over_the_reports_of_all_versions_whatever_their_noise():
    specs = weak, strong = grr("0.5"), grr("3")
    tallies = [counted(weak, ["red"] * 6_000), counted(strong, ["red", "green"] * 1_000)]
    alone = [estimate_shares([tally]) for tally in tallies]
    both = estimate_shares(tallies)
    weights = np.array([0.75, 0.25])
    assert np.allclose(both.share, weights @ [single.share for single in alone])
    errors = np.square([single.standard_error for single in alone])
    assert np.allclose(both.standard_error**2, weights**2 @ errors)
    assert (np.abs(both.share - [0.875, 0.125, 0]) < 4 * both.standard_error).all()
    assert both.reports == 8_000
    assert both.specs == ((specs[0], 6_000), (specs[1], 2_000))


def test_a_value_that_an_older_version_could_not_hold_counts_as_zero_there():
    old, new = grr("2"), grr("2", "red green blue violet")
    tallies = [counted(old, ["red"] * 500), counted(new, ["violet"] * 500)]
    both, late = estimate_shares(tallies), estimate_shares(tallies[1:])
    assert both.items == ("red", "green", "blue", "violet")
    assert both.share[3] == pytest.approx(late.share[3] / 2)
    assert both.standard_error[3] == pytest.approx(late.standard_error[3] / 2)
    assert both.share.sum() == pytest.approx(1)


def test_raw_estimates_are_not_clipped():
    result = estimate_shares([counted(grr("0.1"), ["red"] * 200)])
    assert result.share.min() < 0 or result.share.max() > 1
    assert result.share.sum() == pytest.approx(1)


def test_the_top_items_come_largest_first():
    values = ["blue"] * 900 + ["green"] * 100
    result = estimate_shares([counted(grr("4"), values)], None, EstimateOptions(top=2))
    assert result.items == ("blue", "green")
    assert result.share[0] > result.share[1]
    assert len(result.low) == len(result.detected) == 2


def test_json_says_what_the_numbers_mean():
    data = as_json(answer_of(estimate_shares([counted(grr("1"), ["red"] * 50)])))
    assert json.loads(json.dumps(data)) == data
    head = data["head"]
    assert head["interval"]["level"] == 0.95
    assert "by itself" in head["interval"]["meaning"]
    assert head["versions"][0]["epsilon"] <= 1
    assert list(numbers(data, "share")[0]) == [
        *("measure", "value", "estimate", "standard_error", "low", "high", "told"),
        *("shift_if_fake", "method", "rank_first", "rank_last", "adjusted"),
    ]


def test_what_cannot_be_answered_is_refused_with_the_reason():
    spec, counts = counted(grr("1"), ["red"])
    with pytest.raises(ParameterError, match="reports must be at least 1, got 0"):
        estimate_shares([(spec, counts * 0)])
    with pytest.raises(ParameterError, match="value must be one of"):
        estimate_shares([(spec, counts)], ["purple"])
    with pytest.raises(ParameterError, match="candidates must be all different"):
        estimate_shares([(spec, counts)], ["red", "red"])
    text = string(sketch("sue", 2, rows=4, buckets=8))
    with pytest.raises(ParameterError, match="candidates must be given for the strings of text"):
        estimate_shares([counted(text, ["ant"])])


def rappor_spec(**shape):
    return string(Rappor.for_epsilons(Fraction(4), Fraction(8), **shape))


@pytest.mark.statistics
def test_unlisted_values_do_not_turn_absent_candidates_into_discoveries():
    """Half of the devices hold values that are not asked for: the intercept takes them up."""
    spec = rappor_spec(bits=64, hashes=2, cohorts=8)
    absent = [f"absent {index}" for index in range(50)]
    discoveries, scores = 0, []
    for repetition in range(20):
        values = ["listed"] * 1_000 + [f"unlisted {index}" for index in range(1_000)]
        tally = counted(replace(spec, name=f"text{repetition}"), values, f"i{repetition}")
        result = estimate_shares([tally], ["listed", *absent])
        assert result.detected[0]
        discoveries += result.detected[1:].sum()
        scores.append(result.share[1:] / result.standard_error[1:])
    assert discoveries <= 4  # of 1,000 absent candidates, at a false discovery rate of 5%
    assert abs(np.mean(scores)) < 0.2


def test_more_candidates_than_a_rappor_can_tell_apart_are_refused():
    spec = rappor_spec(bits=8, hashes=1, cohorts=2)
    with pytest.raises(ParameterError, match="candidates must be at most 10 for this RAPPOR"):
        estimate_shares([counted(spec, ["ant"] * 50)], [f"item {index}" for index in range(11)])


@pytest.mark.statistics
def test_the_error_bar_of_a_small_sketch_is_that_of_the_rows_without_common_strings():
    """16 rows of 16 buckets at epsilon 8: over all rows, collisions would dominate the error."""
    spec = string(sketch("sue", 8, rows=16, buckets=16))
    values = ["common"] * 1_600 + ["rare"] * 400
    scores, errors = [], []
    for repetition in range(400):
        tally = counted(replace(spec, name=f"text{repetition}"), values, "family")
        result = estimate_shares([tally], ["absent"])
        scores.append(result.share[0] / result.standard_error[0])
        errors.append(result.standard_error[0] ** 2)
    assert 0.7 < np.mean(np.square(scores)) < 1.4  # at the errors of all rows: far below
    stated = spec.mechanism.variance(0.0, 2_000) + spec.mechanism.family_variance(0.8**2 + 0.2**2)
    assert np.mean(errors) < stated / 4
