"""Errors that versions of a metric have in common, or because they differ."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.statistics.repeated_reports import shared_pairs_across_specs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate


def shared_collisions(
    parts: Sequence[SpecEstimate], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The covariance of sketches of several versions: they have the same hash family.

    Their common rows have the same collisions, whose error does not average out over versions. Of
    two versions it is at most the smaller one's.
    """
    total = np.zeros(weights.shape[1])
    family = np.zeros_like(weights)
    for row, part in zip(family, parts, strict=True):
        counted = part.shares.support_counts
        if counted is not None and counted.family_variance > 0:
            # Of what is measured for an item nobody holds, noise and collisions have fixed parts.
            noise = counted.support.variance(0.0, counted.reports)
            collisions = counted.family_variance / (noise + counted.family_variance)
            row[part.known] = part.shares.null_variance * collisions
    for first, second in itertools.combinations(np.flatnonzero(family.any(axis=1)), 2):
        together = np.minimum(family[first], family[second])
        total += 2 * together * weights[first] * weights[second]
    return total


def variance_between(
    parts: Sequence[SpecEstimate],
    weights: NDArray[np.float64],
    reports: NDArray[np.int64],
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What sampling devices adds to the sampling within each version; see `CombinedShares.between`.

    An estimate is the average over all reports, so its error is that of their deviations from the
    share: each one's variance in a version is f_s (1 - f_s) + (f_s - f)^2, of which a version's own
    variance has the first term.
    """
    total = np.zeros(share.size)
    deviations = []
    for row, part in zip(weights, parts, strict=True):
        apart, spread, weight = np.zeros(share.size), np.zeros(share.size), row.copy()
        weight[part.impossible] = part.reports / reports[part.impossible]
        apart[part.impossible] = share[part.impossible]
        shares = part.shares.share
        apart[part.known] = shares - share[part.known]
        spread[part.known] = np.clip(shares, 0.0, 1.0) * (1 - np.clip(shares, 0.0, 1.0))
        total += weight**2 * (1 / part.reports + part.repeats.extra) * apart**2
        deviations.append(weight * np.sqrt(spread + apart**2))
    for first, second in itertools.combinations(range(len(parts)), 2):
        total += (
            2
            * shared_pairs_fraction(parts[first], parts[second])
            * (deviations[first] * deviations[second])
        )
    return total


def shared_pairs_fraction(first: SpecEstimate, second: SpecEstimate) -> float:
    """Which part of all pairs of reports of two versions may be of one device, at most.

    Their permanent noise differs between versions, but their values may be the same.
    """
    if first.spec == second.spec or first.periods is None or second.periods is None:
        return 0.0
    pairs = shared_pairs_across_specs(first.periods, second.periods)
    return pairs / (first.reports * second.reports)
