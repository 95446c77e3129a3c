"""Outcomes of numeric mechanisms: histograms from them, and whether two sets follow one law.

Do two sets of reports follow the same law? A test of the outcomes themselves.

The channel is the same in both, so equal truths give equal laws of outcomes. Nothing is
reconstructed, so nothing is biased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

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


DRAWS: Final = 2_000
"""Of the law under which nothing has changed; the least p-value is 1 / 2,001."""

SEED: Final = 20_201_122
"""It starts the draws, with the counts: the same ones always give the same p-value, and others have
draws of their own, so that the level is not that of one lucky or unlucky set of draws."""

MOST_CELLS: Final = 256
"""More outcomes are put together until so many are left: that loses power, not the level."""

MANY_EXPECTED: Final = 50
"""So many expected ones, and zeros, make the normal approximation good enough far in the tails."""


class OutcomeCounts(NamedTuple):
    """How often outcomes came.

    Attributes:
        kind: "ordered" outcomes of which each report has one, such as places in a range;
            "unordered" ones; or "bits", of which a report has many.
        counts: int64, (outcomes,).
        trials: int64, (outcomes,): of how many reports.
    """

    kind: Literal["ordered", "unordered", "bits"]
    counts: NDArray[np.int64]
    trials: NDArray[np.int64]


class Repetition(NamedTuple):
    """How much a device's reports may have in common, where it has sent several.

    Attributes:
        before: K / n^2 - 1 / n of the first period, see `repeated_reports`; 0 if no device has
            reported twice.
        after: of the second.
        epsilon: the privacy loss of a report about what its device holds and has fixed for good;
            infinite if that is not known.
    """

    before: float = 0.0
    after: float = 0.0
    epsilon: float = np.inf


ONCE: Final = Repetition()


def homogeneity_p_value(
    before: OutcomeCounts, after: OutcomeCounts, repetition: Repetition = ONCE
) -> float:
    """The p-value of the test that two sets of reports follow the same law.

    Ordered outcomes: the largest standardised difference of cumulated counts. Unordered ones: the
    chi-square of homogeneity. The law of either if nothing has changed is drawn 2,000 times, and
    p = (1 + those at least as large) / 2,001. Bits: the smallest p-value of all bits, times their
    number (Bonferroni), since bits of one report may depend on each other.

    Args:
        after: of the other, of the same mechanism.
        repetition: what devices that reported several times add to the variances.
    """
    if before.kind == "bits":
        return _bits_p_value(before, after, repetition)
    ordered = before.kind == "ordered"
    counts = _put_together(np.array([before.counts, after.counts]), ordered=ordered)
    statistic = _largest_difference if ordered else _chi_square
    reports = counts.sum(axis=1)
    share = counts.sum(axis=0) / reports.sum()
    observed = statistic(counts[0][None], counts[1][None], repetition)[0]
    random = np.random.default_rng([SEED, *counts.sum(axis=0).tolist()])
    first, second = (random.multinomial(number, share, size=DRAWS) for number in reports.tolist())
    as_large = statistic(first, second, ONCE) >= observed * (1 - 1e-12)
    return float((1 + as_large.sum()) / (1 + DRAWS))


def combined_p_value(p_values: Sequence[float]) -> float:
    """That of several independent tests of the same hypothesis (Fisher 1932)."""
    if len(p_values) == 1:
        return p_values[0]
    return float(special.chdtrc(2 * len(p_values), -2 * np.log(p_values).sum()))


def common_variance(share: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """The largest variance of P(event | device) if the event has this probability on average.

    No event is more than e^epsilon times as probable for one device as for another, nor is its
    opposite. Between bounds a and b, the variance is at most (b - P) (P - a) (Bhatia and Davis). It
    is largest where one of the two limits of b makes it largest, or where they meet.

    Args:
        share: float64, (events,): the probabilities P.
        epsilon: above 0; may be infinite.
    """
    ratio = np.exp(-epsilon)
    if not ratio > 0:
        return share * (1 - share)
    with np.errstate(over="ignore"):
        low = np.clip(
            [
                share * (1 + ratio) / 2,
                (share * (1 + ratio) - (1 - ratio)) / (2 * ratio),
                np.full_like(share, ratio / (1 + ratio)),
            ],
            0.0,
            share,
        )
        high = np.minimum(low / ratio, 1 - (1 - low) * ratio)
    return np.asarray((np.maximum(high - share, 0.0) * (share - low)).max(axis=0))


def _largest_difference(
    before: NDArray[np.int64], after: NDArray[np.int64], repetition: Repetition
) -> NDArray[np.float64]:
    """Of cumulated counts, (draws, outcomes) each: float64, (draws,)."""
    first, second = (np.cumsum(counts, axis=1, dtype=np.float64) for counts in (before, after))
    reports = first[0, -1], second[0, -1]
    share = (first + second)[:, :-1] / sum(reports)
    apart = first[:, :-1] / reports[0] - second[:, :-1] / reports[1]
    variance = share * (1 - share) * (1 / reports[0] + 1 / reports[1])
    extra = repetition.before + repetition.after
    if extra:
        variance += extra * common_variance(share, repetition.epsilon)
    scores = np.abs(apart) / np.sqrt(np.where(variance > 0, variance, np.inf))
    return np.asarray(scores.max(axis=1, initial=0.0))


def _chi_square(
    before: NDArray[np.int64], after: NDArray[np.int64], repetition: Repetition
) -> NDArray[np.float64]:
    """The chi-square of homogeneity of counts, (draws, outcomes) each: float64, (draws,)."""
    reports = float(before[0].sum()), float(after[0].sum())
    share = (before + after) / sum(reports)
    apart = before / reports[0] - after / reports[1]
    once = 1 / reports[0] + 1 / reports[1]
    variance = share * once
    extra = repetition.before + repetition.after
    if extra:
        sampling = np.maximum(share * (1 - share), 1e-300)
        variance *= 1 + extra / once * common_variance(share, repetition.epsilon) / sampling
    return np.asarray((apart**2 / np.where(variance > 0, variance, np.inf)).sum(axis=1))


def _bits_p_value(before: OutcomeCounts, after: OutcomeCounts, repetition: Repetition) -> float:
    """That of the bit that differs most, times the number of bits."""
    has_trials = (before.trials > 0) & (after.trials > 0)
    if not has_trials.any():
        return 1.0
    ones, trials = (
        np.array([getattr(sample, name)[has_trials] for sample in (before, after)], np.float64)
        for name in ("counts", "trials")
    )
    ones = np.clip(ones, 0.0, trials)  # weighted counts were rounded
    share = ones.sum(axis=0) / trials.sum(axis=0)
    once = share * (1 - share) * (1 / trials).sum(axis=0)
    score = np.abs(np.diff(ones / trials, axis=0)[0]) / np.sqrt(np.where(once > 0, once, np.inf))
    # Where few ones are expected: all ones together, how many of them came before?
    few = trials.min(axis=0) * np.minimum(share, 1 - share) < MANY_EXPECTED
    if few.any():
        score[few] = np.minimum(score[few], _exact_score(ones[:, few], trials[:, few]))
    extra = repetition.before + repetition.after
    if extra:
        more = extra * common_variance(share, repetition.epsilon)
        score *= np.sqrt(once / np.maximum(once + more, 1e-300))
    return float(min(1.0, 2 * special.ndtr(-score.max()) * score.size))


def _exact_score(ones: NDArray[np.float64], trials: NDArray[np.float64]) -> NDArray[np.float64]:
    """The test's z-scores and their law: binomial given all ones, or all zeros if fewer."""
    rarer = np.where(2 * ones.sum(axis=0) > trials.sum(axis=0), trials - ones, ones)
    total, part = rarer.sum(axis=0).astype(np.int64), trials[0] / trials.sum(axis=0)
    below = special.bdtr(rarer[0], total, part)
    above = np.where(rarer[0] > 0, special.bdtrc(np.maximum(rarer[0] - 1, 0), total, part), 1.0)
    return np.asarray(-special.ndtri(np.clip(np.minimum(below, above), 1e-300, 0.5)))


def _put_together(counts: NDArray[np.int64], *, ordered: bool) -> NDArray[np.int64]:
    """Counts of at most so many outcomes: neighbours if ordered, else by their number.

    Args:
        counts: int64, (2, outcomes).
        ordered: whether outcomes are.
    """
    size = counts.shape[1]
    if size <= MOST_CELLS:
        return counts
    groups = np.arange(size) % MOST_CELLS
    if ordered:
        cumulated = np.cumsum(counts.sum(axis=0))
        groups = np.minimum(cumulated * MOST_CELLS // max(int(cumulated[-1]), 1), MOST_CELLS - 1)
    return np.array([np.bincount(groups, row, MOST_CELLS) for row in counts]).astype(np.int64)
