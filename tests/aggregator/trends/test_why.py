"""What a change comes from: parts add up, and their intervals cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.decomposition import (
    PartOfSide,
    kept_parts,
    split_difference,
)
from tests.repetitions import full_or_small

BEFORE = {"a": (3_000, 0.20), "b": (5_000, 0.30), "c": (2_000, 0.80)}
AFTER = {"a": (3_000, 0.20), "b": (3_000, 0.36), "c": (4_000, 0.80)}


def sides(*of, variance=0.0):
    return [
        {name: PartOfSide(reports, share, variance) for name, (reports, share) in side.items()}
        for side in of
    ]


def mean(side):
    total = sum(reports for reports, _ in side.values())
    return sum(reports * share for reports, share in side.values()) / total


def test_the_effects_of_all_parts_add_up_to_the_change():
    effects = split_difference(*sides(BEFORE, AFTER))
    change = mean(AFTER) - mean(BEFORE)
    assert math.fsum(each.together.estimate for each in effects) == pytest.approx(change, abs=1e-15)
    for each in effects:
        both = each.mix.estimate + each.answers.estimate
        assert each.together.estimate == pytest.approx(both, abs=1e-15)


def test_a_part_that_grew_and_one_that_answers_otherwise_are_told_apart():
    """c, whose share is far above that of all, doubled; within b the share rose by 6 points."""
    a, b, c = split_difference(*sides(BEFORE, AFTER))
    overall = (mean(BEFORE) + mean(AFTER)) / 2
    assert (a.mix.estimate, a.answers.estimate) == pytest.approx((0, 0), abs=1e-15)
    assert b.answers.estimate == pytest.approx(0.4 * 0.06)
    assert b.mix.estimate == pytest.approx(-0.2 * (0.33 - overall))
    assert c.answers.estimate == pytest.approx(0, abs=1e-15)
    assert c.mix.estimate == pytest.approx(0.2 * (0.80 - overall))


def test_of_a_part_that_one_period_has_all_is_mix():
    before = {name: BEFORE[name] for name in "ab"}
    new = {each.name: each for each in split_difference(*sides(before, AFTER))}["c"]
    assert new.answers == (0, 0)
    assert new.parts == (0, 0.4)
    assert new.shares == (None, 0.80)
    total = sum(each.together.estimate for each in split_difference(*sides(before, AFTER)))
    assert total == pytest.approx(mean(AFTER) - mean(before), abs=1e-15)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ({"a": 100, "b": 500}, {"a": 100, "b": 500}, ("ab", "ab")),
        # 99 could be subtracted: c is folded, too, in both periods.
        ({"a": 99, "b": 500, "c": 400}, {"b": 500, "c": 400}, ("b", "b")),
        ({"a": 60, "b": 60, "c": 400}, {"c": 400}, ("c", "c")),
        ({"a": 99}, {"a": 99}, ("", "")),
        ({"a": 20, "b": 400}, {"b": 300}, ("", "")),
        ({"a": 400, "b": 400, "c": 900}, {"a": 400, "c": 400}, ("abc", "ac")),
        # Of a new key the few reports before are no part of their own.
        ({"a": 3, "b": 500, "c": 400}, {"a": 900, "b": 500, "c": 400}, ("b", "ab")),
    ],
)
def test_parts_with_few_reports_are_folded_so_that_nobody_can_subtract(before, after, kept):
    assert kept_parts((before, after), 100) == tuple(map(set, kept))


def test_intervals_of_effects_cover():
    """9 effects each of 2,000 draws: the standard error of a single one is .005."""
    random, hits = np.random.default_rng(3), []
    truth = [
        (each.mix.estimate, each.answers.estimate, each.together.estimate)
        for each in split_difference(*sides(BEFORE, AFTER))
    ]
    for _ in range(full_or_small(2_000, 500)):
        drawn = [
            {
                name: PartOfSide(reports, share + random.normal(0, 0.03), 0.03**2)
                for name, (reports, share) in side.items()
            }
            for side in (BEFORE, AFTER)
        ]
        for of, each in zip(truth, split_difference(*drawn), strict=True):
            for true, effect in zip(of, (each.mix, each.answers, each.together), strict=True):
                if effect.variance:
                    hits.append(abs(effect.estimate - true) <= 1.96 * effect.variance**0.5)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.01)
    assert len(hits) > 6 * 500
