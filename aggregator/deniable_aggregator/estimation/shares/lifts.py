"""Lifts: whether two flags are true together more, or less, often than if they were independent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.estimation.shares.pair_shares import estimate_pairs, observed_pairs
from deniable_aggregator.estimation.shares.share_estimate import DEVICES
from deniable_aggregator.statistics.intervals import (
    adjust_p_values,
    alpha_per_interval,
    z_for_alpha,
)
from deniable_aggregator.statistics.item_shares import LEAST_VARIANCE
from deniable_aggregator.statistics.ratios import fieller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.questions import EstimateOptions
    from deniable_aggregator.answers.words import IntervalKind
    from deniable_aggregator.estimation.shares.pair_shares import PairShares
    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate

ALPHA: Final = 0.05
"""The level of the tests."""


def estimate_lifts(
    parts: Sequence[SpecEstimate],
    requested: Sequence[str],
    shown_items: Sequence[str],
    options: EstimateOptions,
    interval: IntervalKind,
    level: float,
) -> tuple[str, list[Measured]] | None:
    """Estimates the lifts of the pairs of flags whose share of both is shown.

    The lift is P(A and B) / (P(A) P(B)), of shares over the reports of all versions that ask for
    both flags. Its interval has every number r for which P(A and B) - r P(A) P(B) is within z
    standard errors of 0 (Fieller 1954, with the product's error by the delta method); the test of
    independence is the same with r = 1.

    Args:
        level: of the intervals, in (0, 1).

    Returns:
        What lifts are, and these; None if no version observes a pair whose share of
        both flags was asked for.
    """
    flags = {
        item: flag_pair for part in parts for item, flag_pair in observed_pairs(part.spec).items()
    }
    pairs = [item for item in requested if item in flags]
    if not pairs:
        return None
    chosen = frozenset(shown_items)
    picked = [at for at, item in enumerate(pairs) if item in chosen]
    alpha = alpha_per_interval(interval, level=level, asked=len(pairs), shown=len(picked))
    pair_shares = estimate_pairs(parts, pairs, options.margin)
    ratios = _ratios(pair_shares, z_for_alpha(alpha))
    moved = _influence(
        pair_shares, ratios, sum({part.spec: part.reports for part in parts}.values())
    )
    adjusted = adjust_p_values(ratios.p_value, options.false_finds)
    return _meaning(options, interval, level, len(pairs)), [
        Measured(
            measure="lift",
            value=" & ".join(flags[pairs[at]]),
            values=flags[pairs[at]],
            both=float(pair_shares.shares[at, 0]),
            expected=float(ratios.expected[at]),
            method="fieller",
            estimate=_number(ratios.lift[at]),
            standard_error=_number(ratios.error[at]),
            low=_number(ratios.low[at]),
            high=_number(ratios.high[at]),
            p_value=float(ratios.p_value[at]),
            adjusted_p_value=float(adjusted[at]),
            told=not np.isnan(ratios.lift[at]) and float(adjusted[at]) <= ALPHA,
            shift_if_fake=_number(moved[at]),
            reports=int(pair_shares.reports[at]),
            reason=_reason(flags[pairs[at]], pair_shares, at)
            if np.isnan(ratios.lift[at])
            else None,
        )
        for at in picked
    ]


def _number(number: np.float64) -> float | None:
    return None if np.isnan(number) else float(number)


class _Ratios(NamedTuple):
    """The lifts of pairs, with errors and tests; float64, (pairs,), each.

    Attributes:
        expected: the share of both flags if they were independent.
        lift: NaN, like the next three, where `expected` is within z standard errors of 0.
        error: of the lift, by the delta method.
        low: the lower end of its interval.
        high: the upper end.
        p_value: of the two-sided test that the flags are independent.
    """

    expected: NDArray[np.float64]
    lift: NDArray[np.float64]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_value: NDArray[np.float64]


def _ratios(pair_shares: PairShares, z: float) -> _Ratios:
    (joint, first, second), covariance = pair_shares.shares.T, pair_shares.covariance
    expected, own = first * second, covariance[:, 0, 0]
    common = second * covariance[:, 0, 1] + first * covariance[:, 0, 2]
    product = second**2 * covariance[:, 1, 1] + first**2 * covariance[:, 2, 2]
    product += 2 * expected * covariance[:, 1, 2]
    divisor = np.where((first > 0) & (second > 0), expected, np.nan)
    low, high = fieller(joint, divisor, own, common, product, z)
    lift = np.where(np.isnan(low), np.nan, joint / divisor)
    apart = np.maximum(own - 2 * common + product, LEAST_VARIANCE)
    return _Ratios(
        expected=expected,
        lift=lift,
        error=np.sqrt(np.maximum(own - 2 * lift * common + lift**2 * product, 0.0)) / expected,
        low=low,
        high=high,
        p_value=2 * special.ndtr(-np.abs(joint - expected) / np.sqrt(apart)),
    )


def _influence(pair_shares: PairShares, ratios: _Ratios, total: int) -> NDArray[np.float64]:
    """How far fakes could move each lift; NaN for no bound."""
    least, most = pair_shares.lifts_if_fake(total)
    moved = np.maximum(ratios.lift - least, most - ratios.lift)
    return np.where(np.isfinite(moved), moved, np.nan)


def _reason(flags: tuple[str, str], pair_shares: PairShares, at: int) -> str:
    """Which of the two shares is the less certain one."""
    shares, covariance = pair_shares.shares[at, 1:], pair_shares.covariance[at]
    scores = shares / np.sqrt(np.diagonal(covariance)[1:])
    return (
        f"too few reports for a lift: the share of {flags[int(np.argmin(scores))]} is too close to "
        "zero, or too uncertain, to divide by"
    )


def _meaning(
    options: EstimateOptions, interval: IntervalKind, level: float, comparisons: int
) -> str:
    covers = {
        "one": "each interval, taken by itself, covers the lift",
        "all": "the intervals of all pairs asked about cover their lifts at once",
        "picked": "of the intervals shown, this part on average covers its lift",
    }
    corrected = "Benjamini-Hochberg" if options.false_finds == "few" else "Bonferroni"
    return (
        "lift is the share of both values over what it would be if they were independent (the "
        "product of their shares): above 1 they go together, below 1 they exclude each other. "
        f"Among {DEVICES[options.margin]}, {covers[interval]} with probability {level:g} "
        "(Fieller). Whether it is clear that they go together, or exclude each other, is a "
        f"two-sided test that they are independent, at {ALPHA:g} and corrected for all pairs asked "
        f"about: {comparisons:,} ({corrected})"
    )
