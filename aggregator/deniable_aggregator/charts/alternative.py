"""The numbers of a figure as texts: for those who cannot see it, and for its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import CHANGES, Dots, Histogram, Lines
from deniable_aggregator.charts.words import (
    ENDINGS,
    MARKS,
    estimate_in_words,
    factor,
    in_words,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.charts.figure import (
        Bar,
        Curves,
        Dot,
        Figure,
        Interval,
        Line,
        Moment,
        Panel,
        Placed,
        Unit,
    )

MOST_SAID: Final = 40
"""Periods of a line; of more, the description has the first, the last, and the extremes."""

_UNTOLD: Final = {
    "share": "can't be told from zero, ",
    "points": "no clear change, ",
    "difference": "no clear change, ",
    "ratio": "can't be told from chance, ",
}


def described(figure: Figure) -> str:
    """What the figure shows, in words: what SVG calls its description."""
    said = [
        *(f"Warning: {warning}" for warning in figure.warnings),
        *figure.subtitle,
        *(line for panel in figure.panels for line in panel_in_words(panel)),
        *figure.notes,
    ]
    return " ".join(text if text.endswith((".", "!", "?", "…")) else f"{text}." for text in said)


def panel_in_words(panel: Panel, most: int = MOST_SAID) -> Iterator[str]:
    """A sentence for each mark of a panel.

    Args:
        panel: of a figure.
        most: periods of a line that are all said.
    """
    if panel.heading:
        yield panel.heading
    if isinstance(panel, Dots):
        yield panel.axis
        yield from (dot_in_words(dot, panel.unit) for dot in panel.dots)
    elif isinstance(panel, Lines):
        yield panel.axis
        for line in panel.lines:
            yield f"{line.label}: " + "; ".join(_line_in_words(line, panel, most))
    elif isinstance(panel, Histogram):
        yield from (placed_in_words(each) for each in panel.placed)
        yield f"{panel.shares}, by {panel.axis}"
        yield from map(bar_in_words, panel.bars)
    else:
        yield from _curves_in_words(panel)
    if isinstance(panel, Dots | Lines) and panel.left_out:
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


def moment_in_words(moment: Moment, panel: Lines, marks: tuple[str, ...] = ()) -> str:
    """A period: "2026-09-01: 44 to 46%, estimate 45%"."""
    said = (
        "no reports" if moment.interval is None else interval_in_words(moment.interval, panel.unit)
    )
    special = [MARKS[mark] for mark in marks if mark in MARKS and mark != "missing"]
    return ", ".join([f"{moment.since}: {said}", *special])


def bar_in_words(bar: Bar) -> str:
    """A bin: "1.5 to 2: 12 to 14%, estimate 13%"."""
    said = interval_in_words(bar.interval, "share")
    return f"{plain(bar.start)} to {plain(bar.end)}: {said}"


def placed_in_words(placed: Placed) -> str:
    """A mean or a quantile: "median: 1.74 to 1.82, estimate 1.78"."""
    return f"{placed.name}: {interval_in_words(placed.interval, 'number')}"


def interval_in_words(interval: Interval, unit: Unit) -> str:
    """A range and its estimate; of what cannot be told from zero, that it cannot."""
    said = in_words(interval, unit)
    if not interval.told:
        said = _UNTOLD.get(unit, "") + said
    elif unit in CHANGES:
        said = f"a clear change, {said}"
    if interval.estimate is None:
        return f"{said}, cannot be placed better"
    return f"{said}, estimate {estimate_in_words(interval.estimate, interval, unit)}"


def _line_in_words(line: Line, panel: Lines, most: int) -> Iterator[str]:
    periods = list(zip(line.moments, panel.marks, strict=True))
    if len(periods) > most:
        known = [
            (each.interval.estimate, each, marks)
            for each, marks in periods
            if each.interval is not None and each.interval.estimate is not None
        ]
        yield f"{len(periods):,} periods, {len(known):,} with reports"
        by_size = sorted(known, key=lambda each: each[0])
        chosen = [*known[:1], *by_size[:1], *by_size[-1:], *known[-1:]]
        names = ("first", "lowest", "highest", "last")
        for name, (_, moment, marks) in zip(names, chosen, strict=False):
            yield f"{name}, {moment_in_words(moment, panel, marks)}"
        return
    for moment, marks in periods:
        yield moment_in_words(moment, panel, marks)


def _curves_in_words(panel: Curves) -> Iterator[str]:
    yield panel.axis
    ending = ENDINGS.get(panel.unit, "")
    for curve in panel.curves:
        ends = (curve.points[0], curve.points[-1])
        said = " and ".join(
            f"{plain(factor(panel.unit) * width, 2)}{ending} with {devices:,.0f} devices"
            for devices, width in ends
        )
        chosen = " (the metric's own)" if curve.chosen else ""
        yield f"{curve.name}{chosen}: {said}"
