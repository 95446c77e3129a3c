"""Numbers over time, as layers of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.charts.alternative import moment_in_words
from deniable_aggregator.charts.drawing.lines import scales_differ
from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.vega.parts import (
    FORMATS,
    HEIGHT,
    SMALL_WIDTH,
    THICK,
    WIDTH,
    interval_fields,
    interval_layers,
    reference_rule,
    tooltip,
)
from deniable_aggregator.charts.words import MARKS
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.charts.figure import Line, Lines


def line_panels(panel: Lines) -> Iterator[dict[str, Any]]:
    """Numbers over time, a chart for each.

    Args:
        panel: of a figure.
    """
    axis: dict[str, Any] = {"format": FORMATS.get(panel.unit, "~g"), "tickCount": 5}
    y: dict[str, Any] = {
        "type": "quantitative",
        "title": None,
        "axis": axis,
        "scale": {"zero": panel.unit == "share"},
    }
    if not scales_differ(panel):
        intervals = [each.interval for line in panel.lines for each in line.moments]
        fields = [interval_fields(each, panel.unit) for each in intervals if each]
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
            **({} if moment.interval is None else interval_fields(moment.interval, panel.unit)),
        }
        for moment, marks in zip(line.moments, panel.marks, strict=True)
    ]
    # Days are midnight in UTC: on an axis of local time they could be the day before.
    x = {"field": "day", "type": "temporal", "title": None, "scale": {"type": "utc"}}
    x_axis = {"format": "%Y-%m-%d", "labelAngle": -40, "tickCount": 5}
    across = {"x": {**x, "axis": x_axis}, "tooltip": tooltip()}
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
        layers += reference_rule(0.0, "y")
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
