"""One estimator for every type of metric: what it amounts to, and how two periods differ."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answering.estimation.changes import (
    COMPARED_QUANTILES,
    SAMPLED,
    Comparison,
    MeanOfSide,
    compare_histogram_means,
    compare_means,
    compare_quantiles,
    compare_shapes,
    compare_unlike_means,
    direction_of,
    histogram_distance,
    quantile_notices,
    share_distance,
)
from deniable_aggregator.answering.estimation.distributions import (
    QUANTILES,
    DistributionEstimate,
    estimate_distribution,
)
from deniable_aggregator.answering.estimation.domains import (
    FLAG,
    default_items,
    items_between,
    pairs_of,
)
from deniable_aggregator.answering.estimation.folding import common_edges, edges_between, fold
from deniable_aggregator.answering.estimation.items import ItemEstimates, combine_specs
from deniable_aggregator.answering.estimation.means import MeanEstimate, estimate_mean, range_of
from deniable_aggregator.answering.estimation.segment_closeness import (
    THRESHOLD,
    closeness_notices,
    segment_closeness,
)
from deniable_aggregator.answering.estimation.segments import (
    estimate_segment_sizes,
    estimate_within_segment,
)
from deniable_aggregator.answering.estimation.selection import estimate_shares
from deniable_aggregator.answering.estimation.sets import cut_sets, estimate_set_sizes
from deniable_aggregator.answering.estimation.share_changes import (
    compare_shares,
    compare_subset,
    compare_within_segment,
)
from deniable_aggregator.answering.estimation.thresholds import change_between
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.limits import widest
from deniable_aggregator.answers.questions import (
    ChangeQuery,
    CompareQuery,
    EstimateOptions,
    ValueLists,
    ends_of,
)
from deniable_aggregator.telling.wording import named_shortly, shown_value
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answering.estimation.inputs import (
        ChangeRequest,
        CollectedTallies,
        EstimateRequest,
    )
    from deniable_aggregator.answering.estimation.segment_estimate import SegmentEstimate
    from deniable_aggregator.answering.estimation.shares import ShareEstimate
    from deniable_aggregator.answers.words import KnownIn
    from deniable_shared.spec import MetricType, Spec

LARGEST_ANSWER: Final = 100_000
"""An answer lists at most so many items, those with the largest shares: a million as JSON would
take a gigabyte of memory."""

MOST_COMPARED_AS_ONE: Final = 10_000
"""Of more values, nothing is said about how far their distribution has moved: it takes long."""


class Estimator(Protocol):
    """How metrics of some types are estimated: of one type, with at least one report."""

    def estimate(
        self, tallies: CollectedTallies, request: EstimateRequest
    ) -> ShareEstimate | MeanEstimate | DistributionEstimate:
        """What a metric amounts to.

        Raises:
            ParameterError: if this cannot be estimated.
        """

    def compare(
        self, before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
    ) -> Comparison:
        """How a metric differs between two periods.

        Raises:
            ParameterError: if this cannot be compared.
        """


class ShareEstimator:
    """The shares of values."""

    def estimate(self, tallies: CollectedTallies, request: EstimateRequest) -> ShareEstimate:
        """The shares of values, see `estimate_shares`; one answer lists at most 100,000."""
        specs = request.versions or tallies.specs
        combined = combined_items(specs, request.lists)
        estimate = estimate_shares(
            tallies.sums,
            request.lists.candidates or None,
            _limited_options(specs, request, combined),
            add=combined,
            periods=tallies.periods,
            level=request.level,
            versions=request.versions,
        )
        # Strings have neither segments nor sets.
        if request.versions or estimate.specs[0][0].type == "string":
            return estimate
        margin, level = request.query.margin, request.level
        sizes = estimate_segment_sizes(tallies.tallies, margin, level, tallies.periods)
        of_sets = estimate_set_sizes(tallies.tallies, margin, level, tallies.periods)
        return dataclasses.replace(
            estimate,
            sizes=(*sizes, *of_sets),
            notices=(*cut_sets(of_sets), *estimate.notices),
        )

    def compare(
        self, before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
    ) -> Comparison:
        """How shares differ, of the values that both periods know."""
        lists = request.lists
        versions = list(dict.fromkeys([*before.specs, *after.specs]))
        combined = combined_items(versions, lists)
        listed = lists.candidates or combined
        earlier, later = (
            combine_specs(side.sums, listed, SAMPLED, periods=side.periods, versions=versions)
            for side in (before, after)
        )
        common, not_compared = _common_items(earlier, later)
        names = [set().union(*map(_listed, side.specs)) for side in (before, after)]
        swapped: dict[str, KnownIn] = {}
        if all(default_items([spec]) is not None for spec in versions):
            common, swapped = _perhaps_renamed(earlier.domain, common, names)
        not_compared = {**not_compared, **swapped}
        if not common.size <= LARGEST_ANSWER or not (common.size or combined):
            constraint = f"1 to {LARGEST_ANSWER:,} that both periods know"
            raise ParameterError("values", constraint, common.size)
        change = None
        if combined is not None:
            level = 1 - request.level
            change = compare_subset(before, after, combined, level, versions)
        alpha = request.alpha(common.size)
        differences = compare_shares(earlier, later, common, alpha)
        items = tuple(earlier.domain[place] for place in common.tolist())
        everything = not listed and not not_compared
        comparable = everything and 1 < len(items) <= MOST_COMPARED_AS_ONE
        whole = comparable and before.specs[0].type == "category"
        return Comparison(
            items,
            differences,
            "shares",
            not_compared,
            change,
            notices=_renamed_notices(before.specs[0].name, swapped),
            distance=share_distance(differences) if whole else None,
        )


class MeanEstimator:
    """The mean of a number."""

    def estimate(self, tallies: CollectedTallies, request: EstimateRequest) -> MeanEstimate:
        """The mean, see `estimate_mean`."""
        _refuse_lists(tallies, request.lists, request.query)
        return estimate_mean(tallies.tallies, periods=tallies.periods, level=request.level)

    def compare(
        self, before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
    ) -> Comparison:
        """How the mean differs."""
        _refuse_lists(before, request.lists, request.query)
        differences = compare_means(before, after, request.alpha(1))
        specs = (*before.specs, *after.specs)
        ends = widest(map(range_of, specs))
        return Comparison((before.specs[0].name,), differences, "mean", range=ends)


class DistributionEstimator:
    """The histogram of a number."""

    def estimate(self, tallies: CollectedTallies, request: EstimateRequest) -> DistributionEstimate:
        """The histogram, see `estimate_distribution`."""
        _refuse_lists(tallies, request.lists, request.query)
        found = estimate_distribution(
            tallies.tallies,
            method=request.query.reconstruction,
            quantiles=request.query.quantile or QUANTILES,
            periods=tallies.periods,
            level=request.level,
        )
        return dataclasses.replace(found, between=ends_of(request.query))

    def compare(
        self, before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
    ) -> Comparison:
        """How the mean, the quantiles and the whole histogram differ."""
        _refuse_lists(before, request.lists, request.query)
        earlier, later = (
            estimate_distribution(
                side.tallies,
                quantiles=request.query.quantile or COMPARED_QUANTILES,
                periods=side.periods,
                level=request.level,
            )
            for side in (before, after)
        )
        edges = earlier.edges
        if not np.array_equal(edges, later.edges):
            common = common_edges(earlier.edges.tolist(), later.edges.tolist())
            if common is None:
                raise ParameterError("range", "one with bins that both periods have", before.specs)
            edges = common
        earlier, later = fold(earlier, edges), fold(later, edges)
        differences = compare_histogram_means(earlier, later, request.alpha(1))
        above, below = request.ends
        combined = None
        if (above, below) != (None, None):
            specs = [spec for side in (earlier, later) for spec, _ in side.specs]
            sides = earlier.histogram, later.histogram
            combined = change_between(sides, edges, specs, above, below, 1 - request.level)
        distance = histogram_distance(earlier.histogram, later.histogram)
        return Comparison(
            (earlier.metric,),
            differences,
            "mean",
            combined=combined,
            notices=quantile_notices(earlier, later),
            quantiles=compare_quantiles(earlier, later),
            range=(float(edges[0]), float(edges[-1])),
            distance=distance._replace(
                direction=direction_of(earlier.histogram.raw, later.histogram.raw)
            ),
        )


_SHARES: Final = ShareEstimator()

MEANS: Final = {"distribution", "number"}
"""Types that have a mean."""

ESTIMATORS: Final[Mapping[MetricType, Estimator]] = {
    "attributes": _SHARES,
    "boolean": _SHARES,
    "category": _SHARES,
    "distribution": DistributionEstimator(),
    "number": MeanEstimator(),
    "set": _SHARES,
    "string": _SHARES,
}
"""By type of metric."""


def estimate(
    tallies: CollectedTallies, request: EstimateRequest
) -> ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate:
    """What a metric amounts to, or its values within one segment.

    Args:
        tallies: what was counted of it; at least one report.

    Raises:
        ParameterError: if this cannot be estimated.
    """
    kind, segment = common_type(tallies.specs), request.query.segment
    refuse_quantiles(kind, request.query.quantile)
    _refuse_ends(kind, *ends_of(request.query))
    if segment is None:
        return ESTIMATORS[kind].estimate(tallies, request)
    _refuse_combined(request.lists)
    estimate = estimate_within_segment(
        tallies.tallies,
        segment,
        request.query,
        tallies.periods,
        request.level,
        listed=request.lists.candidates or None,
        versions=request.versions,
        may_be_empty=bool(request.versions),
    )
    if request.versions:
        return estimate
    query = request.query
    threshold = THRESHOLD if query.closeness is None else query.closeness
    close = segment_closeness(
        tallies.tallies, segment, tallies.periods, ordered=query.ordered, threshold=threshold
    )
    notices = () if close is None else closeness_notices(close)
    return dataclasses.replace(estimate, closeness=close, notices=(*estimate.notices, *notices))


def compare(
    before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
) -> Comparison:
    """How a metric differs between two periods.

    Args:
        before: what was counted in the first; at least one report.

    Raises:
        ParameterError: if this cannot be compared.
    """
    if {spec.type for spec in (*before.specs, *after.specs)} == MEANS:
        return _compare_unlike_means(before, after, request)
    kind = common_type([*before.specs, *after.specs])
    refuse_quantiles(kind, request.query.quantile)
    _refuse_ends(kind, *request.ends)
    if request.segment is not None:
        _refuse_combined(request.lists)
        return compare_within_segment(before, after, request.segment, request)
    compared = ESTIMATORS[kind].compare(before, after, request)
    return dataclasses.replace(compared, shape=compare_shapes(before, after))


def refuse_for_segments(specs: Sequence[Spec], request: ChangeRequest) -> None:
    """Refuses what does not fit a comparison of two segments.

    Args:
        specs: the versions with reports.

    Raises:
        ParameterError: if something does not.
    """
    refuse_quantiles(specs[0].value_type, request.query.quantile)
    _refuse_combined(request.lists)


def _compare_unlike_means(
    before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
) -> Comparison:
    """How the mean differs between a period of numbers and one of a distribution."""
    refuse_quantiles("number", request.query.quantile)
    _refuse_ends("number", *request.ends)
    _refuse_lists(before, request.lists, request.query)
    low, high = next(
        range_of(spec) for spec in (*before.specs, *after.specs) if spec.type == "number"
    )
    sides = [_mean_of(side, low, high) for side in (before, after)]
    differences = compare_unlike_means(sides[0], sides[1], request.alpha(1))
    name = before.specs[0].name
    return Comparison((name,), differences, "mean", range=(low, high))


def _mean_of(side: CollectedTallies, low: float, high: float) -> MeanOfSide:
    """The mean of one side, of values between these ends."""
    if side.specs[0].type == "number":
        estimate = estimate_mean(side.tallies, periods=side.periods)
        return MeanOfSide(estimate.mean, estimate.standard_error, estimate.influence, 0.0)
    histogram = estimate_distribution(side.tallies, quantiles=(0.5,), periods=side.periods)
    edges = edges_between(side.specs[0], low, high)
    assert edges is not None  # otherwise the two are not compared
    folded = fold(histogram, edges)
    width, drawn = folded.width, folded.histogram
    return MeanOfSide(
        folded.mean.value,
        width * drawn.mean_variance**0.5,
        width * drawn.influence.mean,
        width / drawn.held.size / 2,
    )


def common_kind(specs: Sequence[Spec]) -> MetricType | None:
    """The type that all versions of a metric have; None if they have several."""
    types = {spec.value_type for spec in specs}
    return types.pop() if len(types) == 1 else None


def common_type(specs: Sequence[Spec]) -> MetricType:
    """The type that all versions of a metric have.

    Raises:
        ParameterError: if they have several.
    """
    types = sorted({spec.value_type for spec in specs})
    if len(types) > 1:
        raise ParameterError("type", "the same in all of these days: narrow since and until", types)
    return specs[0].value_type


def refuse_quantiles(kind: MetricType, quantiles: Sequence[float]) -> None:
    """Refuses to look for quantiles of anything but a distribution.

    Raises:
        ParameterError: if there are any.
    """
    if quantiles and kind != "distribution":
        constraint = f"left out: only a distribution has quantiles, and this is a {kind}"
        raise ParameterError("quantile", constraint, quantiles[0])


def _refuse_ends(kind: MetricType, above: float | None, below: float | None) -> None:
    """Refuses to look for values above or below a number in anything but a distribution.

    Raises:
        ParameterError: if that is asked for.
    """
    for name, end in (("above", above), ("below", below)):
        if end is not None and kind != "distribution":
            constraint = f"left out: only a distribution is asked for it, and this is a {kind}"
            raise ParameterError(name, constraint, end)


def combined_items(specs: Sequence[Spec], lists: ValueLists) -> Sequence[str] | None:
    """The items whose share together is asked for, or None.

    Raises:
        ParameterError: if a range is not one of the metric's.
    """
    return items_between(specs, *lists.range) if lists.range else lists.combined or None


def _limited_options(
    specs: Sequence[Spec], request: EstimateRequest, combined: Sequence[str] | None
) -> EstimateOptions:
    """The options, with a limit on the number of items shown."""
    query = request.query
    items = request.lists.candidates or combined or default_items(specs) or ()
    if min(len(items), query.top or len(items)) <= LARGEST_ANSWER:
        return query
    return replace(query, top=LARGEST_ANSWER)


def _refuse_combined(lists: ValueLists) -> None:
    """Refuses to add values up within a segment.

    Raises:
        ParameterError: if that is asked for.
    """
    if lists.combined or lists.range:
        raise ParameterError("combined", "left out within a segment", lists.combined or lists.range)


def _refuse_lists(
    tallies: CollectedTallies,
    lists: ValueLists,
    query: EstimateOptions | ChangeQuery | CompareQuery,
) -> None:
    """Refuses to look for values in numbers.

    Raises:
        ParameterError: naming what does not fit.
    """
    chosen: dict[str, Any] = {
        name: getattr(lists, name) or None for name in lists.__struct_fields__
    }
    chosen["top"] = query.top
    if isinstance(query, EstimateOptions):
        chosen["detected"] = query.detected or None
        chosen["interval"] = query.interval
        chosen["postprocess"] = None if query.postprocess == "none" else query.postprocess
    for name, value in chosen.items():
        if value is not None:
            kind = tallies.specs[0].type
            constraint = f"left out: it is about values, and a {kind} has no single values"
            raise ParameterError(name, constraint, value)


def _listed(spec: Spec) -> set[str]:
    """The values of a known domain, also pairs of attributes and with segments."""
    return {*(default_items([spec]) or ()), *spec.items, *pairs_of([spec]), *FLAG}


def _perhaps_renamed(
    domain: Sequence[str], common: NDArray[np.int64], names: Sequence[Collection[str]]
) -> tuple[NDArray[np.int64], dict[str, KnownIn]]:
    """What is left to compare without values that may have changed their names.

    A value that no version before lists was 0 before, and one that none after lists is 0 after.
    Where there are both, one may be the new name of the other, and neither difference is one.

    Args:
        domain: all values.
        common: int64: the positions of what is known in both periods.
        names: the values that versions list, before and after.
    """
    appeared = [at for at in common.tolist() if domain[at] not in names[0]]
    gone = [at for at in common.tolist() if domain[at] not in names[1]]
    if not appeared or not gone:
        return common, {}
    swapped: dict[str, KnownIn] = {domain[at]: "after" for at in appeared}
    swapped |= {domain[at]: "before" for at in gone}
    return np.setdiff1d(common, [*appeared, *gone]), swapped


def _renamed_notices(metric: str, swapped: Mapping[str, KnownIn]) -> tuple[Notice, ...]:
    if not swapped:
        return ()
    new, old = (
        named_shortly([shown_value(value) for value, known in swapped.items() if known == side])
        for side in ("after", "before")
    )
    return (
        Notice(
            "values_renamed",
            "warning",
            f"Since {metric} lists {new}, it does not list {old}: whether a value has another name "
            "is not known, so these are not compared. Ask for their shares in each period; if one "
            "was renamed, say so by renamed in the registry",
        ),
    )


def _common_items(
    before: ItemEstimates, after: ItemEstimates
) -> tuple[NDArray[np.int64], Mapping[str, KnownIn]]:
    """The positions of what is compared: what is known of all reports, before and after.

    Returns:
        These, and for all other items that were asked for, in which period they are known.
    """
    requested = before.asked
    earlier, later = (
        side.combined.reports[requested] == side.combined.total for side in (before, after)
    )
    return requested[earlier & later], {
        before.domain[place]: "before" if first else "after" if second else "neither"
        for place, first, second in zip(
            requested.tolist(), earlier.tolist(), later.tolist(), strict=True
        )
        if not (first and second)
    }
