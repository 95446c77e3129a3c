"""Asks about a metric, and makes of the answers what is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.estimates import Distribution, Mean, SegmentShares, Shares
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.asking.questions import ESTIMATE, METRIC
from deniable_aggregator.publication.cautions import cautions_of
from deniable_aggregator.publication.devices import periods_of
from deniable_aggregator.publication.notes import notes_of, reading_of
from deniable_aggregator.publication.policy import Policy
from deniable_aggregator.publication.publication import Publication
from deniable_aggregator.publication.rounding import round_outward
from deniable_aggregator.publication.rows import number_rows, other_row, share_row
from deniable_aggregator.publication.selection import select
from deniable_aggregator.publication.versions import published_version
from deniable_shared.errors import DeniableError
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.metrics import MetricDetails
    from deniable_aggregator.answers.shares import CombinedShare
    from deniable_aggregator.asking.source import Source
    from deniable_aggregator.publication.rounding import Rounded
    from deniable_aggregator.publication.selection import Selection

NUMBERS: Final = ("number", "distribution")
"""Types of metrics without values that could be shown or merged."""

_ATTEMPTS: Final = 5
"""So often two questions are asked again because reports were counted between them."""


class NotPublishedError(DeniableError):
    """A metric cannot be published. The message says why, and what to do."""


def publish(
    source: Source,
    metric: str,
    query: EstimateQuery | None = None,
    candidates: Sequence[str] = (),
    policy: Policy | None = None,
) -> Publication:
    """Makes the published table of a metric.

    Args:
        source: what is asked.
        metric: its name.
        query: which days, keys, segment and version; what intervals cover is not chosen here.
        candidates: values to look for, if it is a metric of strings.
        policy: what is shown.

    Raises:
        AskingError: if a question gets no answer.
        NotPublishedError: if there are too few reports, or some were counted again and again while
            it was asked about.
    """
    policy = policy or Policy()
    query = query or EstimateQuery()
    for _ in range(_ATTEMPTS):
        details = source.ask(METRIC.of(metric))
        lists = ValueLists(candidates=(details.candidates and tuple(candidates)) or UNSET)
        asked, answer = _ask(source, details, query, lists)
        if answer.reports < policy.reports_minimum:
            raise NotPublishedError(
                f"{metric} has {answer.reports:,} reports in these days; with fewer than "
                f"{policy.reports_minimum:,} nothing is published. Publish more days together, or "
                "say another number by --reports-minimum."
            )
        found = _made(source, details, answer, asked, policy)
        if found is not None:
            return found
    raise NotPublishedError(
        f"reports of {metric} were counted while it was asked about; ask again, or give --until a "
        "day that takes no more reports"
    )


def _ask(
    source: Source, details: MetricDetails, query: EstimateQuery, lists: ValueLists
) -> tuple[EstimateQuery, Estimate]:
    """The answer, and what was asked for it: of values, intervals that cover all of them at once.

    Numbers have no such intervals. Of which type the reports are only an answer says, where some
    versions of the metric are numbers and others are not.
    """
    at_once = replace(query, interval="all")
    asked = query if any(each.type in NUMBERS for each in details.versions) else at_once
    answer = source.ask(ESTIMATE.of(details.name), asked, lists)
    if asked is query and isinstance(answer, Shares | SegmentShares):
        asked, answer = at_once, source.ask(ESTIMATE.of(details.name), at_once, lists)
    return asked, answer


def _made(
    source: Source,
    details: MetricDetails,
    answer: Estimate,
    asked: EstimateQuery,
    policy: Policy,
) -> Publication | None:
    """The publication of an answer; None if reports were counted before the next one."""
    counted = {each.version: each.reports for each in answer.versions}
    specs = {
        each.version: Spec.from_canonical_text(each.canonical)
        for each in details.versions
        if each.version in counted
    }
    kind = next(iter(specs.values())).value_type
    versions = [published_version(spec, counted[version]) for version, spec in specs.items()]
    periods = periods_of(answer, [each.every for each in versions])
    if isinstance(answer, Mean | Distribution):
        rows, left_out, near = number_rows(answer), 0, 0
    else:
        part = answer.segment.low if isinstance(answer, SegmentShares) else 1.0
        chosen = select(
            answer.estimates,
            minimum=policy.minimum,
            periods=periods,
            interval=answer.interval,
            asked=answer.values_asked,
            part=max(0.0, part),
        )
        rows = [share_row(row, answer, periods, policy) for row in chosen.shown]
        left_out, near = len(chosen.merged), len(chosen.near)
        can_be_added = isinstance(answer, Shares) and kind != "attributes"
        if can_be_added and (left_out > 1 or (left_out and rows)):
            together = _together(source, answer, asked, chosen)
            if together is None:
                return None
            listed = kind == "string"
            rows.append(other_row(together, chosen, periods, policy, listed=listed))
            left_out = 0
    segment, segment_share = _segment(answer)
    left_out_keys = [key for key in answer.days.keys_left_out if key.reports]
    made = Publication(
        application=answer.application,
        metric=answer.metric,
        type=kind,
        description=answer.description,
        segment=segment,
        segment_share=segment_share,
        since=answer.days.since,
        until=answer.days.until,
        reports=answer.reports,
        reports_left_out=sum(key.reports for key in left_out_keys),
        keys_left_out=len(left_out_keys),
        every=periods.every,
        periods=periods.together.count,
        minimum=policy.minimum,
        reports_minimum=policy.reports_minimum,
        level=answer.interval.level,
        verdict=answer.health.verdict,
        rows=rows,
        left_out=left_out,
        versions=versions,
        cautions=[],
        reading=[],
        notes=[],
    )
    return replace(
        made,
        cautions=cautions_of(made, answer),
        reading=reading_of(made, answer),
        notes=notes_of(made, answer, near),
    )


def _together(
    source: Source, answer: Shares | SegmentShares, asked: EstimateQuery, chosen: Selection
) -> CombinedShare | None:
    """The share of the merged values together; None if other reports were counted."""
    values = tuple(row.value for row in chosen.merged)
    found = source.ask(ESTIMATE.of(answer.metric), asked, ValueLists(combined=values))
    if not isinstance(found, Shares) or found.combined is UNSET:
        raise NotPublishedError(f"the values of {answer.metric} cannot be added up")
    # Every question checks a few more days, and that is no other count.
    days = replace(found.days, not_checked=answer.days.not_checked)
    same = found.reports == answer.reports and days == answer.days
    return found.combined if same else None


def _segment(answer: Estimate) -> tuple[str | None, Rounded | None]:
    """The segment of an answer, and its part of the reports."""
    if not isinstance(answer, SegmentShares):
        return None, None
    size = answer.segment
    return f"{size.name}={size.value}", round_outward(size.share, size.low, size.high)
