"""The numbers of a figure as texts: for those who cannot see it, and for its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.charts.figure import Dots
from deniable_aggregator.charts.words import ENDINGS, decimals_of, factor, in_words, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.charts.figure import Dot, Figure, Interval, Panel, Unit


def described(figure: Figure) -> str:
    """Everything that the figure shows, in words: what SVG calls its description."""
    said = [
        *(f"Warning: {warning}" for warning in figure.warnings),
        *figure.subtitle,
        *(line for panel in figure.panels for line in panel_in_words(panel)),
        *figure.notes,
    ]
    return " ".join(text if text.endswith((".", "!", "?", "…")) else f"{text}." for text in said)


def panel_in_words(panel: Panel) -> Iterator[str]:
    """A sentence for each mark of a panel."""
    if panel.heading:
        yield panel.heading
    if isinstance(panel, Dots):
        yield panel.axis
        for dot in panel.dots:
            yield dot_in_words(dot, panel.unit)
        if panel.left_out:
            yield panel.left_out


def dot_in_words(dot: Dot, unit: Unit) -> str:
    """A row: "chrome: 44.4 to 45.2%, estimate 44.8%"."""
    said = [f"{dot.label}: {interval_in_words(dot.interval, unit)}"]
    if dot.aside:
        said.append(dot.aside)
    if dot.truth is not None:
        said.append(f"truth {estimate_in_words(dot.truth, dot.interval, unit)}")
    if dot.adjusted is not None:
        said.append(f"adjusted {estimate_in_words(dot.adjusted, dot.interval, unit)}")
    return ", ".join(said)


def interval_in_words(interval: Interval, unit: Unit) -> str:
    """A range and its estimate; of what cannot be told from zero, that it cannot."""
    said = in_words(interval, unit)
    if not interval.told:
        said = {
            "share": f"can't be told from zero, {said}",
            "points": f"no clear change, {said}",
        }.get(unit, said)
    elif unit == "points":
        said = f"a clear change, {said}"
    if interval.estimate is None:
        return f"{said}, cannot be placed better"
    return f"{said}, estimate {estimate_in_words(interval.estimate, interval, unit)}"


def estimate_in_words(value: float, interval: Interval, unit: Unit) -> str:
    """A number, rounded as its interval is."""
    decimals = decimals_of(interval, unit)
    return number(factor(unit) * value, decimals, sign=unit == "points") + ENDINGS.get(unit, "")
