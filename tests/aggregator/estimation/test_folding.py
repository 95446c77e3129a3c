"""Histograms that were brought to fewer bins: how far fake reports can move their mean."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable_aggregator.answering.estimation.distributions import estimate_distribution
from deniable_aggregator.answering.estimation.folding import common_edges, fold
from deniable_aggregator.counting.statistics.influence import FORGED_PER_REPORT
from tests.aggregator.estimation.test_distributions import drawn, shares, wave

REPORTS = 20_000
WIDER = np.linspace(0, 120, 17)
"""Bins of the same metric after its range was doubled; those of it are of 3.75 minutes."""


def folded(spec, counts):
    found = estimate_distribution([(spec, counts)], quantiles=(0.5,))
    edges = common_edges(found.edges.tolist(), WIDER.tolist())
    return fold(found, edges)


@pytest.mark.parametrize("epsilon", ["1", "3"])
def test_the_shift_of_a_folded_mean_is_what_the_worst_fakes_do(epsilon):
    spec, truth = wave(epsilon), shares(stats.beta(2, 3))
    _, counts = drawn(spec, truth, REPORTS, np.random.default_rng(3))
    honest = folded(spec, counts)
    (mean,) = [each for each in honest.placed() if each.measure == "mean"]
    fakes = round(REPORTS * FORGED_PER_REPORT)
    moved = []
    for outcome in (0, 1, counts.size // 2, counts.size - 2, counts.size - 1):
        forged = counts.copy()
        forged[outcome] += fakes
        moved.append(abs(folded(spec, forged).mean.value - mean.estimate))
    assert max(moved) <= 1.1 * mean.shift_if_fake
    assert max(moved) >= 0.8 * mean.shift_if_fake
    assert mean.shift_if_fake < 0.1 * honest.width
