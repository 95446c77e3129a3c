"""What a difference comes from by segment: unbiased, with errors that cover as they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.answering.estimation.inputs import CollectedTallies
from deniable_aggregator.answering.estimation.segment_effects import segment_effects
from deniable_aggregator.counting.statistics.intervals import z_for_level
from deniable_shared.mechanisms import ORACLES
from tests.aggregator.simulated import drawn
from tests.privacy.test_segments import segmented

pytestmark = pytest.mark.audit

REPORTS, REPETITIONS = 8_000, 400
BEFORE = np.array([0.30, 0.20, 0.10, 0.08, 0.22, 0.10])
"""Of a, b and c in segment x, then in y: in x half of all are a, in y a fifth."""

AFTER = np.array([0.20, 0.13, 0.07, 0.20, 0.25, 0.15])
"""y has grown from 40% to 60%, and within it a from a fifth to a third."""


def true_effects(place):
    """Of mix and of answers, for the share of a; F is the mean of both periods' shares."""
    cells = [side.reshape(2, 3) for side in (BEFORE, AFTER)]
    size = [side.sum(axis=1)[place] for side in cells]
    within = [side[place, 0] / side[place].sum() for side in cells]
    overall = sum(side[:, 0].sum() for side in cells) / 2
    mix = (size[1] - size[0]) * (sum(within) / 2 - overall)
    return mix, sum(size) / 2 * (within[1] - within[0])


@pytest.mark.parametrize("name", ["grr", "oue"])
@pytest.mark.statistics
def test_effects_are_unbiased_and_their_intervals_cover(name):
    spec = segmented("a b c", "x y", ORACLES[name].for_epsilon(6, Fraction(3)))
    generator = np.random.default_rng(31)
    scores = []
    periods = {spec.digest: {0: REPORTS}}
    for _ in range(REPETITIONS):
        before, after = (
            drawn(spec, generator.multinomial(REPORTS, held), generator) for held in (BEFORE, AFTER)
        )
        tallies = [CollectedTallies([(spec, counts)], periods) for counts in (before, after)]
        parts, left = segment_effects(*tallies, "a", "noise-and-sampling", 100)
        assert [part.name for part in parts] == ["channel=x", "channel=y"]
        scores.append(
            [
                (found.estimate - true) / found.variance**0.5
                for place, part in enumerate(parts)
                for found, true in zip((part.mix, part.answers), true_effects(place), strict=True)
            ]
        )
        if name == "grr":  # whose estimates add up
            assert left.estimate == pytest.approx(0, abs=1e-12)
    scores = np.array(scores)
    covered = (np.abs(scores) < z_for_level(0.95)).mean(axis=0)
    # The standard error of a covered part is .011 at 400 repetitions.
    assert covered == pytest.approx(0.95, abs=0.035)
    assert np.abs(scores.mean(axis=0)) == pytest.approx(0, abs=4 / REPETITIONS**0.5)
    assert scores.std(axis=0) == pytest.approx(1, abs=0.15)
