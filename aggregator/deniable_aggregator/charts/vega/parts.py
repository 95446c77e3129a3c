"""What the layers of several panels have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.charts.drawing.palette import LIGHT
from deniable_aggregator.charts.shown import shown_part

if TYPE_CHECKING:
    from deniable_aggregator.charts.figure import Interval, Unit

WIDTH: Final = 420
SMALL_WIDTH: Final = 260
ROW: Final = 24
HEIGHT: Final = 200
THICK: Final = 7.0
LABEL_PIXELS: Final = 240

FORMATS: Final[dict[Unit, str]] = {"share": "~%", "points": "+~g", "difference": "+~g"}
TOLD: Final = {"field": "told", "equal": True}
UNTOLD: Final = {"field": "told", "equal": False}


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
        span("low", "high", {"strokeWidth": thick, "color": LIGHT.band}, TOLD),
        span("core_low", "core_high", {"strokeWidth": thick, "color": LIGHT.core}, TOLD),
        span("low", "high", {"strokeWidth": 1.5, "color": LIGHT.unclear}, UNTOLD),
        point({"filled": True, "color": LIGHT.ink}, TOLD),
        point({"filled": True, "fill": LIGHT.inside, "stroke": LIGHT.unclear}, UNTOLD),
    ]


def reference_rule(at: float | None, way: str = "x") -> list[dict[str, Any]]:
    """The line at zero, or where the reference is.

    Args:
        at: where; None for no line.
        way: along which axis the numbers are.
    """
    if at is None:
        return []
    encoding = {way: {"field": "at", "type": "quantitative"}}
    mark = {"type": "rule", "color": LIGHT.ink}
    return [{"data": {"values": [{"at": at}]}, "mark": mark, "encoding": encoding}]


def interval_fields(interval: Interval, unit: Unit, factor: float = 1.0) -> dict[str, Any]:
    """What marks need of an interval: the part that is drawn, and the estimate as it is.

    Args:
        interval: of a figure.
        unit: what its number is.
        factor: what numbers are multiplied by.
    """
    part = shown_part(interval, unit)
    numbers = {
        "estimate": interval.estimate,
        "shown": part.estimate,
        "low": part.low,
        "high": part.high,
        "core_low": part.core_low,
        "core_high": part.core_high,
    }
    scaled = {name: finite(value, factor) for name, value in numbers.items()}
    return {**scaled, "told": interval.told}


def finite(value: float | None, factor: float = 1.0) -> float | None:
    """A number as JSON can hold it: what is not finite is not there.

    Args:
        value: the number, if there is one.
        factor: what it is multiplied by.
    """
    return factor * value if value is not None and math.isfinite(value) else None


def tooltip() -> list[dict[str, str]]:
    """What is shown where the pointer is: a row's field `said`."""
    return [{"field": "said", "type": "nominal", "title": " "}]
