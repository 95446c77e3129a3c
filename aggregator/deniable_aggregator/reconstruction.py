"""Histograms from the reports of Square Wave: expectation maximisation on the exact channel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import SquareWave

Reconstruction = Literal["em", "ems"]

RECONSTRUCTIONS: Final[tuple[str, ...]] = get_args(Reconstruction)
MAX_STEPS: Final = 3_000
ENOUGH_GAIN: Final = 1e-3
"""A step that adds less than this times e^epsilon to the log-likelihood is the last one."""


def channel(mechanism: SquareWave) -> NDArray[np.float64]:
    """P(outcome | bin), exactly as the device draws it: float64, (outcomes, bins).

    Every column adds up to 1, also where the wave is narrower than a bin: the device randomizes
    bins, so nothing is integrated.
    """
    near, far = mechanism.chances
    offset = np.arange(mechanism.outcomes)[:, None] - np.arange(mechanism.size)
    return np.where((offset >= 0) & (offset < mechanism.window), near, far)


def reconstruct(
    mechanisms: Sequence[SquareWave],
    counts: Sequence[NDArray[np.int64] | NDArray[np.float64]],
    *,
    method: Reconstruction,
) -> NDArray[np.float64]:
    """The histograms that explain reports best (Li et al. 2020, algorithm 1).

    Mechanisms over the same bins share one histogram, so their reports are explained together.
    EM climbs to the largest likelihood. EMS averages neighbouring bins with 1/4, 1/2, 1/4 after
    every step, which keeps a smooth distribution smooth, and blurs single spikes.

    Args:
        mechanisms: one or more over the same bins.
        counts: for each of them (histograms, outcomes): how often each outcome came.
        method: "em" or "ems".

    Returns:
        float64, (histograms, bins): shares that add up to 1.
    """
    matrix = np.concatenate([channel(mechanism) for mechanism in mechanisms])
    observed = np.concatenate(counts, axis=1).astype(np.float64)
    bins = matrix.shape[1]
    shares = np.full((observed.shape[0], bins), 1 / bins)
    enough = ENOUGH_GAIN * math.exp(max(mechanism.epsilon for mechanism in mechanisms))
    reports = observed.sum(axis=1, keepdims=True)
    reached = np.full(observed.shape[0], -np.inf)
    for _ in range(MAX_STEPS):
        expected = shares @ matrix.T
        likelihood = (observed * np.log(expected)).sum(axis=1)
        if (np.abs(likelihood - reached) < enough).all():
            break
        reached = likelihood
        shares = shares * ((observed / expected) @ matrix) / reports
        if method == "ems":
            shares = _smooth(shares)
    return shares


def _smooth(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Neighbours averaged with weights 1/4, 1/2, 1/4; the sum stays."""
    padded = np.pad(shares, ((0, 0), (1, 1)), mode="edge")
    return (padded[:, :-2] + 2 * shares + padded[:, 2:]) / 4
