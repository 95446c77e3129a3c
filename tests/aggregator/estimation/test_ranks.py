"""Ranks hold for all values at once, and are as narrow as their intervals allow."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.statistics.ranks import rank_ranges
from tests.aggregator.answered import answer as answer_of
from tests.aggregator.simulated import drawn, spec_of

pytestmark = pytest.mark.audit

REPEATS = 2_000
CLOSE = 1_000 + np.arange(60)[::-1]
"""Devices that hold each value: all ranks are true, and nearly none can be told."""

APART = np.array([12_000, 7_000, 6_950, 3_500, 100, 50])
"""A leader, two that are too close to call, one that is fourth, and two at the end."""


def answered(held, seed):
    generator, spec = np.random.default_rng(seed), spec_of("oue", held.size, 1)
    for _ in range(REPEATS):
        yield estimate_shares([(spec, drawn(spec, held, generator))])


def hold(ranks):
    """Whether the largest has rank 1, the next one 2, and so on, all at once."""
    truth = np.arange(ranks[0].size) + 1
    return bool(((ranks[0] <= truth) & (truth <= ranks[1])).all())


def test_ranks_count_what_is_surely_larger_and_surely_smaller():
    low, high = np.array([0.4, 0.1, 0.12, 0.0]), np.array([0.5, 0.2, 0.3, 0.05])
    first, last = rank_ranges(low, high)
    assert first.tolist() == [1, 2, 2, 4]
    assert last.tolist() == [1, 3, 3, 4]


def test_intervals_that_touch_tell_no_order():
    first, last = rank_ranges(np.array([0.2, 0.1]), np.array([0.3, 0.2]))
    assert (first.tolist(), last.tolist()) == ([1, 1], [2, 2])


@pytest.mark.statistics
def test_true_ranks_lie_in_all_ranges_at_once_with_the_level():
    """2,000 answers; the standard error at 95% is 0.005. Ranges of intervals by themselves fail."""
    at_once, alone = [], []
    for answer in answered(CLOSE, 5):
        at_once.append(hold(answer.ranks))
        alone.append(hold(rank_ranges(answer.low, answer.high)))
    assert np.mean(at_once) >= 0.95 - 3 * 0.005
    assert np.mean(alone) < 0.8


@pytest.mark.statistics
def test_ranks_that_can_be_told_are_told():
    found = [answer.ranks for answer in answered(APART, 6)]
    assert np.mean([hold(ranks) for ranks in found]) >= 0.95 - 3 * 0.005
    told = [[1, 2, 2, 4, 5, 5], [1, 3, 3, 4, 6, 6]]
    assert np.mean([np.array_equal(ranks, told) for ranks in found]) > 0.9


def test_ranks_are_among_all_values_that_were_asked_for_not_those_shown():
    held, spec = np.array([100, 9_000, 5_000]), spec_of("oue", 3, 1)
    tally = drawn(spec, held, np.random.default_rng(7))
    answer = answer_of(estimate_shares([(spec, tally)], None, EstimateOptions(top=2)))
    assert [each.value for each in answer.of("share")] == list(spec.values[1:3])
    assert [(each.rank_first, each.rank_last) for each in answer.of("share")] == [(1, 1), (2, 2)]
    assert "at once" in answer.head.meanings["rank"]
