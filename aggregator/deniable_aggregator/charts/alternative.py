"""The numbers of a figure as texts: for those who cannot see it, and for its table."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import CHANGES, Dots, Grid, Histogram, Lines
from deniable_aggregator.charts.shown import shown_part
from deniable_aggregator.charts.words import (
    ENDINGS,
    MARKS,
    VERDICTS,
    days_shortly,
    estimate_in_words,
    factor,
    in_words,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.charts.figure import (
        Bar,
        Curves,
        Dot,
        Figure,
        GridRow,
        Interval,
        Line,
        Moment,
        Panel,
        Placed,
        Unit,
    )

MOST_SAID: Final = 40
"""Periods of a line; of more, the description has the first, the last, and the extremes."""

UNTOLD: Final[Mapping[Unit, str]] = {
    "share": "can't be told from zero",
    "points": "no clear change",
    "difference": "no clear change",
    "ratio": "can't be told from chance",
}
"""What hollow marks mean."""


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
    elif isinstance(panel, Grid):
        yield from (row_in_words(row, panel) for row in panel.rows)
    else:
        yield from _curves_in_words(panel)
    if isinstance(panel, Lines):
        yield from (f"{event.day}: {event.text}" for event in panel.events)
    if isinstance(panel, Dots | Lines | Grid) and panel.left_out:
        yield panel.left_out


def table_of(panel: Panel) -> tuple[list[str], list[list[str]]]:
    """The names of columns, and all numbers of a panel as texts.

    Args:
        panel: of a figure.
    """
    if isinstance(panel, Dots):
        return ["", "estimate", "interval", ""], [
            [dot.label, *_dot_cells(dot, panel.unit), ", ".join(_beside(dot, panel.unit))]
            for dot in panel.dots
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
        placed = [[each.name, *_cells(each.interval, "number")] for each in panel.placed]
        bars = [
            [f"{plain(bar.start)} to {plain(bar.end)}", *_cells(bar.interval, "share")]
            for bar in panel.bars
        ]
        return ["", "estimate", "interval"], placed + bars
    if isinstance(panel, Grid):
        return ["", "verdict", "days"], [
            [row.label, VERDICTS[verdict], days]
            for row in panel.rows
            for verdict, days in _by_verdict(row, panel)
        ]
    ending = ENDINGS.get(panel.unit, "")
    return ["", panel.across, panel.axis], [
        [curve.name, f"{at:,.0f}", f"{plain(factor(panel.unit) * height, 3)}{ending}"]
        for curve in panel.curves
        for at, height in curve.points[:: max(1, len(curve.points) // 8)]
    ]


def _dot_cells(dot: Dot, unit: Unit) -> tuple[str, str]:
    """The estimate and the interval of a row, in two cells."""
    return _cells(dot.interval, unit) if dot.written is None else dot.written[::-1]


def range_of(dot: Dot, unit: Unit) -> str:
    """The interval of a row, as it stands beside its mark."""
    return in_words(dot.interval, unit) if dot.written is None else dot.written[0]


def _cells(interval: Interval, unit: Unit) -> tuple[str, str]:
    """An estimate and its interval, in two cells."""
    if interval.estimate is None:
        return "", in_words(interval, unit)
    return estimate_in_words(interval.estimate, interval, unit), in_words(interval, unit)


def _beside(dot: Dot, unit: Unit) -> list[str]:
    """What is said of a row beside its interval."""
    said = [dot.aside] if dot.aside else []
    if not dot.interval.told and unit in UNTOLD:
        said.append(UNTOLD[unit])
    if dot.truth is not None:
        said.append(f"truth {estimate_in_words(dot.truth, dot.interval, unit)}")
    if dot.adjusted is not None:
        said.append(f"adjusted {estimate_in_words(dot.adjusted, dot.interval, unit)}")
    return said


def dot_in_words(dot: Dot, unit: Unit) -> str:
    """A row: "chrome: 44 to 46%, estimate 45%"."""
    if dot.written is None:
        said = interval_in_words(dot.interval, unit)
    else:
        said = "{}, estimate {}".format(*dot.written)
    return ", ".join([f"{dot.label}: {said}", *_beside(dot, unit)])


def row_in_words(row: GridRow, panel: Grid) -> str:
    """A key: "partner (0307..): suspicious reports 2026-10-26 to 2026-11-01"."""
    said = (f"{VERDICTS[verdict]} {days}" for verdict, days in _by_verdict(row, panel))
    return f"{row.label}: " + "; ".join(said)


def _by_verdict(row: GridRow, panel: Grid) -> Iterator[tuple[str, str]]:
    """The days of each verdict, in words; the last are those that are ok."""
    for verdict in [*(each for each in VERDICTS if each != "ok"), "ok"]:
        days = [day for day, one in zip(panel.days, row.verdicts, strict=True) if one == verdict]
        if days:
            yield verdict, days_shortly(days) if verdict != "ok" else f"{len(days):,} days"


def moment_in_words(moment: Moment, panel: Lines, marks: tuple[str, ...] = ()) -> str:
    """A period: "2026-09-01: 44 to 46%, estimate 45%"."""
    said = (
        "no reports" if moment.interval is None else interval_in_words(moment.interval, panel.unit)
    )
    untold = moment.interval is not None and not moment.interval.told and panel.unit in UNTOLD
    special = [UNTOLD[panel.unit]] if untold else []
    special += [MARKS[mark] for mark in marks if mark in MARKS and mark != "missing"]
    return ", ".join([f"{moment.since}: {said}", *special])


def bar_in_words(bar: Bar) -> str:
    """A bin: "1.5 to 2: 12 to 14%, estimate 13%"."""
    said = interval_in_words(bar.interval, "share")
    return f"{plain(bar.start)} to {plain(bar.end)}: {said}"


def placed_in_words(placed: Placed) -> str:
    """A mean or a quantile: "median: 1.74 to 1.82, estimate 1.78"."""
    return f"{placed.name}: {interval_in_words(placed.interval, 'number')}"


def interval_in_words(interval: Interval, unit: Unit) -> str:
    """A range and its estimate; of a change, whether it is clear."""
    said = in_words(interval, unit)
    if interval.told and unit in CHANGES:
        said = f"a clear change, {said}"
    part = shown_part(interval, unit)
    if part.estimate is None:
        return f"{said}, cannot be placed better"
    return f"{said}, estimate {estimate_in_words(part.estimate, part, unit)}"


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
            f"{_as_a_height(factor(panel.unit) * height)}{ending} with {at:,.0f} {panel.across}"
            for at, height in ends
        )
        chosen = f" ({panel.chosen})" if curve.chosen else ""
        yield f"{curve.name}{chosen}: {said}"


def _as_a_height(value: float) -> str:
    """A number with three figures, or one behind its point; rounded up, as heights are bounds."""
    figures = max(3, len(f"{abs(value):.0f}") + 1)
    exact = Decimal(f"{value:.12g}")
    return plain(float(Context(figures, ROUND_CEILING).plus(exact)), figures)
