"""Rows of intervals, as layers of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.charts.alternative import dot_in_words
from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.vega.parts import (
    FORMATS,
    LABEL_PIXELS,
    ROW,
    WIDTH,
    finite,
    interval_fields,
    interval_layers,
    reference_rule,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.charts.figure import Dots

_BESIDE: Final[Mapping[str, Mapping[str, Any]]] = {
    "truth": {"type": "tick", "color": LIGHT.truth, "thickness": 2, "height": 18},
    "adjusted": {"type": "point", "shape": "diamond", "color": LIGHT.adjusted, "yOffset": 8},
}


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
            "truth": finite(dot.truth),
            "adjusted": finite(dot.adjusted),
            **interval_fields(dot.interval, panel.unit, factor),
        }
        for dot in panel.dots
    ]
    x: dict[str, Any] = {
        "type": "quantitative",
        "title": panel.axis,
        "axis": {"format": FORMATS.get(panel.unit, "~g"), "tickCount": 6, "orient": "top"},
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
            *reference_rule(panel.reference),
            *interval_layers("x", x, {"y": y, "tooltip": tooltip()}),
            *(_beside(name, {**x, "field": name}, y) for name in _BESIDE if _any(rows, name)),
        ],
    }


def _beside(name: str, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    """The layer of true or of adjusted numbers."""
    return {
        "transform": [{"filter": {"field": name, "valid": True}}],
        "mark": _BESIDE[name],
        "encoding": {"y": y, "x": x, "tooltip": tooltip()},
    }


def _any(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row[name] is not None for row in rows)
