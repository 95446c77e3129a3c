"""Shares of two attributes together, and how much more often than by chance."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np
from scipy import special

from deniable_aggregator.answering.estimation.combination import shared_pairs_fraction
from deniable_aggregator.answering.estimation.shares import DEVICES
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.statistics.influence import FORGED_PER_REPORT
from deniable_aggregator.counting.statistics.intervals import (
    adjust_p_values,
    alpha_per_interval,
    fieller,
    z_for_alpha,
)
from deniable_aggregator.counting.statistics.shares import LEAST_VARIANCE
from deniable_aggregator.counting.tallies import all_counters, share_tally_for
from deniable_shared.attributes import both_true

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.domains import SpecEstimate
    from deniable_aggregator.answers.questions import EstimateOptions
    from deniable_aggregator.answers.words import IntervalKind, Margin
    from deniable_aggregator.counting.tallies.pairs import SampledCoefficientsTally
    from deniable_shared.spec import Spec


_PER_MEAN: Final = np.array([[0.25, 0.25, 0.25], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])
"""What the means of `PairMoments` add to the shares of both flags, of the first, of the second."""

_WITHOUT_MEANS: Final = np.array([0.25, 0.5, 0.5])

_CHOSEN: Final = np.array([*itertools.product((0.0, 1.0), repeat=3)][1:])[:, None, :]
_SPREADS: Final = _CHOSEN / _CHOSEN.sum(axis=-1, keepdims=True)
"""How forgers may spread their reports over the three means: float64, (7, 1, 3)."""

_SIGNS: Final = np.array([*itertools.product((-1.0, 1.0), repeat=3)])
"""What all of their reports on each mean may say: float64, (8, 3)."""


class PairShares(NamedTuple):
    """Shares of pairs of flags, each over the reports of all versions that ask for both.

    Attributes:
        versions: what each version says.
        reports: int64, (pairs,): over how many reports.
        shares: float64, (pairs, 3): of both flags, of the first, of the second.
        covariance: float64, (pairs, 3, 3): of these.
    """

    versions: Sequence[_Version]
    reports: NDArray[np.int64]
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def lifts_if_fake(self, total: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the largest lift if fakes were added until they are 1% of all reports.

        Of all ways to add fakes to one version those are tried where all that are about a mean say
        the same, and the means that they are about have as many each.

        Args:
            total: how many reports were counted, of all versions.

        Returns:
            float64, (pairs,), twice; infinite where fakes could leave nobody a flag.
        """
        fakes = total * FORGED_PER_REPORT
        least, most = np.full((2, len(self.reports)), np.nan)
        for version in self.versions:
            added = fakes * _SPREADS / (fakes * _SPREADS + version.asked[:, None, None, :])
            means = version.means[:, None, None, :]
            forged = means + added * (_SIGNS * version.largest - means)
            counted = self.reports[version.at][:, None, None, None]
            reports = version.part.reports
            devices = counted * self.shares[version.at][:, None, None, :]
            devices = devices - reports * version.shares[:, None, None, :]
            shares = (devices + (reports + fakes) * _shares_from(forged)) / (counted + fakes)
            with np.errstate(divide="ignore", invalid="ignore"):
                lifts = shares[..., 0] / (shares[..., 1] * shares[..., 2])
            lifts[(shares[..., 1:] <= 0).any(axis=-1)] = np.inf
            least[version.at] = np.fmin(least[version.at], lifts.min(axis=(1, 2)))
            most[version.at] = np.fmax(most[version.at], lifts.max(axis=(1, 2)))
        return least, most


class _Version(NamedTuple):
    """What one version says of pairs.

    Attributes:
        part: its estimates.
        at: int64, (known,): which of the pairs it knows.
        means: float64, (known, 3): as of `PairMoments`.
        asked: float64, (known, 3): likewise.
        largest: what one report says of a mean, up or down.
        shares: float64, (known, 3): of both flags, of the first, of the second.
        covariance: float64, (known, 3, 3): of these, about the devices that reported.
    """

    part: SpecEstimate
    at: NDArray[np.int64]
    means: NDArray[np.float64]
    asked: NDArray[np.float64]
    largest: float
    shares: NDArray[np.float64]
    covariance: NDArray[np.float64]


