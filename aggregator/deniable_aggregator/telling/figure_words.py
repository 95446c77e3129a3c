"""The numbers of a figure as texts: beside its marks, for those who cannot see it, in its table.

Plans are drawn where msgspec is not installed, so nothing here imports it until days are written.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Final

from deniable_aggregator.telling import ranges
from deniable_aggregator.telling.figure import (
    CHANGES,
    Bar,
    Curves,
    Dot,
    Dots,
    Figure,
    Grid,
    GridRow,
    Histogram,
    Line,
    Lines,
    Moment,
    Panel,
    Placed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.measured import Unit
    from deniable_aggregator.telling.interval import Interval

MARKS: Final[Mapping[str, str]] = {
    "suspicious": "suspicious reports",
    "uneven": "a key answers differently from the others",
    "surge": "far more reports than usual",
    "missing": "no reports",
    "left_out": "reports left out",
    "none_due": "none due",
    "incomplete": "not over",
    "unlike": "not comparable with the one before",
    "release": "a new version",
}
"""What is special about periods; where one has several marks, the first of them is drawn."""

ABSENT: Final = ("left_out", "missing", "none_due")
"""Marks that say why a period has no number."""

VERDICTS: Final[Mapping[str, str]] = {
    "ok": "as devices send them",
    "suspicious": "suspicious reports",
    "uneven": "a key answers differently from the others",
    "surge": "far more reports than usual",
    "unknown": "not checked",
}
"""What verdicts about reports mean."""

UNTOLD: Final[Mapping[Unit, str]] = {
    "share": "can't tell from zero",
    "points": "no clear change",
    "difference": "no clear change",
    "ratio": "can't tell from chance",
}
"""What hollow marks mean."""

MOST_SAID: Final = 40
"""Periods of a line; of more, the description has the first, the last, and the extremes."""


def range_in_words(interval: Interval, unit: Unit) -> str:
    """An interval as it stands beside its mark: "44 to 46%", "below 0.6%", "+8 to +12 points".

    Args:
        interval: of a figure.
        unit: of its number.
    """
    words = ranges.interval_in_words(
        unit,
        interval.low,
        interval.high,
        told=interval.told,
        limits=interval.limits,
        step=interval.step,
        beyond=interval.beyond,
    )
    return words + ranges.ENDINGS.get(unit, "")


def number_in_words(number: float, interval: Interval, unit: Unit) -> str:
    """A number, rounded as its interval is, and within what it can be.

    Args:
        number: the estimate, or another number beside it.
        interval: how far it may be off.
        unit: of the number.
    """
    words = ranges.estimate_in_words(
        unit, number, interval.low, interval.high, limits=interval.limits, step=interval.step
    )
    return words + ranges.ENDINGS.get(unit, "")


def described(figure: Figure) -> str:
    """What the figure shows, in words: what SVG calls its description."""
    lines = [
        *(f"Warning: {warning}" for warning in figure.warnings),
        *figure.subtitle,
        *(line for panel in figure.panels for line in panel_in_words(panel)),
        *figure.notes,
    ]
    return " ".join(line if line.endswith((".", "!", "?", "…")) else f"{line}." for line in lines)


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
        yield from (f"{event.day}: {event.text}" for event in panel.events)
    elif isinstance(panel, Histogram):
        yield from (placed_in_words(placed) for placed in panel.placed)
        yield f"{panel.shares}, by {panel.axis}"
        yield from map(bar_in_words, panel.bars)
    elif isinstance(panel, Grid):
        yield from (row_in_words(row, panel) for row in panel.rows)
    else:
        yield from _curves_in_words(panel)
    if isinstance(panel, Dots | Lines | Grid) and panel.left_out:
        yield panel.left_out


def table_of(panel: Panel) -> tuple[list[str], list[list[str]]]:
    """The names of columns, and all numbers of a panel as texts.

    Args:
        panel: of a figure.
    """
    if isinstance(panel, Dots):
        return ["", "estimate", "interval", ""], [
            [dot.label, *_cells(dot.interval, panel.unit), ", ".join(beside)]
            for dot in panel.dots
            for beside in [_beside(dot, panel.unit, untold=panel.unit != "share")]
        ]
    if isinstance(panel, Lines):
        days = ["day"] if panel.by == "day" else ["since", "until"]
        return ["", *days, "estimate", "interval", ""], [
            [
                line.label,
                *map(str, (moment.since, moment.until)[: len(days)]),
                *(_cells(moment.interval, panel.unit) if moment.interval else ("", "")),
                ", ".join(MARKS[mark] for mark in marks if mark in MARKS),
            ]
            for line in panel.lines
            for moment, marks in zip(line.moments, panel.marks, strict=True)
        ]
    if isinstance(panel, Histogram):
        rows = [[placed.name, *_cells(placed.interval, "number")] for placed in panel.placed]
        rows += [[_bin_in_words(bar), *_cells(bar.interval, "share")] for bar in panel.bars]
        return ["", "estimate", "interval"], rows
    if isinstance(panel, Grid):
        return ["", "verdict", "days"], [
            [row.label, VERDICTS[verdict], days]
            for row in panel.rows
            for verdict, days in _by_verdict(row, panel)
        ]
    return ["", panel.across, panel.axis], [
        [curve.name, f"{at:,.0f}", _height_in_words(height, panel)]
        for curve in panel.curves
        for at, height in curve.points[:: max(1, len(curve.points) // 8)]
    ]


def dot_in_words(dot: Dot, unit: Unit) -> str:
    """A row: "chrome: 44 to 46%, estimate 45%"."""
    return ", ".join(
        [f"{dot.label}: {_interval_in_words(dot.interval, unit)}", *_beside(dot, unit)]
    )


def row_in_words(row: GridRow, panel: Grid) -> str:
    """A key: "partner (0307..): suspicious reports 2026-10-26 to 2026-11-01"."""
    parts = (f"{VERDICTS[verdict]} {days}" for verdict, days in _by_verdict(row, panel))
    return f"{row.label}: " + "; ".join(parts)


def moment_in_words(moment: Moment, panel: Lines, marks: tuple[str, ...] = ()) -> str:
    """A period: "2026-09-01: 44 to 46%, estimate 45%"."""
    interval = moment.interval
    absent = next((mark for mark in marks if mark in ABSENT), "missing")
    words = MARKS[absent] if interval is None else _interval_in_words(interval, panel.unit)
    untold = interval is not None and not interval.told and panel.unit in UNTOLD
    special = [UNTOLD[panel.unit]] if untold else []
    special += [MARKS[mark] for mark in marks if mark in MARKS and mark not in ABSENT]
    return ", ".join([f"{moment.since}: {words}", *special])


def number_of_period(moment: Moment, panel: Lines, marks: tuple[str, ...] = ()) -> str:
    """A period by itself: "Week of 2026-09-01: 44 to 46%, estimate 45%"."""
    length = "" if panel.by == "day" else f"{panel.by.capitalize()} of "
    return f"{length}{moment_in_words(moment, panel, marks)}"


def bar_in_words(bar: Bar) -> str:
    """A bin: "1.5 to 2: 12 to 14%, estimate 13%"."""
    return f"{_bin_in_words(bar)}: {_interval_in_words(bar.interval, 'share')}"


def placed_in_words(placed: Placed) -> str:
    """A mean or a quantile: "median: 1.74 to 1.82, estimate 1.78"."""
    return f"{placed.name}: {_interval_in_words(placed.interval, 'number')}"


def _interval_in_words(interval: Interval, unit: Unit) -> str:
    """A range and its estimate; of a change, whether it is clear.

    A share that is not told from zero has no estimate in words: its range is a bound.
    """
    words = range_in_words(interval, unit)
    if interval.told and unit in CHANGES:
        words = f"a clear change, {words}"
    if unit == "share" and not interval.told:
        return words
    if interval.estimate is None:
        return f"{words}, cannot be placed better"
    return f"{words}, estimate {number_in_words(interval.estimate, interval, unit)}"


def _cells(interval: Interval, unit: Unit) -> tuple[str, str]:
    """An estimate and its interval, in two cells."""
    words = range_in_words(interval, unit)
    if unit == "share" and not interval.told:
        return UNTOLD[unit], words
    if interval.estimate is None:
        return ranges.NOT_PLACED, words
    return number_in_words(interval.estimate, interval, unit), words


def _beside(dot: Dot, unit: Unit, *, untold: bool = True) -> list[str]:
    """What is said of a row beside its interval; `untold` if also that it is not told."""
    words = [dot.aside] if dot.aside else []
    if untold and not dot.interval.told and unit in UNTOLD:
        words.append(UNTOLD[unit])
    if dot.truth is not None:
        words.append(f"truth {number_in_words(dot.truth, dot.interval, unit)}")
    if dot.adjusted is not None:
        words.append(f"adjusted {number_in_words(dot.adjusted, dot.interval, unit)}")
    return words


def _by_verdict(row: GridRow, panel: Grid) -> Iterator[tuple[str, str]]:
    """The days of each verdict, in words; the last are those that are ok."""
    from deniable_aggregator.telling.wording import days_shortly

    for verdict in [*(each for each in VERDICTS if each != "ok"), "ok"]:
        days = [day for day, one in zip(panel.days, row.verdicts, strict=True) if one == verdict]
        if days:
            yield verdict, days_shortly(days) if verdict != "ok" else f"{len(days):,} days"


def _line_in_words(line: Line, panel: Lines, most: int) -> Iterator[str]:
    periods = list(zip(line.moments, panel.marks, strict=True))
    if len(periods) > most:
        known = [
            (moment.interval.estimate, moment, marks)
            for moment, marks in periods
            if moment.interval is not None and moment.interval.estimate is not None
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
    for curve in panel.curves:
        words = " and ".join(
            f"{_height_in_words(height, panel)} with {at:,.0f} {panel.across}"
            for at, height in (curve.points[0], curve.points[-1])
        )
        chosen = f" ({panel.chosen})" if curve.chosen else ""
        yield f"{curve.name}{chosen}: {words}"


def _height_in_words(height: float, panel: Curves) -> str:
    """A height with three figures, or one behind its point; rounded up, as heights are bounds."""
    number, ending = (100 * height, "%") if panel.unit == "share" else (height, "")
    figures = max(3, len(f"{abs(number):.0f}") + 1)
    rounded = Context(figures, ROUND_CEILING).plus(Decimal(f"{number:.12g}"))
    return f"{float(rounded):,.{figures}g}{ending}"


def _bin_in_words(bar: Bar) -> str:
    return f"{bar.start:,.6g} to {bar.end:,.6g}"
