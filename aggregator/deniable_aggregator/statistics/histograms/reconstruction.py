"""Histograms from reports of Square Wave, by expectation maximisation (EM) on the exact channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Reconstruction
    from deniable_shared.mechanisms import SquareWave


MAX_STEPS: Final = 1_000
ENOUGH_GAIN: Final = 1e-2
"""A histogram is done when a step adds less than this to its log-likelihood."""

LEAST_KEPT: Final = 1e-3
"""An extrapolation keeps at least this part of what two EM steps give a bin, so none turns 0."""

_TINY: Final = 1e-300


def channel(mechanism: SquareWave) -> NDArray[np.float64]:
    """P(outcome | bin), exactly as the device draws it: float64, (outcomes, bins).

    Every column adds up to 1, also where the wave is narrower than a bin: the device randomizes
    bins, so nothing is integrated.
    """
    near, far = mechanism.outcome_probabilities
    offset = np.arange(mechanism.outcomes)[:, None] - np.arange(mechanism.size)
    return np.where((offset >= 0) & (offset < mechanism.window), near, far)


def raw_shares(
    mechanism: SquareWave, counts: NDArray[np.int64], share: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unbiased shares of the bins, and their covariance: generalised least squares.

    With the channel C, the outcomes' frequencies y and W = 1 / (C held), they are
    (C' W C)^-1 C' W y: unbiased whatever `share` is, and of the least variance if it is right. They
    add up to 1. The covariance is (C' W C)^-1 / n; it has the variance held held' / n of a sum that
    were free, too, which changes nothing where the sum is fixed.

    Args:
        counts: int64, (outcomes,): how often each outcome came.
        share: float64, (bins,): what devices seem to hold.

    Returns:
        float64, (bins,) and (bins, bins).
    """
    matrix, reports = channel(mechanism), int(counts.sum())
    weighted = matrix.T / (matrix @ share)
    covariance = np.linalg.inv(weighted @ matrix)
    covariance = (covariance + covariance.T) / (2 * reports)
    return covariance @ (weighted @ counts), covariance


def reconstruct(
    mechanism: SquareWave,
    counts: NDArray[np.int64] | NDArray[np.float64],
    *,
    method: Reconstruction,
) -> NDArray[np.float64]:
    """The histograms that explain reports best (Li et al. 2020, algorithm 1).

    EM finds the largest likelihood. SQUAREM (Varadhan and Roland 2008) extrapolates along its
    path, because plain steps become tiny long before they arrive. EMS averages neighbouring bins
    with weights 1/4, 1/2, 1/4 after every step: smooth distributions stay smooth, single spikes are
    blurred. Each histogram stops on its own, so its result does not depend on the others.

    Args:
        counts: (histograms, outcomes): how often each outcome came.
        method: "em" or "ems".

    Returns:
        float64, (histograms, bins): shares that add up to 1.
    """
    matrix, observed = channel(mechanism), counts.astype(np.float64)
    shares = np.full((observed.shape[0], matrix.shape[1]), 1 / matrix.shape[1])
    reached, going = np.full(shares.shape[0], -np.inf), np.arange(shares.shape[0])
    for _ in range(MAX_STEPS):
        start, counted = shares[going], observed[going]
        one = _step(start, counted, matrix, method)
        two = _step(one, counted, matrix, method)
        likelihood = _likelihood(two, counted, matrix)
        if method == "em":
            leap = _step(_squarem_step(start, one, two), counted, matrix, method)
            further = _likelihood(leap, counted, matrix)
            two = np.where((further > likelihood)[:, None], leap, two)
            likelihood = np.maximum(further, likelihood)
        shares[going] = two
        climbing = np.abs(likelihood - reached[going]) >= ENOUGH_GAIN
        reached[going] = likelihood
        going = going[climbing]
        if not going.size:
            break
    return shares


def _step(
    shares: NDArray[np.float64],
    observed: NDArray[np.float64],
    matrix: NDArray[np.float64],
    method: Reconstruction,
) -> NDArray[np.float64]:
    """One step of expectation maximisation."""
    reports = observed.sum(axis=1, keepdims=True)
    after = shares * ((observed / (shares @ matrix.T)) @ matrix) / reports
    return _smooth(after) if method == "ems" else after


def _squarem_step(
    start: NDArray[np.float64], one: NDArray[np.float64], two: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Extrapolates the path through three successive estimates (SQUAREM), back to histograms."""
    first = one - start
    bend = two - one - first
    length = np.linalg.norm(first, axis=1) / np.maximum(np.linalg.norm(bend, axis=1), _TINY)
    times = np.maximum(length, 1.0)[:, None]
    extrapolated = np.maximum(start + 2 * times * first + times**2 * bend, LEAST_KEPT * two)
    return np.asarray(extrapolated / extrapolated.sum(axis=1, keepdims=True))


def _likelihood(
    shares: NDArray[np.float64], observed: NDArray[np.float64], matrix: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray((observed * np.log(shares @ matrix.T)).sum(axis=1))


def _smooth(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Neighbours averaged with weights 1/4, 1/2, 1/4; the sum stays."""
    padded = np.pad(shares, ((0, 0), (1, 1)), mode="edge")
    return (padded[:, :-2] + 2 * shares + padded[:, 2:]) / 4
