"""A figure as Vega-Lite, for Altair in notebooks: the same marks and colours, with tooltips.

The result is data without expressions, in which no text of a metric or a value can act: hidden
characters are shown by name, and a "<" that could begin an element, where a page holds the chart as
JSON within a script, is the one that is wide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.drawing.texts import wrapped
from deniable_aggregator.charts.figure import Dots, Grid, Histogram, Lines
from deniable_aggregator.charts.vega.curves import curves_panel
from deniable_aggregator.charts.vega.dots import dots_panel
from deniable_aggregator.charts.vega.grid import grid_panel
from deniable_aggregator.charts.vega.histogram import histogram_panels
from deniable_aggregator.charts.vega.lines import line_panels
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.charts.figure import Figure

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
COLUMNS: Final = 2
_WIDTH: Final = 560.0
_BEGINS: Final = re.compile("<(?=[a-zA-Z/!?])")
_WIDE_LESS: Final = "\uff1c"


def vega_lite(figure: Figure) -> dict[str, Any]:
    """A specification of Vega-Lite, with its data.

    Args:
        figure: what is drawn.
    """
    said = [
        *(f"Warning: {warning}" for warning in figure.warnings),
        *figure.subtitle,
        *figure.notes,
        *(panel.left_out for panel in figure.panels if isinstance(panel, Dots | Lines | Grid)),
    ]
    subtitle = [line for text in said if text for line in wrapped(text, 11, _WIDTH)]
    title = {
        "text": wrapped(figure.title, 13, _WIDTH, bold=True),
        "subtitle": subtitle,
        "anchor": "start",
        "offset": 12,
    }
    found: dict[str, Any] = _harmless(
        {"$schema": SCHEMA, "title": title, **_together(list(_panels(figure)))}
    )
    return found


def _panels(figure: Figure) -> Iterator[dict[str, Any]]:
    for panel in figure.panels:
        if isinstance(panel, Dots):
            yield dots_panel(panel)
        elif isinstance(panel, Lines):
            yield {"concat": list(line_panels(panel)), "columns": COLUMNS}
        elif isinstance(panel, Histogram):
            yield from histogram_panels(panel)
        elif isinstance(panel, Grid):
            yield grid_panel(panel)
        else:
            yield curves_panel(panel)


def _together(panels: list[dict[str, Any]]) -> dict[str, Any]:
    config = {"config": {"background": LIGHT.background, "view": {"stroke": None}}}
    if len(panels) == 1 and "layer" not in panels[0]:
        return {**panels[0], **config}
    return {"vconcat": panels, **config}


def _harmless(data: Any) -> Any:
    """The same data, in which no text acts on a page or on a reader."""
    if isinstance(data, str):
        return _BEGINS.sub(_WIDE_LESS, visible(data))
    if isinstance(data, dict):
        return {name: _harmless(value) for name, value in data.items()}
    return [_harmless(value) for value in data] if isinstance(data, list) else data
