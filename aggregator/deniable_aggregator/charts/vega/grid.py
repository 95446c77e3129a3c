"""A grid of verdicts, as layers of Vega-Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.vega.parts import ROW, WIDTH, tooltip
from deniable_aggregator.charts.words import VERDICTS

if TYPE_CHECKING:
    from deniable_aggregator.charts.figure import Grid


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
            "tooltip": tooltip(),
        },
    }
