"""Metrics with segments: the share of devices in a segment, and shares of values within it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec.structs import astuple

from deniable_aggregator.answers.common import DetectionNote, IntervalNote
from deniable_aggregator.answers.estimates import SegmentShares, SegmentSize, Share
from deniable_aggregator.estimation.combination import shared_pairs_fraction, variance_of
from deniable_aggregator.estimation.influence_of_subsets import influence_on_ratios
from deniable_aggregator.estimation.items import combine_specs
from deniable_aggregator.estimation.results import (
    DETECTION_ALPHA,
    DEVICES,
    FAKES,
    metric_versions,
)
from deniable_aggregator.estimation.subset_shares import (
    SubsetShare,
    estimate_subset_share,
    merge_items,
)
from deniable_aggregator.statistics.intervals import (
    DEFAULT_LEVEL,
    alpha_per_interval,
    detect,
    z_for_alpha,
)
from deniable_aggregator.tallies import nonempty
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.answers.common import Head, Notice
    from deniable_aggregator.answers.questions import EstimateOptions
    from deniable_aggregator.answers.words import FalseFinds, IntervalKind, Margin
    from deniable_aggregator.estimation.combination import SpecEstimate
    from deniable_aggregator.estimation.items import ItemEstimates
    from deniable_aggregator.statistics.repeated_reports import PeriodsBySpec
    from deniable_shared.segments import Segments
    from deniable_shared.spec import Spec

    Tallies = Sequence[tuple[Spec, NDArray[np.int64]]]


@dataclass(frozen=True)
class SegmentEstimate:
    """Shares of values among the devices of one segment.

    A ratio of two unbiased estimates. The ratio is not unbiased, but its interval (Fieller 1954)
    covers with the stated probability all the same.

    Attributes:
        metric: the metric's name.
        name: what the segments are.
        segment: this one.
        size: its share among all devices.
        items: the metric's own values.
        share: float64, (items,).
        standard_error: float64, (items,), by the delta method.
        low: float64, (items,): lower end of the interval.
        high: float64, (items,): upper end.
        influence: float64, (items,): how far 1% of fake reports could move each share.
        detected: bool, (items,): whether there are such devices, by a one-sided test corrected for
            all items.
        margin: what errors and intervals allow for.
        interval: what intervals cover.
        level: with which probability, in (0, 1).
        false_finds: how many false ones there may be among the detected values.
        reports: how many reports were counted, of all segments.
        left_out: reports of specs that do not have the segment.
        specs: for each spec that contributed, the spec and its number of reports.
        notices: what a reader must know before these numbers.
    """

    metric: str
    name: str
    segment: str
    size: SubsetShare
    items: tuple[str, ...]
    share: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    influence: NDArray[np.float64]
    detected: NDArray[np.bool_]
    margin: Margin
    interval: IntervalKind
    level: float
    false_finds: FalseFinds
    reports: int
    left_out: int
    specs: tuple[tuple[Spec, int], ...]
    notices: tuple[Notice, ...] = ()

    def answer(self, head: Head) -> SegmentShares:
        """The estimate as an answer.

        Args:
            head: where it comes from.
        """
        inside = f"{DEVICES[self.margin]} and are in segment {self.name}={self.segment}"
        covers = "all intervals at once cover" if self.interval == "all" else "each interval covers"
        return SegmentShares(
            *astuple(head.with_notices(self.notices)),
            metric=self.metric,
            reports=self.reports,
            margin=self.margin,
            unit=f"share of those of {inside}; neither clipped nor rescaled",
            interval=IntervalNote(
                kind=self.interval,
                level=self.level,
                meaning=f"{covers} with probability {self.level:g} (Fieller: of a ratio of two "
                "estimates).",
            ),
            fakes=FAKES,
            versions=metric_versions(self.specs),
            reports_left_out=self.left_out,
            segment=_segment_size(self.name, self.segment, self.size),
            detection=DetectionNote(
                DETECTION_ALPHA,
                self.false_finds,
                "detected values differ from zero, corrected for all that are listed",
            ),
            values_asked=len(self.items),
            estimates=self._rows(),
        )

    def _rows(self) -> list[Share]:
        columns = (self.share, self.standard_error, self.low, self.high)
        numbers = (column.tolist() for column in columns)
        influence = (x if np.isfinite(x) else None for x in self.influence.tolist())
        method, detected = itertools.repeat("fieller"), self.detected.tolist()
        reports = itertools.repeat(self.reports)
        return list(map(Share, self.items, *numbers, method, detected, influence, reports))


def estimate_segment_sizes(
    tallies: Tallies, margin: Margin, level: float, periods: PeriodsBySpec
) -> tuple[SegmentSize, ...]:
    """The share of each segment; nothing where no spec has segments.

    Args:
        tallies: the specs with reports, and their counts.
        margin: what errors allow for.
        level: of each single interval, in (0, 1).
        periods: how many reports there are of each period, by the specs' digests.
    """
    found = dict.fromkeys(
        (spec.segments.by.name, segment)
        for spec, _ in tallies
        if spec.segments is not None
        for segment in spec.segments.by.values
    )
    rows = []
    for name, segment in found:
        read, items = _read(_with_segment(tallies, segment, name), segment, margin, periods)
        size = estimate_subset_share(
            read.combined.parts, read.wanted.tolist(), items, margin, 1 - level
        )
        rows.append(_segment_size(name, segment, size))
    return tuple(rows)


def estimate_within_segment(
    tallies: Tallies,
    segment: str,
    options: EstimateOptions,
    periods: PeriodsBySpec,
    level: float = DEFAULT_LEVEL,
) -> SegmentEstimate:
    """Estimates the shares of values among the devices of one segment.

    Args:
        tallies: the specs with reports, and their counts.
        segment: which one.
        options: how to answer.
        periods: how many reports there are of each period, by the specs' digests.
        level: of the intervals, in (0, 1).

    Raises:
        ParameterError: if no spec has the segment, if there may be no device in it, so that
            dividing by its share means nothing, or if an option does not fit.
    """
    _refuse_options(options)
    mine = _with_segment(tallies, segment)
    if not mine:
        raise ParameterError("segment", _declared(tallies), segment)
    read, items = _read(mine, segment, options.margin, periods)
    parts, wanted = read.combined.parts, read.wanted
    own = cast("Segments", mine[0][0].segments)
    interval = options.interval or "one"
    alpha = alpha_per_interval(interval, level=level, asked=len(items), shown=len(items))
    size = estimate_subset_share(parts, wanted.tolist(), items, options.margin, alpha)
    ratio = _ratios(parts, wanted, options.margin, z_for_alpha(alpha)) if size.low > 0 else None
    if ratio is None:
        constraint = f"clearly above 0 to be looked into: {own.by.name}={segment} is not"
        raise ParameterError("segment", constraint, size.share)
    chosen = np.array([own.of.type != "boolean" or value == "true" for value in own.of.domain])
    scores = read.combined.scores[wanted][chosen]
    found = detect(scores, false_finds=options.false_finds, alpha=DETECTION_ALPHA)
    total = sum(int(reports) for _, _, reports in nonempty(tallies))
    reports = sum(part.reports for part in parts)
    return SegmentEstimate(
        metric=own.of.name,
        name=own.by.name,
        segment=segment,
        size=size,
        items=tuple(value for value, kept in zip(own.of.domain, chosen, strict=True) if kept),
        share=ratio[0][chosen],
        standard_error=ratio[1][chosen],
        low=ratio[2][chosen],
        high=ratio[3][chosen],
        influence=ratio[4][chosen],
        detected=found,
        margin=options.margin,
        interval=interval,
        level=level,
        false_finds=options.false_finds,
        reports=reports,
        left_out=total - reports,
        specs=tuple((part.spec, part.reports) for part in parts),
    )


def _refuse_options(options: EstimateOptions) -> None:
    """Refuses options for picked values and for whole domains.

    Raises:
        ParameterError: naming the option.
    """
    for name in ("top", "detected", "postprocess"):
        if value := getattr(options, name):
            raise ParameterError(name, "left out within a segment", value)
    if options.interval == "picked":
        raise ParameterError("interval", "one or all within a segment", "picked")


def _declared(tallies: Tallies) -> str:
    """The constraint on the name of a segment, in words."""
    found = dict.fromkeys(
        value for spec, _ in tallies if spec.segments for value in spec.segments.by.values
    )
    return f"one of {', '.join(found)}" if found else "left out, as the metric has none"


def _with_segment(tallies: Tallies, segment: str, name: str | None = None) -> Tallies:
    """The specs that have a segment; of these, the ones with the same values as the first."""
    found = [
        (spec, counts)
        for spec, counts in tallies
        if spec.segments is not None
        and segment in spec.segments.by.values
        and name in (None, spec.segments.by.name)
    ]
    alike = {spec.segments and spec.segments.items_of(segment): None for spec, _ in found}
    first = next(iter(alike), None)
    return [
        (spec, counts)
        for spec, counts in found
        if spec.segments is not None and spec.segments.items_of(segment) == first
    ]


def _read(
    tallies: Tallies, segment: str, margin: Margin, periods: PeriodsBySpec
) -> tuple[ItemEstimates, tuple[str, ...]]:
    """The estimates of the values within a segment, and the items that stand for these values."""
    items = cast("Segments", tallies[0][0].segments).items_of(segment)
    return combine_specs(tallies, items, margin, periods=periods), items


def _ratios(
    parts: Sequence[SpecEstimate], wanted: NDArray[np.int64], margin: Margin, z: float
) -> tuple[NDArray[np.float64], ...] | None:
    """Shares, standard errors, lower and upper ends of intervals (Fieller 1954), and influence.

    None if the segment's share is within z standard errors of 0: then Fieller's interval is
    unbounded. This can be so although the share's own interval, exact or by scores, excludes 0.

    A spec has the same weight for a value as for the segment: its part of the reports.
    """
    orders = [np.argsort(part.known) for part in parts]
    places = [
        order[np.searchsorted(part.known, wanted, sorter=order)]
        for part, order in zip(parts, orders, strict=True)
    ]
    weights = np.array([part.reports for part in parts], np.float64)
    weights /= weights.sum()
    top = np.zeros(wanted.size)
    for weight, part, mine in zip(weights, parts, places, strict=True):
        top += weight * part.shares.share[mine]
    bottom = float(top.sum())
    moments = np.zeros((3, wanted.size))  # of the value, of the segment, of the two together
    for weight, part, mine in zip(weights, parts, places, strict=True):
        moments += weight**2 * _moments(part, mine, top, margin)
    if margin == "noise-and-sampling":
        common = sum(
            2 * weights[one] * weights[other] * shared_pairs_fraction(parts[one], parts[other])
            for one, other in itertools.combinations(range(len(parts)), 2)
        )
        held, inside = np.clip(top, 0.0, 1.0), min(max(bottom, 0.0), 1.0)
        moments += common * np.array(
            [held * (1 - held), np.full_like(held, inside * (1 - inside)), held * (1 - inside)]
        )
    own, size, both = moments
    share = top / bottom
    error = np.sqrt(np.maximum(own - 2 * share * both + share**2 * size, 0.0)) / bottom
    leading = bottom**2 - z**2 * size
    if not np.all(leading > 0):
        return None
    middle = top * bottom - z**2 * both
    root = np.sqrt(np.maximum(middle**2 - leading * (top**2 - z**2 * own), 0.0))
    radius = influence_on_ratios(parts, places, weights)
    return share, error, (middle - root) / leading, (middle + root) / leading, radius


def _moments(
    part: SpecEstimate, places: NDArray[np.int64], top: NDArray[np.float64], margin: Margin
) -> NDArray[np.float64]:
    """The variances of each value and of the segment, and their covariance, for one spec.

    The covariance follows from the variance of all other values together:
    Var(segment - value) = Var(segment) + Var(value) - 2 Cov(segment, value).
    """

    def variance(chosen: NDArray[np.int64], held: float) -> float:
        if not chosen.size:
            return 0.0
        total, note = merge_items(part, chosen)
        if note.startswith("not known"):
            known = "one whose covariances are known, to divide by a segment"
            raise ParameterError("mechanism", known, part.spec.mechanism.name)
        return float(variance_of(total, total.shares, np.array([held]), margin)[0])

    size = variance(places, float(top.sum()))
    found = np.zeros((3, top.size))
    for value, held in enumerate(top.tolist()):
        own = variance(places[[value]], held)
        rest = variance(np.delete(places, value), float(top.sum()) - held)
        found[:, value] = own, size, (own + size - rest) / 2
    return found


def _segment_size(name: str, segment: str, size: SubsetShare) -> SegmentSize:
    return SegmentSize(
        name=name,
        value=segment,
        share=size.share,
        standard_error=size.standard_error,
        low=size.low,
        high=size.high,
        detected=size.low > 0,
        shift_if_fake=size.influence,
    )
