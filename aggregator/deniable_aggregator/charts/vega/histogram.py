"""Bars with intervals, as layers of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.charts.alternative import placed_in_words
from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.vega.parts import (
    HEIGHT,
    ROW,
    WIDTH,
    interval_fields,
    interval_layers,
    tooltip,
)
from deniable_aggregator.charts.words import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.charts.figure import Histogram


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
            **interval_fields(bar.interval, "share"),
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
                    "y": {**y, "field": "shown"},
                    "y2": {"datum": 0},
                    "tooltip": tooltip(),
                },
            },
            {
                "mark": {"type": "rule", "color": LIGHT.ink},
                "encoding": {
                    "x": {**x, "field": "middle"},
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "tooltip": tooltip(),
                },
            },
        ],
    }
    placed = [
        {
            "label": each.name,
            "said": placed_in_words(each),
            **interval_fields(each.interval, "number"),
        }
        for each in panel.placed
    ]
    names = {"field": "label", "type": "nominal", "title": None, "sort": None}
    yield {
        "data": {"values": placed},
        "width": WIDTH,
        "height": ROW * max(len(placed), 2),
        "layer": interval_layers("x", x, {"y": names, "tooltip": tooltip()}),
    }
