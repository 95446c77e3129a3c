"""Means: unbiased in the metric's unit, with intervals that cover, over several specs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.means import estimate_mean
from deniable_aggregator.telling.meaning import explanation
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Hybrid,
    MemoizedOneBitMean,
    OneBitMean,
    SquareWave,
)
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.answered import as_json
from tests.aggregator.estimation.test_shares import counted
from tests.aggregator.served import number as number_of
from tests.privacy.specs import number

SECONDS = (Fraction(0), Fraction(30))


def seconds(mechanism):
    return replace(number(mechanism), range=SECONDS)


def bits(epsilon):
    return seconds(OneBitMean.for_epsilon(Fraction(epsilon)))


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", [OneBitMean, Hybrid, DiscreteLaplace])
def test_intervals_cover_the_mean_of_the_population(mechanism):
    """Of 400 intervals at 80%, between 73% and 87% cover: 3.5 standard deviations."""
    spec, random = seconds(mechanism.for_epsilon(Fraction(2))), np.random.default_rng(7)
    covered = 0
    for repetition in range(400):
        values = 30 * random.beta(2, 5, size=60)
        found = estimate_mean([counted(spec, values.tolist(), f"m{repetition}")], level=0.8)
        covered += found.low <= 30 * 2 / 7 <= found.high
    assert 0.73 < covered / 400 < 0.87


@pytest.mark.statistics
@pytest.mark.parametrize("steps", [1, 4])
def test_intervals_of_memoised_means_cover_too(steps):
    """One period's reports of the shipped client; of 400 intervals at 80%, 73% to 87% cover.

    Every repetition is a metric of its own, so that its devices have other permanent bits.
    """
    mechanism = MemoizedOneBitMean.for_epsilons(Fraction(2), Fraction(4), steps)
    random, covered, errors = np.random.default_rng(7), 0, []
    for repetition in range(400):
        spec = replace(seconds(mechanism), name=f"m{repetition}")
        values = 30 * random.beta(2, 5, size=60)
        found = estimate_mean([counted(spec, values.tolist(), f"m{repetition}")], level=0.8)
        covered += found.low <= 30 * 2 / 7 <= found.high
        errors.append((found.mean - 30 * 2 / 7) / found.standard_error)
    assert 0.73 < covered / 400 < 0.87
    assert abs(np.mean(errors)) < 5 / 20


def test_a_metric_that_is_memoised_from_some_day_on_is_answered_as_one():
    memoised = seconds(MemoizedOneBitMean.for_epsilons(Fraction(1), Fraction(2)))
    found = estimate_mean([counted(bits("1"), [12.0] * 2_000), counted(memoised, [12.0] * 2_000)])
    assert found.reports == 4_000
    assert len(found.specs) == 2
    assert abs(found.mean - 12) < 4 * found.standard_error
    described = answer_of(found).head.versions
    assert [each.epsilon_permanent for each in described] == [None, pytest.approx(2.0)]


def test_a_mean_is_over_the_reports_of_all_versions_whatever_their_noise():
    """A third with a wider range, less noise and other values: the mean of all, not of the best."""
    wider = replace(bits("3"), range=(Fraction(-10), Fraction(50)))
    tallies = [counted(bits("0.5"), [12.0] * 2_000), counted(wider, [27.0] * 1_000)]
    alone = [estimate_mean([tally]) for tally in tallies]
    both = estimate_mean(tallies)
    assert both.mean == pytest.approx((2 * alone[0].mean + alone[1].mean) / 3)
    assert both.reports == 3_000
    assert abs(both.mean - 17) < 4 * both.standard_error
    noise = np.hypot(2 * alone[0].standard_error, alone[1].standard_error) / 3
    # Which of two unlike versions a device has is chance, too: 50 / 3,000 of variance at most.
    assert noise < both.standard_error < np.sqrt(noise**2 + 0.05)


def test_a_mean_is_not_clipped_to_the_range():
    spec = bits("0.1")
    means = [estimate_mean([counted(spec, [30.0] * 40, f"c{seed}")]).mean for seed in range(20)]
    assert min(means) < 30 < max(means)


def test_json_says_what_the_mean_means():
    data = as_json(answer_of(estimate_mean([counted(bits("1"), [3, 4.5, 29])])))
    assert json.loads(json.dumps(data)) == data
    head, mean = data["head"], number_of(data, "mean")
    assert (head["kind"], head["reports"], head["margin"]) == ("mean", 3, "noise-and-sampling")
    assert head["versions"][0]["range"] == [0.0, 30.0]
    assert "delta" not in head["versions"][0]
    assert mean["low"] < mean["estimate"] < mean["high"]


def test_delta_is_disclosed_with_every_gaussian_answer():
    spec = seconds(DiscreteGaussian.for_epsilon(Fraction(1), Fraction(1, 10**6)))
    (described,) = answer_of(estimate_mean([counted(spec, [3.0])])).head.versions
    assert 0.9e-6 < described.delta <= 1e-6
    assert "may reveal more than epsilon" in described.privacy


def test_answers_from_permanent_noise_say_that_periods_do_not_average_out():
    memoised = seconds(MemoizedOneBitMean.for_epsilons(Fraction(1), Fraction(2)))
    answer = answer_of(estimate_mean([counted(memoised, [3.0]), counted(bits("1"), [3.0])]))
    repeated, once = answer.head.versions
    assert "the same devices having reported in all" in repeated.repeated
    assert once.repeated is None
    lines = [line for line in explanation(answer) if line.startswith("memoised one-bit mean: the")]
    assert len(lines) == 1


def test_what_cannot_be_answered_is_refused():
    spec, counts = counted(bits("1"), [1.0])
    with pytest.raises(ParameterError, match="reports must be at least 1, got 0"):
        estimate_mean([(spec, counts * 0)])
    with pytest.raises(ParameterError, match="level must be between 0 and 1"):
        estimate_mean([(spec, counts)], level=1.0)


def test_a_mean_says_if_a_distribution_would_have_told_more_at_hardly_any_cost():
    """The error that it states is that of the same values as a distribution."""
    values = np.full(20_000, 0.5)
    mechanism = OneBitMean.for_epsilon(Fraction(1))
    spec = number(mechanism)
    counts = np.array([values.size // 2, values.size // 2])
    (note,) = estimate_mean([(spec, counts)]).notices
    assert (note.code, note.severity) == ("distribution_instead", "note")
    wave = SquareWave.for_epsilon(32, Fraction(1))
    assert f"about {wave.variance(0.5, values.size) ** 0.5:.2g} instead of" in note.message
    assert f"{mechanism.variance(0.5, values.size) ** 0.5:.2g}." in note.message


def test_errors_that_round_alike_are_said_once():
    spec = number(OneBitMean.for_epsilon(Fraction(205, 100)))
    (note,) = estimate_mean([(spec, np.array([4_000, 16_000]))]).notices
    assert re.search(r"its mean would stay about 0\.\d+\.$", note.message)


def test_nothing_is_said_of_distributions_where_one_would_tell_nothing_or_cost_otherwise():
    few = np.array([50, 50])
    assert not estimate_mean([(number(OneBitMean.for_epsilon(Fraction(1))), few)]).notices
    memoised = number(MemoizedOneBitMean.for_epsilons(Fraction(1), Fraction(2)))
    assert not estimate_mean([(memoised, few * 1_000)]).notices
