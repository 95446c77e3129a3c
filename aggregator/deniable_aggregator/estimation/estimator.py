"""One estimator for every type of metric: what it amounts to, and how two periods differ."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import replace

from deniable_aggregator.answers.questions import EstimateOptions
from deniable_aggregator.estimation.comparison import (
    Comparison,
    OnlyInOnePeriod,
    compare_histogram_means,
    compare_means,
)
from deniable_aggregator.estimation.comparison_of_shares import compare_shares, compare_subset
from deniable_aggregator.estimation.distributions import estimate_distribution
from deniable_aggregator.estimation.domains import (
    FLAG,
    default_items,
    items_between,
    pairs_of,
    value_type,
)
from deniable_aggregator.estimation.inputs import NO_LISTS
from deniable_aggregator.estimation.items import combine_specs
from deniable_aggregator.estimation.means import estimate_mean
from deniable_aggregator.estimation.segments import estimate_segment_sizes, estimate_within_segment
from deniable_aggregator.estimation.shares import estimate_shares
from deniable_aggregator.statistics.intervals import alpha_per_interval
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.answers.questions import ChangeQuery, ValueLists
    from deniable_aggregator.answers.words import Margin
    from deniable_aggregator.estimation.distribution_estimate import DistributionEstimate
    from deniable_aggregator.estimation.inputs import (
        ChangeRequest,
        CollectedTallies,
        EstimateRequest,
    )
    from deniable_aggregator.estimation.means import MeanEstimate
    from deniable_aggregator.estimation.results import ShareEstimate
    from deniable_aggregator.estimation.segments import SegmentEstimate
    from deniable_shared.spec import MetricType, Spec

LARGEST_ANSWER: Final = 100_000
"""An answer lists at most so many items, those with the largest shares: a million as JSON would
take a gigabyte of memory."""


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
        if request.known_only and request.lists.candidates:
            return self._estimate_known(tallies, request)
        combined = combined_items(tallies.specs, request.lists)
        found = estimate_shares(
            tallies.tallies,
            request.lists.candidates or None,
            _bounded(tallies.specs, request, combined),
            add=combined,
            periods=tallies.periods,
            level=request.level,
        )
        if request.known_only:
            return found
        margin, level = request.query.margin, request.level
        sizes = estimate_segment_sizes(tallies.tallies, margin, level, tallies.periods)
        return dataclasses.replace(found, segments=sizes)

    def _estimate_known(self, tallies: CollectedTallies, request: EstimateRequest) -> ShareEstimate:
        """The shares of those of the listed values that a period knows."""
        listed = request.lists.candidates or ()
        known = _known_domain(tallies, named=True)
        there = listed if known is None else tuple(item for item in listed if item in set(known))
        # Of attributes, there may be no report about some of the values.
        everything = not there or tallies.specs[0].type == "attributes"
        combined = combined_items(tallies.specs, request.lists)
        whole = known is None or set(combined or ()) <= set(known)
        found = estimate_shares(
            tallies.tallies,
            None if everything else there,
            request.query,
            add=combined if whole else None,
            periods=tallies.periods,
            level=request.level,
        )
        return found.only(there) if everything else found

    def compare(
        self, before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
    ) -> Comparison:
        """How shares differ, of the values that both periods know."""
        query, lists = request.query, request.lists
        combined = combined_items([*before.specs, *after.specs], lists)
        listed = lists.candidates or combined
        both, only_one = _common_items(before, after, listed, query.margin)
        alpha = _alpha(request, len(both))
        change = None
        if combined is not None:
            level = 1 - request.level
            change = compare_subset(before, after, combined, query.margin, level)
        differences = compare_shares(before, after, both, query.margin, alpha)
        return Comparison(both, differences, "shares", query.margin, only_one, change)


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
        differences = compare_means(before, after, _alpha(request, 1))
        return Comparison((before.specs[0].name,), differences, "mean", "noise-and-sampling")


class DistributionEstimator:
    """The histogram of a number."""

    def estimate(self, tallies: CollectedTallies, request: EstimateRequest) -> DistributionEstimate:
        """The histogram, see `estimate_distribution`."""
        _refuse_lists(tallies, request.lists, request.query)
        return estimate_distribution(
            tallies.tallies,
            method=request.query.reconstruction,
            periods=tallies.periods,
            level=request.level,
        )

    def compare(
        self, before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
    ) -> Comparison:
        """How the mean of the histogram differs."""
        _refuse_lists(before, request.lists, request.query)
        differences = compare_histogram_means(before, after, _alpha(request, 1))
        return Comparison((before.specs[0].name,), differences, "mean", "noise-and-sampling")


_SHARES: Final = ShareEstimator()

ESTIMATORS: Final[Mapping[MetricType, Estimator]] = {
    "attributes": _SHARES,
    "boolean": _SHARES,
    "category": _SHARES,
    "distribution": DistributionEstimator(),
    "number": MeanEstimator(),
    "string": _SHARES,
}
"""By type of metric."""


def estimate(
    tallies: CollectedTallies, request: EstimateRequest
) -> ShareEstimate | SegmentEstimate | MeanEstimate | DistributionEstimate:
    """What a metric amounts to, or its values within one segment.

    Args:
        tallies: what was counted of it; at least one report.
        request: what is asked.

    Raises:
        ParameterError: if this cannot be estimated.
    """
    kind, segment = common_type(tallies.specs), request.query.segment
    if segment is None:
        return ESTIMATORS[kind].estimate(tallies, request)
    if request.lists != NO_LISTS:
        constraint = "asked for without a body: within it, all values are estimated"
        raise ParameterError("segment", constraint, segment)
    return estimate_within_segment(
        tallies.tallies, segment, request.query, tallies.periods, request.level
    )


def compare(
    before: CollectedTallies, after: CollectedTallies, request: ChangeRequest
) -> Comparison:
    """How a metric differs between two periods.

    Args:
        before: what was counted in the first; at least one report.
        after: in the second.
        request: what is asked.

    Raises:
        ParameterError: if this cannot be compared.
    """
    kind = common_type([*before.specs, *after.specs])
    return ESTIMATORS[kind].compare(before, after, request)


def common_type(specs: Sequence[Spec]) -> MetricType:
    """The type that all versions of a metric have.

    Raises:
        ParameterError: if they have several.
    """
    types = sorted({value_type(spec) for spec in specs})
    if len(types) > 1:
        raise ParameterError("type", "the same in all of these days: narrow since and until", types)
    return value_type(specs[0])


def combined_items(specs: Sequence[Spec], lists: ValueLists) -> Sequence[str] | None:
    """The items whose share together is asked for, or None.

    Args:
        specs: the versions of the metric.
        lists: what is asked for.

    Raises:
        ParameterError: if a range is not one of the metric's.
    """
    return items_between(specs, *lists.range) if lists.range else lists.combined or None


def _bounded(
    specs: Sequence[Spec], request: EstimateRequest, combined: Sequence[str] | None
) -> EstimateOptions:
    """The options, with a limit on the number of items shown."""
    query = request.query
    items = request.lists.candidates or combined or default_items(specs) or ()
    if min(len(items), query.top or len(items)) <= LARGEST_ANSWER:
        return query
    return replace(query, top=LARGEST_ANSWER)


def _alpha(request: ChangeRequest, items: int) -> float:
    """The probability that a single interval may miss, if so many items are compared."""
    top = request.query.top
    interval = request.query.interval or ("one" if top is None else "picked")
    shown = min(top or items, items)
    return alpha_per_interval(interval, level=request.level, asked=items, shown=shown)


def _refuse_lists(
    tallies: CollectedTallies, lists: ValueLists, query: EstimateOptions | ChangeQuery
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


def _known_domain(tallies: CollectedTallies, *, named: bool) -> tuple[str, ...] | None:
    """What a period knows by its versions; None for strings, where that is whatever is asked."""
    specs = tallies.specs
    values = default_items(specs)
    if values is None or not named:
        return values
    return (*(FLAG if value_type(specs[0]) == "boolean" else values), *pairs_of(specs))


def _common_items(
    before: CollectedTallies,
    after: CollectedTallies,
    items: Sequence[str] | None,
    margin: Margin,
) -> tuple[tuple[str, ...], OnlyInOnePeriod]:
    """What is compared: of what was asked for, or of everything, what both periods know.

    Raises:
        ParameterError: if that is nothing, or more than an answer lists.
    """
    metric = before.specs[0].name
    first, second = (
        _reported_items(each, margin, named=items is not None) for each in (before, after)
    )
    if first is None or second is None:
        if items is None:
            raise ParameterError("candidates", f"given for {metric}", items)
        first = second = tuple(items)
    earlier, later = dict.fromkeys(first), dict.fromkeys(second)
    listed = list(items) if items is not None else list(earlier | later)
    for item in listed:
        if item not in earlier and item not in later:
            raise ParameterError("candidates", f"values of {metric} in either period", item)
    both = tuple(item for item in listed if item in earlier and item in later)
    if not 0 < len(both) <= LARGEST_ANSWER:
        wanted = f"1 to {LARGEST_ANSWER:,} values that both periods know"
        raise ParameterError("candidates", wanted, len(both))
    return both, OnlyInOnePeriod(
        tuple(item for item in listed if item not in later),
        tuple(item for item in listed if item not in earlier),
    )


def _reported_items(
    tallies: CollectedTallies, margin: Margin, *, named: bool
) -> tuple[str, ...] | None:
    """What a period says something about; None for strings, where that is whatever is asked."""
    if tallies.specs[0].type != "attributes":
        return _known_domain(tallies, named=named)
    # Of single attributes there may be no report at all.
    read = combine_specs(tallies.tallies, None, margin, periods=tallies.periods)
    return tuple(read.domain[place] for place in read.wanted.tolist())
