"""Differences of shares between two periods: their errors, intervals and tests."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import special

from deniable_aggregator.answering.estimation.changes import (
    ALPHA,
    SAMPLED,
    Comparison,
    Differences,
)
from deniable_aggregator.answering.estimation.segments import estimate_within_segment
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answers.common import FakesNote
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.counting.statistics.binomial import is_small_count
from deniable_aggregator.counting.statistics.influence import FORGED_SHARE, concentrate
from deniable_aggregator.counting.statistics.intervals import (
    shared_pairs_across_specs,
    z_for_alpha,
)
from deniable_aggregator.counting.statistics.set_estimates import SetShares
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.combination import CombinedShares
    from deniable_aggregator.answering.estimation.domains import SpecEstimate
    from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
    from deniable_aggregator.answering.estimation.items import ItemEstimates
    from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
    from deniable_aggregator.answers.words import KnownIn
    from deniable_aggregator.counting.tallies import SupportCounts
    from deniable_shared.spec import Spec


FAKES_OF_CHANGES: Final = FakesNote(
    FORGED_SHARE,
    f"shift_if_fake is how far fake reports could move the change beside it, up or down, if they "
    f"came on top of the reports that were counted until they were {FORGED_SHARE:.0%} of all in "
    "either period, each made to move it most: up in the one period and down in the other. No "
    "interval and no test allows for it",
)
"""What `shift_if_fake` beside every change is."""


class SignedInfluence(NamedTuple):
    """How far fake reports could move estimates to either side.

    Attributes:
        up: float64, (items,).
        down: float64, (items,).
    """

    up: NDArray[np.float64]
    down: NDArray[np.float64]


def influence_on_changes(before: SignedInfluence, after: SignedInfluence) -> NDArray[np.float64]:
    """How far fakes could move differences: up in one period and down in the other.

    Returns:
        float64, (items,).
    """
    return np.asarray(np.maximum(before.up + after.down, before.down + after.up))


def signed_influence(combined: CombinedShares, chosen: NDArray[np.int64]) -> SignedInfluence:
    """How far fakes, 1% of all reports, could move shares to either side: at most.

    All of them claim to be of the version in which one report moves the average most.

    `influence` of an estimate is the move to the farther side. If estimates count supporting
    reports, a report contributes between -q/(p - q) and (1 - q)/(p - q), and the move to the
    nearer side follows; elsewhere it is assumed to be as far, which is an upper bound.

    Args:
        chosen: int64, (items,): the positions of some of the items.
    """
    up, down = np.zeros(combined.share.size), np.zeros(combined.share.size)
    for part in combined.parts:
        share, counted, mine = part.shares.share, part.shares.support_counts, part.known
        radius: Any = part.shares.influence
        above = below = np.ones(share.size)
        if counted is not None:
            gap = counted.support.p - counted.support.q
            above = np.maximum((1 - counted.support.q) / gap - share, 0.0)
            below = np.maximum(share + counted.support.q / gap, 0.0)
        farther = radius / np.maximum(above, below)
        apart = FORGED_SHARE * (share - combined.share[mine])
        up[mine] = np.maximum(up[mine], farther * above + apart)
        down[mine] = np.maximum(down[mine], farther * below - apart)
    about = combined.reports, combined.total
    return SignedInfluence(concentrate(up, *about)[chosen], concentrate(down, *about)[chosen])


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
    fixed = first.fixed_covariance(second, places, earlier, later)
    separate = first.variance[places] + second.variance[places] - 2 * fixed
    pooled = (first.total * earlier + second.total * later) / (first.total + second.total)
    null = sum(
        side.variance_at(_with_shares_at(side, places, pooled))[places] for side in (first, second)
    )
    null = null - 2 * first.fixed_covariance(second, places, pooled, pooled)
    p_value = 2 * special.ndtr(-np.abs(later - earlier) / np.sqrt(null))
    exactly = _fisher(first, second, places)
    # The distances of Zou and Donner (2008), as for all sums of estimates. Where both have a part
    # in common, the difference has noise alone.
    normal = z_for_alpha(alpha) * np.sqrt(separate)
    lower, upper = (
        np.where(fixed == 0, np.hypot(mine, theirs), normal)
        for mine, theirs in (
            (later - above.low, below.high - earlier),
            (above.high - later, earlier - below.low),
        )
    )
    return Differences(
        before=earlier,
        after=later,
        standard_error=np.sqrt(separate),
        same_devices=np.sqrt(np.maximum(separate - 2 * _covariance(first, second, places), 0.0)),
        low=later - earlier - lower,
        high=later - earlier + upper,
        p_value=p_value if exactly is None else exactly,
        influence=influence_on_changes(
            signed_influence(first, places), signed_influence(second, places)
        ),
    )


def compare_subset(
    before: CollectedTallies,
    after: CollectedTallies,
    items: Sequence[str],
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
    options = EstimateOptions(margin=SAMPLED, interval="one", postprocess="none")
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
        common, family = _common_variance(mine, theirs, low, high)
        pairs = shared_pairs_across_specs(mine.periods or {}, theirs.periods or {})
        covariance = common * pairs / (mine.reports * theirs.reports) + family
        weights = weight[places] * factor[places]
        total += np.where(weights > 0, weights * covariance, 0.0)
    return total


def _common_variance(
    mine: SpecEstimate, theirs: SpecEstimate, low: Any, high: Any
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
        measured = isinstance(mine.shares, SetShares)  # and is in the difference already
        if not measured and pair[0] is not None and pair[1] is not None:
            family = min(pair[0].family_variance, pair[1].family_variance)
    return common + low - low * high, family


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


def compare_within_segment(
    before: CollectedTallies, after: CollectedTallies, segment: str, request: ChangeRequest
) -> Comparison:
    """How the shares of values among the devices of one segment differ.

    Raises:
        ParameterError: if a period does not have the segment, or so little of it that its shares
            are unknown, if no value is known in both, or if an option does not fit.
    """
    lists = request.lists
    versions = list(dict.fromkeys([*before.specs, *after.specs]))
    first, second = (
        estimate_side(side, segment, request, versions, 1 - request.level)
        for side in (before, after)
    )
    known_items = [known_of_all(estimate) for estimate in (first, second)]
    items = tuple(dict.fromkeys((*first.items, *second.items)))
    common = tuple(item for item in items if item in known_items[0] and item in known_items[1])
    if not common:
        listed = list(lists.candidates or ())
        raise ParameterError("value", "one that both periods know", listed)
    alpha = request.alpha(len(common))
    if alpha != 1 - request.level:
        first, second = (
            estimate_side(estimate, segment, request, versions, alpha)
            for estimate in (before, after)
        )
    rows = [[side.items.index(item) for item in common] for side in (first, second)]
    assert first.size is not None
    assert second.size is not None
    return Comparison(
        common,
        _differences(first, second, *rows),
        "shares",
        {item: _known_in(item, *known_items) for item in items if item not in common},
        notices=tuple(
            {notice.code: notice for notice in (*first.notices, *second.notices)}.values()
        ),
        segment=(first.size, second.size),
    )


def known_of_all(estimate: SegmentEstimate) -> frozenset[str]:
    """The values that all versions with the segment tell from others.

    Args:
        estimate: of the segment.
    """
    reports = zip(estimate.items, estimate.known.tolist(), strict=True)
    return frozenset(item for item, reported in reports if reported == estimate.reports)


def _known_in(item: str, before: frozenset[str], after: frozenset[str]) -> KnownIn:
    return "before" if item in before else "after" if item in after else "neither"


def estimate_side(
    tallies: CollectedTallies,
    segment: str,
    request: ChangeRequest,
    versions: Sequence[Spec],
    alpha: float,
) -> SegmentEstimate:
    """The shares of values within a segment of one side of a comparison.

    Args:
        tallies: of the side.
        segment: which.
        request: what is asked.
        versions: of both sides.
        alpha: the probability that a single interval may miss, in (0, 1).

    Raises:
        ParameterError: see `estimate_within_segment`.
    """
    return estimate_within_segment(
        tallies.tallies,
        segment,
        EstimateOptions(margin=SAMPLED),
        tallies.periods,
        1 - alpha,
        listed=request.lists.candidates or None,
        versions=versions,
    )


def _differences(
    first: SegmentEstimate, second: SegmentEstimate, before: list[int], after: list[int]
) -> Differences:
    """The differences of ratios; how they vary together for the same devices is not known."""
    earlier, later = first.share[before], second.share[after]
    error = np.hypot(first.standard_error[before], second.standard_error[after])
    error = np.maximum(error, LEAST_ERROR)
    return Differences(
        before=earlier,
        after=later,
        standard_error=error,
        same_devices=np.full(earlier.size, np.nan),
        # The distances of Zou and Donner (2008), as for all sums of estimates.
        low=later - earlier - np.hypot(later - second.low[after], first.high[before] - earlier),
        high=later - earlier + np.hypot(second.high[after] - later, earlier - first.low[before]),
        p_value=2 * special.ndtr(-np.abs(later - earlier) / error),
        influence=first.influence[before] + second.influence[after],
    )
