"""Charts of a metric over time, and of what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt
from msgspec import UNSET, to_builtins

from deniable_aggregator.charts.estimates import DEVICES, ROW_HEIGHT, WIDTH
from deniable_aggregator.charts.marked_periods import bands_and_rules, marks_in_words
from deniable_aggregator.charts.titles import counted_in_words, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.trends import Change, Period, Series
    from deniable_aggregator.answers.words import PeriodLength

SERIES_WIDTH: Final = 560
SERIES_HEIGHT: Final = 260
MOST_MARKS: Final = 160
"""With more points, intervals are bands around lines, and not marks beside each other."""

COLORS: Final = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#c28500",
    "#3d97cf",
    "#000000",
    "#5e4318",
)
"""Colours that colour-blind people can tell apart (Okabe and Ito 2008). Their orange and their sky
blue are darkened, and their yellow is brown, for a contrast of 3:1 on white."""

SHAPES: Final = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
_CHANGED: Final = "#0072b2"
_NOT_SHOWN: Final = "#8b949e"
_TOLD: Final = ["changed", "no clear change"]
_LABEL_PIXELS: Final = 22
_LEGEND_PIXELS: Final = 220
_KINDS: Final = {
    "one": "of each estimate by itself",
    "all": "of all together",
    "picked": "after picking the top",
}


def series_chart(answer: Series, *, most: int = len(COLORS)) -> alt.LayerChart:
    """Estimates over time with their intervals; a period without reports is a gap.

    Where there are few points, each period has a place on the axis and its items stand beside each
    other. Where there are many, intervals are bands around lines.

    Args:
        answer: the series.
        most: how many values are drawn, at most 8: those with the largest mean.
    """
    shares = answer.kind == "shares"
    rows = [
        {"day": period.since.isoformat(), "over": "incomplete" not in period.marks, **row}
        for period in answer.periods
        for row in _rows(period, answer.metric)
    ]
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["value"], []).append(row["share"])
    ordered = sorted(found, key=lambda item: -sum(found[item]) / len(found[item]))
    drawn = ordered[: min(most, len(COLORS))]
    rows = [row for row in rows if row["value"] in drawn]
    days = [period.since.isoformat() for period in answer.periods]
    crowded = len(days) * len(drawn) > MOST_MARKS
    there = {(row["day"], row["value"]) for row in rows}
    beside = dict(zip(days, zip([None, *days], [*days[1:], None], strict=False), strict=True))
    for row in rows:
        row["alone"] = not any((day, row["value"]) in there for day in beside[row["day"]])
    gaps = [
        {"day": day, "value": item, "share": None, "low": None, "high": None}
        for day in days
        for item in drawn
        if (day, item) not in there
    ]
    scale = alt.Scale(domain=drawn, range=list(COLORS[: len(drawn)]))
    legend = None
    if shares:
        legend = alt.Legend(orient="bottom", columns=2, labelLimit=_LEGEND_PIXELS, symbolOpacity=1)
    title = f"share of {DEVICES[answer.margin]}" if shares else f"mean {answer.metric}"
    axis = alt.Axis(format="~%" if shares else "~g", tickCount=6)
    time = _time(days, answer.by, ordinal=not crowded)
    base = alt.Chart(alt.InlineData(values=[*rows, *gaps])).encode(
        x=time,
        color=alt.Color("value:N", title=None, scale=scale, legend=legend),
    )
    y = alt.Y("low:Q", title=title, axis=axis)
    value = alt.Y("share:Q")
    layers = bands_and_rules(answer.periods, {"x": time}, crowded=crowded)
    if min((row["low"] for row in rows), default=0.0) < 0:
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        layers.append(zero.mark_rule(color="#57606a", strokeWidth=1).encode(y="zero:Q"))
    if crowded:
        layers += [
            base.mark_area(opacity=0.3).encode(y=y, y2="high:Q"),
            base.mark_line(strokeWidth=1.2).encode(y=value),
            # A period between two gaps has no line and no area.
            base.transform_filter("datum.alone").mark_rule(strokeWidth=2).encode(y=y, y2="high:Q"),
            base.transform_filter("datum.over === false")
            .mark_point(fill="white", size=36, opacity=1)
            .encode(y=value),
        ]
    else:
        offset = alt.XOffset("value:N", sort=drawn)
        shape = alt.Scale(domain=drawn, range=list(SHAPES[: len(drawn)]))
        shaped = alt.Shape("value:N", title=None, scale=shape, legend=legend)
        placed = base.encode(xOffset=offset) if drawn[1:] else base
        layers += [
            placed.mark_rule(strokeWidth=2).encode(y=y, y2="high:Q"),
            placed.transform_filter("datum.over")
            .mark_point(filled=True, size=36, opacity=1)
            .encode(y=value, shape=shaped),
            placed.transform_filter("datum.over === false")
            .mark_point(fill="white", size=36, opacity=1)
            .encode(y=value, shape=shaped),
        ]
    cut = f"the {len(drawn)} largest of {len(ordered)} values" if ordered[len(drawn) :] else None
    return alt.LayerChart(
        layer=layers,
        title=title_of(
            answer.metric,
            answer.description,
            answer.notices,
            [("", answer.days)],
            [
                marks_in_words(answer.periods),
                cut,
                counted_in_words(answer.reports, answer.versions),
                _covers(answer),
            ],
            SERIES_WIDTH,
        ),
        width=SERIES_WIDTH,
        height=SERIES_HEIGHT,
    )


def change_chart(answer: Change, *, most: int = 25) -> alt.LayerChart:
    """Changes with their intervals, the largest rise first, against a rule at no change.

    Args:
        answer: the change.
        most: how many values are drawn: those with the largest changes.
    """
    shares = answer.kind == "shares"
    changes = sorted(answer.changes, key=lambda row: -abs(row.change))[:most]
    rows = [
        {"value": answer.metric, **to_builtins(row), "told": _TOLD[0 if row.changed else 1]}
        for row in sorted(changes, key=lambda row: -row.change)
    ]
    told = alt.Scale(domain=_TOLD, range=[_CHANGED, _NOT_SHOWN])
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("value:N", title=None, sort=[row["value"] for row in rows]),
        color=alt.Color("told:N", title=None, scale=told, legend=alt.Legend(orient="bottom")),
    )
    points = f"change of the share of {DEVICES[answer.margin]}, in percentage points"
    title = points if shares else "change of the mean"
    axis = alt.Axis(format="+~g", tickCount=6)
    if shares:
        axis.labelExpr = "format(100 * datum.value, '+~g')"
    none = alt.Chart(alt.InlineData(values=[{"none": 0}]))
    layers = [
        none.mark_rule(color="#57606a").encode(x="none:Q"),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title, axis=axis), x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            x="change:Q",
            shape=alt.Shape(
                "told:N",
                title=None,
                scale=alt.Scale(domain=_TOLD, range=["circle", "diamond"]),
                legend=alt.Legend(orient="bottom"),
            ),
        ),
    ]
    periods = (("before: ", answer.before), ("after: ", answer.after))
    cut = f"the {len(rows)} largest of {len(answer.changes)} changes"
    lines = [
        *(when + counted_in_words(each.reports, each.versions) for when, each in periods),
        cut if len(answer.changes) > len(rows) else None,
        _covers(answer),
    ]
    title_ = title_of(
        answer.metric,
        answer.description,
        answer.notices,
        [(when, each.days) for when, each in periods],
        lines,
        WIDTH,
    )
    height = ROW_HEIGHT * max(len(rows), 2)
    return alt.LayerChart(layer=layers, title=title_, width=WIDTH, height=height)


def _time(days: Sequence[str], by: PeriodLength, *, ordinal: bool) -> alt.X:
    """The axis of time, in UTC as the days are, and not in the time zone of whoever draws it."""
    title = None if by == "day" else f"first day of the {by}"
    axis = alt.Axis(labelAngle=-40, labelOverlap=False, grid=False)
    if not ordinal:
        axis = alt.Axis(format="%Y-%m-%d", labelAngle=-40, labelOverlap=True, tickCount=8)
        return alt.X("day:T", title=title, axis=axis, scale=alt.Scale(type="utc"))
    every = -(-len(days) * _LABEL_PIXELS // SERIES_WIDTH)
    axis.values = list(days[::every])
    return alt.X("day:O", title=title, axis=axis, sort=list(days))


def _rows(period: Period, metric: str) -> list[dict[str, Any]]:
    """What is drawn of a period: values and those that are combined, or a mean."""
    if period.mean is not UNSET:
        mean = period.mean
        return [{"value": metric, "share": mean.estimate, "low": mean.low, "high": mean.high}]
    rows: list[dict[str, Any]] = [] if period.estimates is UNSET else to_builtins(period.estimates)
    if period.combined is not UNSET:
        name = " + ".join(period.combined.values)
        rows.append({**to_builtins(period.combined), "value": name})
    return rows


def _covers(answer: Series | Change) -> str:
    interval = answer.interval
    return f"{interval.level:.0%} intervals {_KINDS[interval.kind or 'one']}"
