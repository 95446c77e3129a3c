"""What is published of a metric: rows with intervals, and all that is needed to read them.

Numbers are those of an answer, made coarser by `telling.rounding.outward`. What is said of a
version follows from its canonical text, so that an export cannot state an epsilon that it does
not have: what it says is compared with what is computed here.
"""

from __future__ import annotations

import math
from datetime import date  # noqa: TC003  msgspec reads the annotations of structs
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from deniable_aggregator.answers.administration import MetricType  # noqa: TC001  likewise
from deniable_aggregator.answers.limits import Limits, widest
from deniable_aggregator.answers.words import (  # noqa: TC001  likewise
    Count,
    Fraction,
    Verdict,
    VersionId,
)
from deniable_aggregator.telling.method import what_devices_give_away
from deniable_aggregator.telling.rounding import outward, to_step
from deniable_shared.characters import NAME
from deniable_shared.spec import Spec

if TYPE_CHECKING:
    from deniable_aggregator.answers.measured import Unit

Every = Literal["day", "week", "month", "once"]
"""How often a device reports, as registries say it."""

Measure = Literal["share", "other", "mean", "quantile"]
"""What a number is: the share of a value, of all others together, a mean, or a quantile."""

Name = Annotated[str, Meta(pattern=f"^(?:{NAME})$")]


class Rounded(Struct, frozen=True, forbid_unknown_fields=True):
    """A number as it is published, and its interval.

    Attributes:
        estimate: the nearest multiple of the step; null if only the ends are known.
        low: the lower end, rounded down; of a share above zero it may be finer than the step.
        high: the upper end, rounded up.
        step: the power of ten to which they are rounded.
    """

    estimate: float | None
    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        """Checks the ends.

        Raises:
            ValueError: if they are not finite or in the wrong order, or the step is not above 0.
        """
        if not -math.inf < self.low <= self.high < math.inf:
            raise ValueError(
                f"low and high must be finite and in order, got {self.low!r}, {self.high!r}"
            )
        if not 0 < self.step < math.inf:
            raise ValueError(f"step must be above 0 and finite, got {self.step!r}")


def rounded(
    unit: Unit,
    estimate: float | None,
    low: float,
    high: float,
    limits: Limits | None = None,
    step: float | None = None,
) -> Rounded:
    """A number as it is published: it has the digits that it has wherever it is printed.

    Args:
        unit: of the number: a share, or a number.
        estimate: need not be within its interval; None if only the ends are known.
        low: the lower end.
        high: the upper end, at least `low`.
        limits: what a number can be, if that is known; nothing is cut there.
        step: to which it is rounded, as of `column_steps`; None for the digits of its interval.

    Raises:
        ValueError: if the ends are in the wrong order or not numbers.
    """
    ends = outward(unit, low, high, limits, step)
    return Rounded(None if estimate is None else to_step(estimate, ends.step), *ends)


class PublishedRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of a published table.

    Attributes:
        measure: what the number is.
        label: the value; "other (4 items)", or of strings "the other 4 of the 9 values looked for";
            "mean" or "median".
        items: how many values it stands for; 0 of a mean or a quantile.
        number: a share as a fraction, or a number in the metric's own unit; without an estimate if
            the reports cannot place a quantile. A share that is not told from zero has an interval
            that contains it.
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

    @property
    def unit(self) -> Unit:
        """What the number is."""
        return "share" if self.items else "number"

    @property
    def told(self) -> bool:
        """Whether it is a share that is told from zero, or no share."""
        return self.number.low > 0 or not self.items


class PublishedVersion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A version of the metric whose reports were counted: see `published_version`.

    Attributes:
        version: its id: the SHA-256 of `canonical` in UTF-8.
        canonical: all that devices and server agree on, as canonical JSON.
        title: the name of its mechanism.
        every: how often a device reports.
        epsilon: the privacy loss of one report, as the others to six digits.
        epsilon_permanent: the loss of all reports of a device about the same value, or null.
        epsilon_total: the loss of all permanent answers of a device, or null for no bound: of
            histories in which the same reports share permanent answers.
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
        simulated: whether they are of devices that do not exist.
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
    simulated: bool
    rows: list[PublishedRow]
    left_out: Count
    versions: Annotated[list[PublishedVersion], Meta(min_length=1)]
    cautions: list[str]
    reading: list[str]
    notes: list[str]

    @property
    def limits(self) -> Limits | None:
        """The range of the metric; of several versions the widest; None of one without."""
        ranges = (Spec.from_canonical_text(each.canonical).range for each in self.versions)
        return widest((float(ends[0]), float(ends[1])) for ends in ranges if ends is not None)


def published_version(spec: Spec, reports: int) -> PublishedVersion:
    """A version of a metric as it is published.

    Args:
        spec: as its canonical text says it.
        reports: how many of its reports were counted.
    """
    mechanism = spec.mechanism
    return PublishedVersion(
        version=spec.digest.hex(),
        canonical=spec.canonical_text(),
        title=mechanism.title,
        every=spec.every,
        epsilon=_six_digits(mechanism.epsilon),
        epsilon_permanent=_six_digits_or_none(mechanism.epsilon_permanent),
        epsilon_total=_six_digits_or_none(mechanism.epsilon_total),
        delta=_six_digits(mechanism.delta),
        gives_away=what_devices_give_away(
            spec.every,
            mechanism.epsilon,
            mechanism.epsilon_permanent,
            mechanism.epsilon_total,
            mechanism.delta,
        ),
        reports=reports,
    )


def _six_digits(number: float) -> float:
    """As the registry's history has it: the last digits of logarithms differ between machines."""
    return float(f"{number:.6g}")


def _six_digits_or_none(number: float | None) -> float | None:
    return None if number is None else _six_digits(number)
