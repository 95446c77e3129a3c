"""Exact limits of small counts, added up term by term."""

from __future__ import annotations

import numpy as np

from deniable_aggregator.counting.statistics import binomial
from deniable_shared.mechanisms import Support


def test_exact_limits_of_small_counts_are_those_of_the_distributions(monkeypatch):
    random = np.random.default_rng(6)
    for p, q, reports, alpha in (
        (0.5, 0.02, 900, 0.05),
        (0.9, 0.2, 90, 0.01),
        (0.95, 0.001, 4_000, 1e-6),
        (0.3, 0.05, 3, 0.05),
    ):
        holders = random.integers(0, reports + 1, 60)
        supporting = random.binomial(holders, p) + random.binomial(reports - holders, q)
        counted = binomial.SupportCounts(
            np.concatenate([supporting, [0, reports]]), reports, Support(p, q)
        )
        quick = binomial.finite_population_limits(counted, alpha)
        with monkeypatch.context() as slowly:
            slowly.setattr(binomial, "_MOST_PROBABLE", 0.0)
            exact = binomial.finite_population_limits(counted, alpha)
        assert [each.tolist() for each in quick] == [each.tolist() for each in exact]
