"""Comparisons of two segments of the same reports: they err as seldom as they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.answering.estimation.segment_differences import (
    compare_segments,
    with_both_segments,
)
from deniable_aggregator.answering.estimation.share_changes import estimate_side
from deniable_aggregator.answers.questions import CompareQuery
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ORACLES
from tests.aggregator.simulated import drawn
from tests.privacy.test_segments import segmented
from tests.repetitions import full_or_small

pytestmark = pytest.mark.audit

REPORTS, REPETITIONS = 12_000, full_or_small(2_000, 400)
SIZES = np.array([0.62, 0.38])
ALIKE = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
MOVED = np.array([[0.5, 0.3, 0.2], [0.7, 0.1, 0.2]])
QUERY = CompareQuery(segment=("x", "y"))


def spec_of(name, epsilon=2):
    return segmented("a b c", "x y", ORACLES[name].for_epsilon(6, Fraction(epsilon)))


def collected(spec, counts, reports=REPORTS):
    return CollectedTallies([(spec, counts)], {spec.digest: {1: reports}})


def compared(spec, within, generator, reports=REPORTS):
    held = generator.multinomial(reports, (SIZES[:, None] * within).ravel())
    tallies = collected(spec, drawn(spec, held, generator), reports)
    return compare_segments(tallies, ("x", "y"), ChangeRequest(QUERY)).differences


def repeated(spec, within, repetitions=REPETITIONS):
    generator = np.random.default_rng(11)
    return [compared(spec, within, generator) for _ in range(repetitions)]


@pytest.mark.statistics
@pytest.mark.parametrize("name", ["grr", "oue"])
def test_segments_that_are_alike_differ_clearly_in_one_of_twenty(name):
    """6,000 tests of 2,000 tallies: the standard error is about .004."""
    found = repeated(spec_of(name), ALIKE)
    rejected = np.mean([each.p_value < 0.05 for each in found])
    assert rejected == pytest.approx(0.05, abs=0.015 if REPETITIONS > 1_000 else 0.03)


@pytest.mark.statistics
@pytest.mark.parametrize("name", ["grr", "oue"])
def test_intervals_of_differences_of_segments_cover(name):
    """And the errors are those of the estimates: 500 of them have 3.2%."""
    found, truth = repeated(spec_of(name), MOVED, 500), MOVED[1] - MOVED[0]
    covers = np.mean([(each.low <= truth) & (truth <= each.high) for each in found])
    assert covers == pytest.approx(0.95, abs=0.025)
    estimates = np.array([each.after - each.before for each in found])
    stated = np.sqrt(np.mean([each.standard_error**2 for each in found], axis=0))
    assert np.allclose(estimates.std(axis=0) / stated, 1, atol=0.12)


def test_what_both_segments_have_in_common_is_in_the_error():
    """As if they were of different reports, the error would be a tenth too small."""
    spec, request = spec_of("grr", 1), ChangeRequest(QUERY)
    within, generator = np.array([[0.90, 0.05, 0.05]] * 2), np.random.default_rng(1)
    found = [compared(spec, within, generator, 40_000) for _ in range(full_or_small(400, 100))]
    stated = np.sqrt(np.mean([each.standard_error[0] ** 2 for each in found]))
    spread = np.std([each.after[0] - each.before[0] for each in found])
    assert spread / stated == pytest.approx(1, abs=3.5 / np.sqrt(2 * len(found)))
    held = generator.multinomial(40_000, (SIZES[:, None] * within).ravel())
    tallies = collected(spec, drawn(spec, held, generator), 40_000)
    sides = [estimate_side(tallies, name, request, [spec], 0.05) for name in "xy"]
    independent = np.hypot(*(side.standard_error[0] for side in sides))
    assert independent < 0.93 * stated


def test_only_versions_with_both_segments_are_compared():
    spec, other = spec_of("grr"), segmented("a b c", "x z", ORACLES["grr"].for_epsilon(6, 2))
    counts = np.full(6, 100)
    tallies = CollectedTallies(
        [(spec, counts), (other, counts)], {each.digest: {1: 600} for each in (spec, other)}
    )
    assert with_both_segments(tallies, ("x", "y")).specs == [spec]
    with pytest.raises(ParameterError, match="segment must be two that one version has"):
        with_both_segments(tallies, ("y", "z"))
    with pytest.raises(ParameterError, match="segment must be one of x, y, z, got 'w'"):
        with_both_segments(tallies, ("x", "w"))


@pytest.mark.parametrize(
    "sides",
    [
        {},
        {"key": ("a",)},
        {"key": ("a", "b", "c")},
        {"key": ("a", "b"), "segment": ("x", "y")},
        {"segment": ("x", "x")},
        {"version": ("abcd",), "segment": ("x",)},
    ],
)
def test_a_comparison_has_two_sides(sides):
    with pytest.raises(ValueError, match="must"):
        CompareQuery(**sides)
