"""Asks about a metric, and makes of the answers what is published: a table, coarser by a rule."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.questions import DaysQuery, EstimateQuery, ValueLists
from deniable_aggregator.asking.questions import ESTIMATE, METRIC, RELAYED, Source
from deniable_aggregator.telling.numbers import (
    OVERLAPPING,
    is_untold,
    mean_in_words,
    name_of,
)
from deniable_aggregator.telling.publication.notes import cautions_of, notes_of, reading_of
from deniable_aggregator.telling.publication.publication import (
    Publication,
    PublishedRow,
    Rounded,
    published_version,
    rounded,
)
from deniable_aggregator.telling.publication.selection import (
    Periods,
    Policy,
    Selection,
    periods_of,
    select,
)
from deniable_aggregator.telling.relayed import is_relayed, relayed_sentences
from deniable_aggregator.telling.rounding import column_steps, ends_within
from deniable_aggregator.telling.wording import counted
from deniable_shared.errors import DeniableError
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.metrics import MetricDetails

NUMBERS: Final = ("number", "distribution")
"""Types of metrics without values that could be shown or merged."""

_ATTEMPTS: Final = 5
"""So often two questions are asked again because reports were counted between them."""

_PRESENCE_STEP: Final = Decimal("0.001")
_SHARE_DECIMALS: Final = 7
"""No report tells a share this precisely: a narrower interval is an exact value, off by floats."""


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
        query_of_answer, answer = _ask(source, details, query, lists)
        reports = answer.head.reports
        if reports < policy.reports_minimum:
            raise NotPublishedError(
                f"{metric} has {reports:,} reports in these days; with fewer than "
                f"{policy.reports_minimum:,} nothing is published. Publish more days together, or "
                "say another number by --reports-minimum."
            )
        made = _made(source, details, answer, query_of_answer, policy)
        if made is not None:
            return made
    raise NotPublishedError(
        f"reports of {metric} were counted while it was asked about; ask again, or give --until a "
        "day that takes no more reports"
    )


def _ask(
    source: Source, details: MetricDetails, query: EstimateQuery, lists: ValueLists
) -> tuple[EstimateQuery, Answer]:
    """The answer, and what was asked for it: of values, intervals that cover all of them at once.

    Numbers have no such intervals. Of which type the reports are only an answer says, where some
    versions of the metric are numbers and others are not.
    """
    at_once = replace(query, interval="all")
    first = query if any(version.type in NUMBERS for version in details.versions) else at_once
    answer = source.ask(ESTIMATE.of(details.name), first, lists)
    if first is query and answer.head.kind == "shares":
        return at_once, source.ask(ESTIMATE.of(details.name), at_once, lists)
    return first, answer


def _made(
    source: Source,
    details: MetricDetails,
    answer: Answer,
    query: EstimateQuery,
    policy: Policy,
) -> Publication | None:
    """The publication of an answer; None if reports were counted before the next one."""
    head, days = answer.head, answer.head.days
    assert days is not None  # every estimate has them
    reports = {version.version: version.reports for version in head.versions}
    specs = {
        version.version: Spec.from_canonical_text(version.canonical)
        for version in details.versions
        if version.version in reports
    }
    kind = next(iter(specs.values())).value_type
    versions = [published_version(spec, reports[version]) for version, spec in specs.items()]
    periods = periods_of(answer, [version.every for version in versions])
    rows, left_out, near = number_rows(answer), 0, 0
    size = answer.one("segment size") if head.segment is not None else None
    if head.kind == "shares":
        chosen = select(answer, periods, policy.minimum)
        whole = 1.0 if size is None else size.ends[1]
        left_out, near = len(chosen.merged), len(chosen.near)
        can_be_added = head.segment is None and kind not in OVERLAPPING
        together = None
        if can_be_added and (left_out > 1 or (left_out and chosen.shown)):
            together = _together(source, answer, query, chosen)
            if together is None:
                return None
            left_out = 0
        steps = _steps_of(chosen, together, periods)
        rows = [
            share_row(share, periods, policy, whole=whole, steps=each)
            for share, each in zip(chosen.shown, steps, strict=False)
        ]
        if together is not None:
            listed = kind == "string"
            rows.append(
                other_row(together, chosen, periods, policy, listed=listed, steps=steps[-1])
            )
    keys_left_out = [key for key in days.keys_left_out if key.reports]
    made = Publication(
        application=head.application,
        metric=head.metric,
        type=kind,
        description=head.description,
        segment=head.segment,
        segment_share=None
        if size is None
        else rounded("share", size.estimate, *size.ends, step=size.step),
        since=days.since,
        until=days.until,
        reports=head.reports,
        reports_left_out=sum(key.reports for key in keys_left_out),
        keys_left_out=len(keys_left_out),
        every=periods.every,
        periods=periods.together.count,
        minimum=policy.minimum,
        reports_minimum=policy.reports_minimum,
        level=head.level,
        verdict=head.verdict,
        simulated=any(each.code == "simulated" for each in answer.notices),
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
        notes=[*notes_of(made, answer, near), *_relayed(source, made, query)],
    )


def _relayed(source: Source, made: Publication, query: EstimateQuery) -> list[str]:
    """What the reports of these days cost, if they came through a relay."""
    days = DaysQuery(since=made.since, until=made.until, without_key=query.without_key)
    answer = source.ask(RELAYED.of(made.metric), days)
    return list(relayed_sentences(answer)) if is_relayed(answer) else []


def _together(
    source: Source, answer: Answer, query: EstimateQuery, chosen: Selection
) -> Measured | None:
    """The share of the merged values together; None if other reports were counted."""
    values = tuple(share.value or "" for share in chosen.merged)
    again = source.ask(ESTIMATE.of(answer.head.metric), query, ValueLists(combined=values))
    combined, before, after = again.one("combined"), answer.head.days, again.head.days
    if combined is None or before is None or after is None:
        raise NotPublishedError(f"the values of {answer.head.metric} cannot be added up")
    # Every question checks a few more days, and that is no other count.
    same_days = replace(after, not_checked=before.not_checked) == before
    return combined if same_days and again.head.reports == answer.head.reports else None


class Steps(NamedTuple):
    """To which powers of ten a row is rounded, as of `column_steps`.

    Attributes:
        share: its share.
        reports: the same as a number of reports.
    """

    share: float | None = None
    reports: float | None = None


def _steps_of(chosen: Selection, together: Measured | None, periods: Periods) -> list[Steps]:
    """The steps of all rows of a table: of the values shown, and of the others together."""
    shares = [*chosen.shown, *([] if together is None else [together])]
    intervals = [_ends(share) for share in chosen.shown]
    if together is not None:
        intervals.append(_ends_of_others(together, chosen))
    counts = []
    for share, ends in zip(shares, intervals, strict=True):
        reports = float(periods.reports if share.reports is None else share.reports)
        low, high = (end * reports for end in ends)
        counts.append(ends_within(low, high, (0.0, reports)))
    columns = column_steps("share", intervals), column_steps("number", counts)
    return list(map(Steps, *columns))


def share_row(
    share: Measured,
    periods: Periods,
    policy: Policy,
    *,
    whole: float = 1.0,
    steps: Steps = Steps(),  # noqa: B008  it is immutable
) -> PublishedRow:
    """The row of a value that is shown.

    Args:
        share: of the value.
        periods: in how many periods the reports were sent.
        policy: has how many people it could be true of.
        whole: of a share within a segment, the largest part of all devices that this can be.
        steps: to which it is rounded.
    """
    value, low, high = share.value or "", *_ends(share)
    number = rounded("share", share.estimate, low, high, step=steps.share)
    reports = periods.reports if share.reports is None else share.reports
    within = share.segment is not None
    devices = periods.devices(share).busiest * min(1.0, whole)
    people = policy.population.get(value)
    return PublishedRow(
        measure="share",
        label=value,
        items=1,
        number=number,
        reports=None
        if within
        else _counted(share.estimate or 0.0, low, high, reports, steps.reports),
        of_reports=None if within else reports,
        people=people,
        presence=presence(number.high, devices, people),
    )


def other_row(
    combined: Measured,
    chosen: Selection,
    periods: Periods,
    policy: Policy,
    *,
    listed: bool,
    steps: Steps = Steps(),  # noqa: B008  it is immutable
) -> PublishedRow:
    """The row of all values that are not shown.

    Args:
        combined: their share together.
        chosen: which they are.
        periods: in how many periods the reports were sent.
        policy: has how many people they could be true of.
        listed: whether values were looked for from a list, so that devices may hold none of them.
        steps: to which it is rounded.
    """
    low, high = _ends_of_others(combined, chosen)
    share = low if low == high else combined.estimate or 0.0
    number = rounded("share", share, low, high, step=steps.share)
    reports = periods.reports if combined.reports is None else combined.reports
    known = [policy.population.get(merged.value or "") for merged in chosen.merged]
    people = None if None in known else sum(filter(None, known))
    size = len(chosen.merged)
    return PublishedRow(
        measure="other",
        label=_label_of_others(chosen) if listed else f"other ({counted(size, 'item')})",
        items=size,
        number=number,
        reports=_counted(share, low, high, reports, steps.reports),
        of_reports=reports,
        people=people,
        presence=presence(number.high, periods.devices(combined).busiest, people),
    )


def _ends(share: Measured) -> tuple[float, float]:
    """The interval of a share; of one that is not told from zero it contains zero."""
    low, high = share.ends
    return (min(low, 0.0) if is_untold(share) else low), high


def _ends_of_others(combined: Measured, chosen: Selection) -> tuple[float, float]:
    """The same of the values that are not shown; of all values of a list it has no width."""
    low, high = chosen.together(combined)
    if high - low < 10**-_SHARE_DECIMALS:
        low = high = round(combined.estimate or 0.0, _SHARE_DECIMALS)
    elif is_untold(combined):
        low = min(low, 0.0)
    return low, high


def _label_of_others(chosen: Selection) -> str:
    """What the values of a list are called that are not shown."""
    size, whole = len(chosen.merged), len(chosen.merged) + len(chosen.shown)
    others = (
        f"the other {size:,} of the {whole:,} values" if chosen.shown else f"all {size:,} values"
    )
    return f"{others} looked for"


def _counted(share: float, low: float, high: float, reports: int, step: float | None) -> Rounded:
    """A share as a number of reports."""
    number, first, last = (each * reports for each in (share, low, high))
    return rounded("number", number, first, last, (0.0, float(reports)), step)


def presence(high: float, devices: float, people: int | None) -> float | None:
    """The largest part of some people that can be among the devices of a period; rounded up.

    Args:
        high: the upper end of the share of devices that hold a value.
        devices: how many devices reported in the busiest period.
        people: how many people the value could be true of; None if nobody knows.
    """
    if people is None:
        return None
    part = Decimal(min(1.0, max(0.0, high) * devices / people))
    return float(part.quantize(_PRESENCE_STEP, ROUND_CEILING))


def number_rows(answer: Answer) -> list[PublishedRow]:
    """The mean, and the quantiles of a distribution. Its histogram is not published: see notes.

    Args:
        answer: an estimate; of shares it has no such rows.
    """
    return [
        PublishedRow(
            measure="quantile" if number.measure == "quantile" else "mean",
            label=mean_in_words(number) if number.measure == "mean" else name_of(number),
            items=0,
            number=rounded(
                "number", number.estimate, *number.ends, answer.head.limits, number.step
            ),
            of_reports=answer.head.reports,
        )
        for number in (*answer.of("mean"), *answer.of("quantile"))
    ]
