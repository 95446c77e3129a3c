"""What is published of a metric: rows with intervals, and all that is needed to read them."""

from __future__ import annotations

from datetime import date  # noqa: TC003  msgspec reads the annotations of structs
from typing import Annotated, Literal

from msgspec import Meta, Struct

from deniable_aggregator.answers.administration import MetricType  # noqa: TC001  likewise
from deniable_aggregator.answers.words import (  # noqa: TC001  likewise
    Count,
    Fraction,
    Verdict,
    VersionId,
)
from deniable_aggregator.publication.rounding import Rounded  # noqa: TC001  likewise
from deniable_shared.characters import NAME

Every = Literal["day", "week", "month", "once"]
"""How often a device reports, as registries say it."""

Measure = Literal["share", "other", "mean", "quantile"]
"""What a number is: the share of a value, of all others together, a mean, or a quantile."""

Name = Annotated[str, Meta(pattern=f"^(?:{NAME})$")]


class PublishedRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of a published table.

    Attributes:
        measure: what the number is.
        label: the value; "other (4 items)", or of strings "the other 4 of the 9 values looked for";
            "mean" or "median".
        items: how many values it stands for; 0 of a mean or a quantile.
        number: a share as a fraction, or a number in the metric's own unit; without an estimate if
            the reports cannot place a quantile.
        reports: the same share as a number of reports, where it is one.
        of_reports: how many reports it is a share of: those of the versions that know the value.
            Null within a segment: how many reports are in it is not known, see `segment_share`.
        people: how many people it could be true of, where that is known.
        presence: the largest part of these people that can be among the devices that reported in
            the period with the most reports, in [0, 1].
    """

    measure: Measure
    label: str
    items: Count
    number: Rounded
    reports: Rounded | None = None
    of_reports: Count | None
    people: Count | None = None
    presence: Fraction | None = None


class PublishedVersion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version of the metric whose reports were counted: see `versions.published_version`.

    Attributes:
        version: its id: the SHA-256 of `canonical` in UTF-8.
        canonical: all that devices and server agree on, as canonical JSON.
        title: the name of its mechanism.
        every: how often a device reports.
        epsilon: the privacy loss of one report, as the others to six digits.
        epsilon_permanent: the loss of all reports of a device about the same value, or null.
        epsilon_total: the loss of a device over its life, or null for no bound.
        delta: by how much more than epsilon allows any set of reports may be likely.
        gives_away: the same in sentences.
        reports: how many reports were counted.
    """

    version: VersionId
    canonical: str
    title: str
    every: Every
    epsilon: float
    epsilon_permanent: float | None
    epsilon_total: float | None
    delta: float
    gives_away: str
    reports: Count


class Publication(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is published of one metric.

    Attributes:
        application: whose metric it is.
        metric: its name.
        type: of its values.
        description: what it is for; may be empty.
        segment: whose numbers these are, such as "channel=beta", or null for all devices.
        segment_share: its part of the reports, or null.
        since: the first day.
        until: the last.
        reports: how many reports were counted.
        reports_left_out: how many reports of these days the publisher left out.
        keys_left_out: of how many keys, the sources of reports, these are.
        every: how often a device reports.
        periods: how many such periods the days hold.
        minimum: a value is shown if so many devices of a period surely hold it.
        reports_minimum: with fewer reports nothing is published.
        level: of the intervals.
        verdict: whether the reports look like those of honest devices.
        rows: the table.
        left_out: how many values are neither shown nor merged.
        versions: the versions whose reports were counted.
        cautions: what to know before the numbers.
        reading: how to read them, and those of any table made in the same way; a sentence or two
            each.
        notes: what is to be known of this table alone.
    """

    application: Name
    metric: Name
    type: MetricType
    description: str
    segment: str | None
    segment_share: Rounded | None
    since: date
    until: date
    reports: Count
    reports_left_out: Count
    keys_left_out: Count
    every: Every
    periods: Count
    minimum: Count
    reports_minimum: Count
    level: Annotated[float, Meta(ge=0.5, le=0.9999)]
    verdict: Verdict
    rows: list[PublishedRow]
    left_out: Count
    versions: Annotated[list[PublishedVersion], Meta(min_length=1)]
    cautions: list[str]
    reading: list[str]
    notes: list[str]
