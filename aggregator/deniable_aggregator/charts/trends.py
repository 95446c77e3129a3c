"""Charts of how a metric goes on, and of what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt

from deniable_aggregator.charts.estimates import ROW_HEIGHT, WHOSE, WIDTH, specs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SERIES_WIDTH: Final = 560
SERIES_HEIGHT: Final = 260
MOST_MARKS: Final = 160
"""Up to so many points there is room for each one's own interval beside the others'."""

COLORS: Final = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#8c6d1f",
)
"""Told apart whatever colours somebody sees (Okabe and Ito 2008; brown for their yellow, which is
hard to see on white)."""

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
_TOLD: Final = ["changed", "no change found"]
_LABEL_PIXELS: Final = 22
_LEGEND_PIXELS: Final = 220
_KINDS: Final = {
    "item": "of each estimate by itself",
    "simultaneous": "of all at once",
    "selected": "after selection",
}


def series_chart(answer: Mapping[str, Any], *, most: int = len(COLORS)) -> alt.LayerChart:
    """Estimates over time with their intervals; a period without reports is a gap.

    Where there are few points, each period has a place on the axis and its items stand beside each
    other. Where there are many, intervals are bands around lines.

    Args:
        answer: what the server answered, or `Series.as_dict`.
        most: how many items are drawn, at most 8: those with the largest mean.
    """
    shares = "type" not in answer
    rows = [
        {"day": period["since"], **row}
        for period in answer["periods"]
        for row in _rows(period, answer["metric"])
    ]
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["item"], []).append(row["share"])
    ordered = sorted(found, key=lambda item: -sum(found[item]) / len(found[item]))
    drawn = ordered[: min(most, len(COLORS))]
    rows = [row for row in rows if row["item"] in drawn]
    days = [period["since"] for period in answer["periods"]]
    crowded = len(days) * len(drawn) > MOST_MARKS
    there = {(row["day"], row["item"]) for row in rows}
    beside = dict(zip(days, zip([None, *days], [*days[1:], None], strict=False), strict=True))
    for row in rows:
        row["alone"] = not any((day, row["item"]) in there for day in beside[row["day"]])
    gaps = [
        {"day": day, "item": item, "share": None, "low": None, "high": None}
        for day in days
        for item in drawn
        if (day, item) not in there
    ]
    scale = alt.Scale(domain=drawn, range=list(COLORS[: len(drawn)]))
    legend = None
    if shares:
        legend = alt.Legend(orient="bottom", columns=2, labelLimit=_LEGEND_PIXELS, symbolOpacity=1)
    title = f"share of {WHOSE[answer['about']]}" if shares else f"mean {answer['metric']}"
    axis = alt.Axis(format="~%" if shares else "~g", tickCount=6)
    base = alt.Chart(alt.InlineData(values=[*rows, *gaps])).encode(
        x=_time(days, ordinal=not crowded),
        color=alt.Color("item:N", title=None, scale=scale, legend=legend),
    )
    y = alt.Y("low:Q", title=title, axis=axis)
    value = alt.Y("share:Q")
    layers = []
    if min((row["low"] for row in rows), default=0.0) < 0:
        zero = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
        layers.append(zero.mark_rule(color="#57606a", strokeWidth=1).encode(y="zero:Q"))
    if crowded:
        layers += [
            base.mark_area(opacity=0.3).encode(y=y, y2="high:Q"),
            base.mark_line(strokeWidth=1.2).encode(y=value),
            # A period between two gaps has no line and no area.
            base.transform_filter("datum.alone").mark_rule(strokeWidth=2).encode(y=y, y2="high:Q"),
        ]
    else:
        offset = alt.XOffset("item:N", sort=drawn)
        shape = alt.Scale(domain=drawn, range=list(SHAPES[: len(drawn)]))
        placed = base.encode(xOffset=offset) if drawn[1:] else base
        layers += [
            placed.mark_rule(strokeWidth=2).encode(y=y, y2="high:Q"),
            placed.mark_point(filled=True, size=36, opacity=1).encode(
                y=value, shape=alt.Shape("item:N", title=None, scale=shape, legend=legend)
            ),
        ]
    cut = f"the {len(drawn)} largest of {len(ordered)} items" if ordered[len(drawn) :] else None
    return alt.LayerChart(
        layer=layers,
        title=_title(answer, [cut, f"{answer['reports']:,} reports, {specs_of(answer['specs'])}"]),
        width=SERIES_WIDTH,
        height=SERIES_HEIGHT,
    )


def change_chart(answer: Mapping[str, Any], *, most: int = 25) -> alt.LayerChart:
    """Changes with their intervals, the largest rise first, against a rule at no change.

    Args:
        answer: what the server answered, or `Change.as_dict`.
        most: how many items are drawn: those with the largest changes.
    """
    shares = "type" not in answer
    changes = sorted(answer["changes"], key=lambda row: -abs(row["change"]))[:most]
    rows = [
        {"item": answer["metric"], **row, "told": _TOLD[0 if row["changed"] else 1]}
        for row in sorted(changes, key=lambda row: -row["change"])
    ]
    told = alt.Scale(domain=_TOLD, range=[_CHANGED, _NOT_SHOWN])
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("item:N", title=None, sort=[row["item"] for row in rows]),
        color=alt.Color("told:N", title=None, scale=told, legend=alt.Legend(orient="bottom")),
    )
    points = f"change of the share of {WHOSE[answer['about']]}, in percentage points"
    title = points if shares else "change of the mean"
    axis = alt.Axis(format="+~%" if shares else "+~g", tickCount=6)
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
    lines = [
        f"{when}: {_days(answer[when])}, {answer[when]['reports']:,} reports, "
        f"{specs_of(answer[when]['specs'])}"
        for when in ("before", "after")
    ]
    if len(answer["changes"]) > len(rows):
        lines.append(f"the {len(rows)} largest of {len(answer['changes'])} changes")
    height = ROW_HEIGHT * max(len(rows), 2)
    return alt.LayerChart(layer=layers, title=_title(answer, lines), width=WIDTH, height=height)


def _time(days: Sequence[str], *, ordinal: bool) -> alt.X:
    """The axis of time, in UTC as the days are, and not in the time zone of whoever draws it."""
    axis = alt.Axis(labelAngle=-40, labelOverlap=False, grid=False)
    if not ordinal:
        axis = alt.Axis(format="%Y-%m-%d", labelAngle=-40, labelOverlap=True, tickCount=8)
        return alt.X("day:T", title=None, axis=axis, scale=alt.Scale(type="utc"))
    every = -(-len(days) * _LABEL_PIXELS // SERIES_WIDTH)
    axis.values = list(days[::every])
    return alt.X("day:O", title=None, axis=axis, sort=list(days))


def _rows(period: Mapping[str, Any], metric: str) -> list[dict[str, Any]]:
    """What is drawn of a period: items and a sum, or a mean."""
    if not period["reports"]:
        return []
    if "estimates" in period:
        total = period.get("sum")
        summed = [] if total is None else [{**total, "item": " + ".join(total["items"])}]
        return [*period["estimates"], *summed]
    mean = period["mean"]
    if isinstance(mean, dict):
        return [{"item": metric, "share": mean["value"], "low": mean["low"], "high": mean["high"]}]
    return [{"item": metric, "share": mean, "low": period["low"], "high": period["high"]}]


def _days(period: Mapping[str, Any]) -> str:
    one = period["since"] == period["until"]
    return str(period["since"]) if one else f"{period['since']} to {period['until']}"


def _title(answer: Mapping[str, Any], lines: Sequence[str | None]) -> alt.TitleParams:
    interval = answer["interval"]
    covers = f"{interval['level']:.0%} intervals {_KINDS[interval['kind']]}"
    subtitle = [line for line in (*lines, covers) if line is not None]
    return alt.TitleParams(answer["metric"], subtitle=subtitle, anchor="start")