def observed_pairs(spec: Spec) -> dict[str, tuple[str, str]]:
    """The pairs of flags of which a version knows how often both are true: the flags, by item."""
    return both_true(spec.attributes) if spec.mechanism.estimates_pairs else {}


def estimate_pairs(
    parts: Sequence[SpecEstimate], pairs: Sequence[str], margin: Margin
) -> PairShares:
    """Estimates pairs of flags from all versions that observe them.

    Args:
        pairs: the items that stand for both flags; each is known to some version.
    """
    place = {item: at for at, item in enumerate(pairs)}
    versions = [_version(part, place) for part in parts if part.spec.mechanism.estimates_pairs]
    reports = np.zeros(len(pairs), np.int64)
    shares, covariance = np.zeros((len(pairs), 3)), np.zeros((len(pairs), 3, 3))
    for version in versions:
        reports[version.at] += version.part.reports
    for version in versions:
        weight = (version.part.reports / reports[version.at])[:, None]
        shares[version.at] += weight * version.shares
        covariance[version.at] += weight[:, None] ** 2 * version.covariance
    if margin == "noise-and-sampling":
        covariance += _sampling(versions, reports, shares)
    return PairShares(versions, reports, shares, covariance)


def _version(part: SpecEstimate, place: dict[str, int]) -> _Version:
    tally = cast("SampledCoefficientsTally", share_tally_for(part.spec))
    moments = tally.pair_moments(all_counters(part.counts))
    own = np.array([place.get(item, -1) for item in observed_pairs(part.spec)])
    usable = np.flatnonzero((own >= 0) & np.isfinite(moments.covariance).all(axis=(1, 2)))
    support = part.spec.mechanism.oracles[0].support
    means = moments.means[usable]
    return _Version(
        part,
        own[usable],
        means,
        moments.asked[usable],
        1 / (support.p - support.q),
        _shares_from(means),
        _PER_MEAN @ moments.covariance[usable] @ _PER_MEAN.T,
    )


def _shares_from(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_WITHOUT_MEANS + means @ _PER_MEAN.T)


def _sampling(
    versions: Sequence[_Version], reports: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What is added because the devices are a sample, and one may have sent several reports.

    As for single shares, see `variance_between`: every report has the covariance of its version's
    flags and the distance of that version's shares from those of all.
    """
    added = np.zeros((len(reports), 3, 3))
    spread = _spread(shares)
    for version in versions:
        weight = (version.part.reports / reports[version.at])[:, None, None]
        apart = version.shares - shares[version.at]
        spread_here = _spread(version.shares) + apart[:, :, None] * apart[:, None, :]
        added[version.at] += (
            weight**2 * (1 / version.part.reports + version.part.repeats.extra) * spread_here
        )
    for one_version, other_version in itertools.combinations(versions, 2):
        fraction = shared_pairs_fraction(one_version.part, other_version.part)
        common = np.intersect1d(one_version.at, other_version.at)
        sizes = one_version.part.reports * other_version.part.reports
        weights = (sizes / reports[common] ** 2)[:, None, None]
        added[common] += 2 * fraction * weights * spread[common]
    return added


def _spread(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariances of both flags, the first and the second, of a device drawn at random."""
    first, second = np.clip(shares[:, 1:], 0.0, 1.0).T
    joint = np.clip(shares[:, 0], np.maximum(first + second - 1, 0.0), np.minimum(first, second))
    columns = [joint * (1 - joint), joint * (1 - first), joint * (1 - second)]
    columns += [first * (1 - first), joint - first * second, second * (1 - second)]
    return np.asarray(np.array(columns).T[:, [[0, 1, 2], [1, 3, 4], [2, 4, 5]]])


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
