"""Curves, as layers of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.vega.parts import HEIGHT, WIDTH

if TYPE_CHECKING:
    from deniable_aggregator.charts.figure import Curves


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
