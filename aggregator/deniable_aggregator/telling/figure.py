"""What a picture shows, as data: every renderer draws the same figure, and none asks for more.

Plans are drawn where msgspec is not installed, so nothing here imports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.interval import Interval

CHANGES: Final[tuple[Unit, ...]] = ("points", "difference")
"""Units of what has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One row of a picture: a name and its interval.

    Attributes:
        label: the name; a text of whoever made the metric, or of devices.
        interval: its number.
        aside: a few words below or after the name, such as "of 400 reports".
        truth: the true number, where it is known.
        adjusted: the post-processed number, to which no interval belongs.
    """

    label: str
    interval: Interval
    aside: str = ""
    truth: float | None = None
    adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Intervals below one another on one axis.

    Attributes:
        heading: what these rows are, where a figure has several panels.
        axis: what the numbers are.
        unit: how they are written.
        reference: where the rule stands: at zero, or at 1 of ratios; None for nowhere.
        ends: between which numbers the axis lies at least, such as the range of a metric.
        dots: the rows, in the order in which they are drawn.
        left_out: what is said of rows that are not drawn.
    """

    heading: str = ""
    axis: str
    unit: Unit
    reference: float | None = 0.0
    ends: tuple[float, ...] = ()
    dots: tuple[Dot, ...]
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One period of a line.

    Attributes:
        since: its first day.
        until: its last day.
        interval: the estimate; None of a period in which there is none.
    """

    since: date
    until: date
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number over time.

    Attributes:
        label: whose number it is: a value, or the name of a quantile.
        moments: one per period.
    """

    label: str
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened on a day, such as a release.

    Attributes:
        day: when.
        text: what; a text of an administrator.
    """

    day: date
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Numbers over time, a small picture for each, all over the same periods.

    Attributes:
        heading: what these lines are, where a figure has several panels.
        axis: what the numbers are.
        unit: how they are written.
        by: how long a period is: "day", "week" or "month".
        marks: what is special about each period, as of `answers.days.Mark`.
        lines: at least one.
        events: what happened in these periods, by day; a rule with a number is drawn for each.
        left_out: what is said of lines that are not drawn.
    """

    heading: str = ""
    axis: str
    unit: Unit
    by: str
    marks: tuple[tuple[str, ...], ...]
    lines: tuple[Line, ...]
    events: tuple[Event, ...] = ()
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bin of a histogram.

    Attributes:
        start: its lower end.
        end: its upper end.
        interval: of its share.
    """

    start: float
    end: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A number below the histogram: a mean or a quantile.

    Attributes:
        name: such as "median".
        interval: where it is.
    """

    name: str
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The distribution of a number.

    Attributes:
        heading: what it is, where a figure has several panels.
        axis: what the numbers are.
        shares: what the heights of the bars are.
        bars: in their order, without gaps.
        placed: mean and quantiles.
    """

    heading: str = ""
    axis: str
    shares: str
    bars: tuple[Bar, ...]
    placed: tuple[Placed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A line over two logarithmic axes.

    Attributes:
        name: what it is of, such as a mechanism.
        chosen: whether it is the one that counts: it is drawn thick, over the others.
        points: where it goes through, such as devices and half the width of an interval; all
            above 0.
    """

    name: str
    chosen: bool
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Lines over two logarithmic axes, such as how wide intervals are by the number of devices.

    Attributes:
        heading: what it is, where a figure has several panels.
        axis: what the height is.
        unit: how it is written.
        across: what is counted from left to right, such as "devices".
        chosen: what is said of the curve that counts, such as "the metric's own".
        curves: at least one.
        marked: where a rule stands, in what is counted across; None for nowhere.
        mark: what stands there, such as "planned".
    """

    heading: str = ""
    axis: str
    unit: Unit
    across: str
    chosen: str
    curves: tuple[Curve, ...]
    marked: int | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRow:
    """What became of the checks of one key's reports, or of all.

    Attributes:
        label: the key, as people know it.
        verdicts: one per day, as of `answers.words.Verdict`; empty for a day without reports.
    """

    label: str
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Verdicts by key and day.

    Attributes:
        heading: what it is, where a figure has several panels.
        axis: what the rows and columns are.
        days: the columns, in their order.
        rows: in the order in which they are drawn.
        left_out: what is said of rows that are not drawn.
    """

    heading: str = ""
    axis: str
    days: tuple[date, ...]
    rows: tuple[GridRow, ...]
    left_out: str = ""


Panel = Dots | Lines | Histogram | Curves | Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture, before it is drawn.

    Attributes:
        title: what the metric is for, or its name.
        warnings: what to know before the numbers.
        subtitle: metric, days, and how many reports: a line each.
        panels: what is drawn.
        notes: below the panels: what intervals mean.
        level: of the intervals, between 0 and 1.
    """

    title: str
    warnings: tuple[str, ...] = ()
    subtitle: tuple[str, ...] = ()
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    level: float
