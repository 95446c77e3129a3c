"""The panels of a figure as layers of Vega-Lite."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.charts.alternative import dot_in_words, moment_in_words, placed_in_words
from deniable_aggregator.charts.drawing.lines import scales_differ
from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.words import MARKS, VERDICTS, in_words
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_aggregator.charts.figure import (
        Curves,
        Dots,
        Grid,
        Histogram,
        Interval,
        Line,
        Lines,
        Unit,
    )

WIDTH: Final = 420
SMALL_WIDTH: Final = 260
ROW: Final = 24
HEIGHT: Final = 200
THICK: Final = 7.0
LABEL_PIXELS: Final = 240

_FORMATS: Final[dict[Unit, str]] = {"share": "~%", "points": "+~g", "difference": "+~g"}
_BESIDE: Final[Mapping[str, Mapping[str, Any]]] = {
    "truth": {"type": "tick", "color": LIGHT.truth, "thickness": 2, "height": 18},
    "adjusted": {"type": "point", "shape": "diamond", "color": LIGHT.adjusted, "yOffset": 8},
}
_TOLD: Final = {"field": "told", "equal": True}
_UNTOLD: Final = {"field": "told", "equal": False}


def dots_panel(panel: Dots) -> dict[str, Any]:
    """Rows of intervals.

    Args:
        panel: of a figure.
    """
    # Labels of Vega are formatted numbers, so points are multiplied here.
    factor = 100.0 if panel.unit == "points" else 1.0
    rows = [
        {
            "label": dot.label,
            "said": dot_in_words(dot, panel.unit),
            "truth": _number(dot.truth),
            "adjusted": _number(dot.adjusted),
            **_fields(dot.interval, factor, from_zero=panel.unit == "share"),
        }
        for dot in panel.dots
    ]
    x: dict[str, Any] = {
        "type": "quantitative",
        "title": panel.axis,
        "axis": {"format": _FORMATS.get(panel.unit, "~g"), "tickCount": 6, "orient": "top"},
        "scale": {"type": "log"} if panel.unit == "ratio" else {"zero": panel.reference == 0},
    }
    if panel.ends and panel.unit != "ratio":
        x["scale"] = {"domain": list(panel.ends), "nice": False}
    y = {
        "field": "label",
        "type": "nominal",
        "title": None,
        "sort": None,
        "axis": {"labelLimit": LABEL_PIXELS, "domain": False, "ticks": False},
    }
    heading = {"title": {"text": panel.heading, "anchor": "start"}} if panel.heading else {}
    return {
        **heading,
        "data": {"values": rows},
        "width": WIDTH,
        "height": ROW * max(len(rows), 2),
        "layer": [
            *_rule(panel.reference),
            *interval_layers("x", x, {"y": y, "tooltip": _tooltip()}),
            *(_beside(name, {**x, "field": name}, y) for name in _BESIDE if _any(rows, name)),
        ],
    }


def _beside(name: str, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    """The layer of true or of adjusted numbers."""
    return {
        "transform": [{"filter": {"field": name, "valid": True}}],
        "mark": _BESIDE[name],
        "encoding": {"y": y, "x": x, "tooltip": _tooltip()},
    }


def _any(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row[name] is not None for row in rows)


def interval_layers(
    way: str, along: dict[str, Any], beside: dict[str, Any], thick: float = THICK
) -> list[dict[str, Any]]:
    """Layers of intervals: a band, its inner half, and the estimate; hollow if not told from zero.

    Args:
        way: "x" for intervals that lie, "y" for those that stand.
        along: the channel of the numbers.
        beside: the other channels.
        thick: how wide bands are, in pixels.
    """

    def span(low: str, high: str, mark: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
        return {
            "transform": [{"filter": kept}],
            "mark": {"type": "rule", **mark},
            "encoding": {**beside, way: {**along, "field": low}, f"{way}2": {"field": high}},
        }

    def point(mark: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
        return {
            "transform": [{"filter": {"and": [kept, {"field": "shown", "valid": True}]}}],
            "mark": {"type": "point", "size": min(30.0, 4 * thick), "opacity": 1, **mark},
            "encoding": {**beside, way: {**along, "field": "shown"}},
        }

    return [
        span("low", "high", {"strokeWidth": thick, "color": LIGHT.band}, _TOLD),
        span("core_low", "core_high", {"strokeWidth": thick, "color": LIGHT.core}, _TOLD),
        span("low", "high", {"strokeWidth": 1.5, "color": LIGHT.unclear}, _UNTOLD),
        point({"filled": True, "color": LIGHT.ink}, _TOLD),
        point({"filled": True, "fill": LIGHT.inside, "stroke": LIGHT.unclear}, _UNTOLD),
    ]


def line_panels(panel: Lines) -> Iterator[dict[str, Any]]:
    """Numbers over time, a chart for each.

    Args:
        panel: of a figure.
    """
    axis: dict[str, Any] = {"format": _FORMATS.get(panel.unit, "~g"), "tickCount": 5}
    y: dict[str, Any] = {
        "type": "quantitative",
        "title": None,
        "axis": axis,
        "scale": {"zero": panel.unit == "share"},
    }
    if not scales_differ(panel):
        intervals = [each.interval for line in panel.lines for each in line.moments]
        fields = [_fields(each, 1.0, from_zero=panel.unit == "share") for each in intervals if each]
        ends = [each[name] for each in fields for name in ("low", "high")]
        ends = [end for end in ends if end is not None]
        if ends:
            zero = [0.0] if panel.unit == "share" else []
            y["scale"] = {"domain": [min([*zero, *ends]), max([*zero, *ends])], "nice": True}
    for line in panel.lines:
        yield _line_panel(line, panel, y)


def _line_panel(line: Line, panel: Lines, y: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "day": moment.since.isoformat(),
            "end": moment.until.isoformat(),
            "said": moment_in_words(moment, panel, marks),
            "marks": next((mark for mark in MARKS if mark in marks), None),
            **(
                {}
                if moment.interval is None
                else _fields(moment.interval, 1.0, from_zero=panel.unit == "share")
            ),
        }
        for moment, marks in zip(line.moments, panel.marks, strict=True)
    ]
    # Days are midnight in UTC: on an axis of local time they could be the day before.
    x = {"field": "day", "type": "temporal", "title": None, "scale": {"type": "utc"}}
    x_axis = {"format": "%Y-%m-%d", "labelAngle": -40, "tickCount": 5}
    across = {"x": {**x, "axis": x_axis}, "tooltip": _tooltip()}
    layers: list[dict[str, Any]] = []
    for mark, color in (
        ("suspicious", LIGHT.warning),
        ("uneven", LIGHT.uneven),
        ("missing", LIGHT.unclear),
        ("release", LIGHT.ink),
    ):
        if any(row["marks"] == mark for row in rows):
            layers.append(
                {
                    "transform": [{"filter": {"field": "marks", "equal": mark}}],
                    "mark": {"type": "rule", "color": color, "strokeDash": [4, 3]},
                    "encoding": across,
                }
            )
    if panel.events:
        happened = [
            {"day": each.day.isoformat(), "said": f"{each.day}: {visible(each.text)}"}
            for each in panel.events
        ]
        rule = {"type": "rule", "color": LIGHT.ink, "strokeDash": [1, 3]}
        layers.append({"data": {"values": happened}, "mark": rule, "encoding": across})
    if panel.unit == "share":
        layers += _rule(0.0, "y")
    layers.append(
        {
            "mark": {"type": "line", "color": LIGHT.ink, "strokeWidth": 1},
            "encoding": {**across, "y": {**y, "field": "shown"}},
        }
    )
    width = SMALL_WIDTH if len(panel.lines) > 1 else WIDTH
    # Where periods are close together, their intervals touch and become a band.
    thick = min(THICK, width / max(len(rows), 1))
    return {
        "title": {"text": line.label, "anchor": "start", "limit": width},
        "data": {"values": rows},
        "width": width,
        "height": HEIGHT,
        "layer": [*layers, *interval_layers("y", y, across, thick)],
    }


def histogram_panels(panel: Histogram) -> Iterator[dict[str, Any]]:
    """Bars with intervals, and mean and quantiles below them.

    Args:
        panel: of a figure.
    """
    rows = [
        {
            "start": bar.start,
            "end": bar.end,
            "middle": (bar.start + bar.end) / 2,
            "said": in_words(bar.interval, "share"),
            **_fields(bar.interval, 1.0),
        }
        for bar in panel.bars
    ]
    ends = [end for bar in panel.bars for end in (bar.start, bar.end)]
    scale = {"domain": [min(ends), max(ends)], "nice": False} if ends else {}
    x = {"type": "quantitative", "title": panel.axis, "scale": scale}
    y = {"type": "quantitative", "title": panel.shares, "axis": {"format": "~%", "tickCount": 5}}
    yield {
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [
            {
                "mark": {"type": "bar", "color": LIGHT.band},
                "encoding": {
                    "x": {**x, "field": "start"},
                    "x2": {"field": "end"},
                    "y": {**y, "field": "estimate"},
                    "y2": {"datum": 0},
                    "tooltip": _tooltip(),
                },
            },
            {
                "mark": {"type": "rule", "color": LIGHT.ink},
                "encoding": {
                    "x": {**x, "field": "middle"},
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "tooltip": _tooltip(),
                },
            },
        ],
    }
    placed = [
        {"label": each.name, "said": placed_in_words(each), **_fields(each.interval, 1.0)}
        for each in panel.placed
    ]
    names = {"field": "label", "type": "nominal", "title": None, "sort": None}
    yield {
        "data": {"values": placed},
        "width": WIDTH,
        "height": ROW * max(len(placed), 2),
        "layer": interval_layers("x", x, {"y": names, "tooltip": _tooltip()}),
    }


def curves_panel(panel: Curves) -> dict[str, Any]:
    """Lines over two logarithmic axes.

    Args:
        panel: of a figure.
    """
    rows = [
        {"curve": curve.name, "chosen": curve.chosen, panel.across: at, "height": height}
        for curve in panel.curves
        for at, height in curve.points
    ]
    log = {"type": "log", "nice": False}
    across = {"field": panel.across, "type": "quantitative"}
    x = {**across, "scale": log, "axis": {"format": "~s"}}
    y = {
        "field": "height",
        "type": "quantitative",
        "title": panel.axis,
        "scale": log,
        "axis": {"format": "~%" if panel.unit == "share" else "~g"},
    }
    lines: list[dict[str, Any]] = [
        {
            "transform": [{"filter": {"field": "chosen", "equal": chosen}}],
            "mark": {"type": "line", "color": color, "strokeWidth": width},
            "encoding": {
                "x": x,
                "y": y,
                "detail": {"field": "curve", "type": "nominal"},
                "tooltip": [{"field": "curve", "type": "nominal"}],
            },
        }
        for chosen, color, width in ((False, LIGHT.unclear, 1.2), (True, LIGHT.core, 3))
    ]
    if panel.marked is not None:
        lines.append(
            {
                "data": {"values": [{panel.across: panel.marked}]},
                "mark": {"type": "rule", "color": LIGHT.truth, "strokeDash": [4, 3]},
                "encoding": {"x": across},
            }
        )
    heading = {"title": {"text": panel.heading, "anchor": "start"}} if panel.heading else {}
    return {
        **heading,
        "data": {"values": rows},
        "width": WIDTH,
        "height": HEIGHT,
        "layer": lines,
    }


def grid_panel(panel: Grid) -> dict[str, Any]:
    """Verdicts by key and day.

    Args:
        panel: of a figure.
    """
    marks = {
        "ok": ("square", LIGHT.band),
        "suspicious": ("triangle-up", LIGHT.warning),
        "uneven": ("diamond", LIGHT.uneven),
        "unknown": ("circle", LIGHT.unclear),
    }
    rows = [
        {
            "label": row.label,
            "day": day.isoformat(),
            "verdict": VERDICTS[each],
            "said": f"{row.label}, {day}: {VERDICTS[each]}",
        }
        for row in panel.rows
        for day, each in zip(panel.days, row.verdicts, strict=True)
        if each
    ]
    names = list(VERDICTS.values())
    verdict = {"field": "verdict", "type": "nominal", "title": None}
    shapes, colors = ([marks[each][which] for each in VERDICTS] for which in (0, 1))
    legend = {"orient": "bottom"}
    x = {
        "field": "day",
        "type": "temporal",
        "title": None,
        "scale": {"type": "utc"},
        "axis": {"format": "%Y-%m-%d", "labelAngle": -40, "tickCount": 6},
    }
    return {
        "data": {"values": rows},
        "width": WIDTH,
        "height": ROW * max(len(panel.rows), 2),
        "mark": {"type": "point", "filled": True, "opacity": 1, "size": 45},
        "encoding": {
            "x": x,
            "y": {"field": "label", "type": "nominal", "title": None, "sort": None},
            "color": {**verdict, "scale": {"domain": names, "range": colors}, "legend": legend},
            "shape": {**verdict, "scale": {"domain": names, "range": shapes}, "legend": legend},
            "tooltip": _tooltip(),
        },
    }


def _rule(at: float | None, way: str = "x") -> list[dict[str, Any]]:
    """The line at zero, or where the reference is."""
    if at is None:
        return []
    encoding = {way: {"field": "at", "type": "quantitative"}}
    mark = {"type": "rule", "color": LIGHT.ink}
    return [{"data": {"values": [{"at": at}]}, "mark": mark, "encoding": encoding}]


def _fields(interval: Interval, factor: float, *, from_zero: bool = False) -> dict[str, Any]:
    """What marks need of an interval; of what cannot be told from zero, the part above it."""
    low, estimate, high = interval.low, interval.estimate, interval.high
    if from_zero and not interval.told:
        low, high = 0.0, max(0.0, high)
        estimate = None if estimate is None else min(max(0.0, estimate), high)
    numbers = {
        "estimate": interval.estimate,
        "shown": estimate,
        "low": low,
        "high": high,
        "core_low": interval.core_low,
        "core_high": interval.core_high,
    }
    scaled = {name: _number(value, factor) for name, value in numbers.items()}
    return {**scaled, "told": interval.told}


def _number(value: float | None, factor: float = 1.0) -> float | None:
    """A number as JSON can hold it: what is not finite is not there."""
    return factor * value if value is not None and math.isfinite(value) else None


def _tooltip() -> list[dict[str, str]]:
    return [{"field": "said", "type": "nominal", "title": " "}]
