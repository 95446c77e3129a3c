"""Differences of shares between two periods: their errors, intervals and tests."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import special

from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.estimation.changes.comparison import ALPHA, Differences
from deniable_aggregator.estimation.changes.influence import (
    influence_on_changes,
    signed_influence,
)
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_aggregator.statistics.binomial import is_small_count
from deniable_aggregator.statistics.repeated_reports import shared_pairs_across_specs
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.estimation.inputs import CollectedTallies
    from deniable_aggregator.estimation.shares.combination import CombinedShares
    from deniable_aggregator.estimation.shares.items import ItemEstimates
    from deniable_aggregator.estimation.shares.spec_estimates import SpecEstimate
    from deniable_aggregator.tallies import SupportCounts
    from deniable_shared.spec import Spec

COMBINED: Final = (
    "of the share of all of these values together: interval and test are for values chosen before "
    "looking, both normal, with the errors of different devices; the shift is an upper bound"
)
"""What the change of a combined share is."""

LEAST_ERROR: Final = 1e-15
"""Of rounding errors: the share of a whole domain is 1 without any noise."""


def compare_shares(
    before: ItemEstimates, after: ItemEstimates, places: NDArray[np.int64], alpha: float
) -> Differences:
    """The differences of items' shares.

    Args:
        after: those of the second, of the same domain.
        places: int64, (items,): the positions of what is compared.
        alpha: the probability that a single interval may miss, in (0, 1).
    """
    first, second = before.combined, after.combined
    earlier, later = first.share[places], second.share[places]
    below, above = first.limits(places, alpha), second.limits(places, alpha)
    separate = first.variance[places] + second.variance[places]
    pooled = (first.total * earlier + second.total * later) / (first.total + second.total)
    null = sum(
        side.variance_at(_with_shares_at(side, places, pooled))[places] for side in (first, second)
    )
    p_value = 2 * special.ndtr(-np.abs(later - earlier) / np.sqrt(null))
    exactly = _fisher(first, second, places)
    return Differences(
        before=earlier,
        after=later,
        standard_error=np.sqrt(separate),
        same_devices=np.sqrt(np.maximum(separate - 2 * _covariance(first, second, places), 0.0)),
        # The distances of Zou and Donner (2008), as for all sums of estimates.
        low=later - earlier - np.hypot(later - above.low, below.high - earlier),
        high=later - earlier + np.hypot(above.high - later, earlier - below.low),
        p_value=p_value if exactly is None else exactly,
        influence=influence_on_changes(
            signed_influence(first, places), signed_influence(second, places)
        ),
    )


def compare_subset(
    before: CollectedTallies,
    after: CollectedTallies,
    items: Sequence[str],
    margin: Margin,
    alpha: float,
    versions: Sequence[Spec],
) -> Measured:
    """The difference of the share of some items together.

    Errors assume that no device reported in both periods: the covariance for the same devices is
    not computed for combined shares.

    Args:
        alpha: the probability that the interval may miss, in (0, 1).
        versions: all specs with reports in either period.

    Raises:
        ParameterError: if the share is not known of all reports, before and after.
    """
    options = EstimateOptions(margin=margin, interval="one", postprocess="none")
    estimates = [
        estimate_shares(
            side.tallies,
            None,
            options,
            add=items,
            periods=side.periods,
            level=1 - alpha,
            versions=versions,
        ).combined
        for side in (before, after)
    ]
    first, second = estimates
    if first is None or second is None or first.possible or second.possible:
        constraint = "values whose share together all versions know: ask for one version"
        raise ParameterError("combined", constraint, list(items))
    difference = second.share - first.share
    error = math.hypot(first.standard_error, second.standard_error)
    p_value = float(2 * special.ndtr(-abs(difference) / max(error, LEAST_ERROR)))
    return Measured(
        measure="difference in combined",
        value=" + ".join(items),
        values=tuple(items),
        period=1,
        before=first.share,
        after=second.share,
        estimate=difference,
        standard_error=error,
        low=difference - math.hypot(second.share - second.low, first.high - first.share),
        high=difference + math.hypot(second.high - second.share, first.share - first.low),
        p_value=p_value,
        told=p_value <= ALPHA,
        shift_if_fake=first.influence + second.influence,
    )


def _with_shares_at(
    combined: CombinedShares, places: NDArray[np.int64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    everything = combined.share.copy()
    everything[places] = share
    return everything


def _covariance(
    first: CombinedShares, second: CombinedShares, places: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The covariance of two estimates, if as many devices as possible are in both.

    NaN for RAPPOR: its permanent bits go through a regression, so it is not known.
    """
    low = np.clip(np.minimum(first.share[places], second.share[places]), 0.0, 1.0)
    high = np.clip(np.maximum(first.share[places], second.share[places]), 0.0, 1.0)
    total = np.zeros(places.size)
    for (mine, weight), (theirs, factor) in itertools.product(
        zip(first.parts, first.weights, strict=True), zip(second.parts, second.weights, strict=True)
    ):
        common, family = _common_variance(mine, theirs, low, high, first.margin)
        pairs = shared_pairs_across_specs(mine.periods or {}, theirs.periods or {})
        covariance = common * pairs / (mine.reports * theirs.reports) + family
        weights = weight[places] * factor[places]
        total += np.where(weights > 0, weights * covariance, 0.0)
    return total


def _common_variance(
    mine: SpecEstimate, theirs: SpecEstimate, low: Any, high: Any, margin: Margin
) -> tuple[Any, float]:
    """The covariance of two reports of one device, and that of a hash family between all reports.

    A device whose value changed has other permanent answers, so only unchanged values count.
    """
    common, family = 0.0 * low, 0.0
    if mine.spec == theirs.spec:
        permanent = mine.repeats.permanent
        if permanent is not None:
            common = low * permanent.variance(1.0, 1) + (1 - high) * permanent.variance(0.0, 1)
        elif mine.spec.mechanism.epsilon_permanent is not None:
            common = np.full_like(low, np.nan)
        pair = mine.shares.support_counts, theirs.shares.support_counts
        if pair[0] is not None and pair[1] is not None:
            family = min(pair[0].family_variance, pair[1].family_variance)
    return common + (low - low * high if margin == "noise-and-sampling" else 0.0), family


def _fisher(
    first: CombinedShares, second: CombinedShares, places: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """P-values of Fisher's exact test (twice the smaller tail), where few supporters are expected.

    None if it does not apply: it needs one spec, the same before and after, and no two reports of
    one device in a period.
    """
    if len(first.parts) != 1 or len(second.parts) != 1:
        return None
    (mine,), (theirs,) = first.parts, second.parts
    before, after = mine.shares.support_counts, theirs.shares.support_counts
    if mine.spec != theirs.spec or mine.repeats.extra or theirs.repeats.extra:
        return None
    if before is None or after is None or not (_few(before) or _few(after)):
        return None
    earlier = before.supporting[np.searchsorted(mine.known, places)]
    later = after.supporting[np.searchsorted(theirs.known, places)]
    reports = before.reports + after.reports
    from scipy import stats  # rarely needed, and imports for longer than the rest of the server

    law = stats.hypergeom(reports, earlier + later, before.reports)
    tail = np.minimum(law.cdf(earlier), law.sf(earlier - 1))
    return np.asarray(np.minimum(2 * tail, 1.0))


def _few(counted: SupportCounts) -> bool:
    return is_small_count(counted, 0.05)
