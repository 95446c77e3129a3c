"""Exact limits of small counts, added up term by term."""

from __future__ import annotations

import numpy as np
from scipy import stats

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


def test_exact_limits_are_the_ends_of_the_numbers_of_holders_that_are_not_rejected():
    for p, q, reports, alpha in (
        (0.5, 0.02, 120, 0.05),
        (0.99, 0.3, 40, 1e-9),
        (0.2, 0.19, 9, 0.3),
    ):
        support, supporting = Support(p, q), np.arange(reports + 1)
        laws = [
            np.convolve(
                stats.binom.pmf(np.arange(holders + 1), holders, p),
                stats.binom.pmf(np.arange(reports - holders + 1), reports - holders, q),
            )
            for holders in range(reports + 1)
        ]
        at_most, at_least = np.cumsum(laws, axis=1), np.cumsum(np.fliplr(laws), axis=1)[:, ::-1]
        fits = (at_most > alpha / 2) & (at_least > alpha / 2)
        counted = binomial.SupportCounts(supporting, reports, support)
        limits = binomial.finite_population_limits(counted, alpha)
        for count, low, high in zip(supporting, *limits, strict=True):
            possible = np.flatnonzero(fits[:, count])
            if possible.size and possible[0] > 0:
                assert low == possible[0] / reports
            if possible.size and possible[-1] < reports:
                assert high == possible[-1] / reports
