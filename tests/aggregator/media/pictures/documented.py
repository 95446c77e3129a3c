"""The pictures of docs/analysis/pictures.md.

`python -m tests.aggregator.media.pictures.documented` draws them again.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from pathlib import Path

from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.figure import Dot, Dots, Figure, Line, Lines, Moment
from deniable_aggregator.telling.interval import interval_of

FOLDER = Path(__file__).parents[4] / "docs" / "analysis"
LEVEL = 0.95
EACH = "Each 95% interval holds the true number 19 times in 20"


def interval(estimate, half, told=True):
    return interval_of(estimate, estimate - half, estimate + half, level=LEVEL, told=told)


def shares():
    """One week of a metric with few devices, so that the intervals can be seen."""
    rows = [
        ("Chrome", 0.447, 0.021),
        ("Safari", 0.232, 0.019),
        ("Edge", 0.108, 0.017),
        ("Firefox", 0.061, 0.016),
    ]
    dots = [Dot(label=name, interval=interval(share, half)) for name, share, half in rows]
    dots += [
        Dot(label="Opera", interval=interval(0.009, 0.015, told=False)),
        Dot(label="Konqueror", interval=interval(-0.004, 0.015, told=False)),
    ]
    panel = Dots(axis="share of reports", unit="share", dots=tuple(dots))
    return Figure(
        title="The browser that opens links",
        subtitle=(
            "Metric browser",
            "2026-11-09 to 2026-11-15, 7 of 7 days",
            "24,180 reports (not people); subset selection, epsilon 1.00",
        ),
        panels=(panel,),
        notes=(EACH,),
        level=LEVEL,
    )


def series():
    """Ten weeks with a release, a week without reports and one with forged reports."""
    first = date(2026, 9, 7)
    marks = [()] * 10
    marks[3], marks[5], marks[7], marks[9] = (
        ("release",),
        ("missing",),
        ("suspicious",),
        ("incomplete",),
    )
    lines = []
    for label, level, forged in (("dark", 0.44, 0.71), ("light", 0.5, 0.24)):
        moments = []
        for week in range(10):
            share = (
                level
                + 0.02 * math.sin(2 * week)
                + (0.09 if week > 2 else 0) * (1 if label == "dark" else -1)
            )
            since = first + timedelta(7 * week)
            known = (
                None
                if week == 5
                else interval(forged if week == 7 else share, 0.02 + 0.012 * (week == 9))
            )
            moments.append(Moment(since=since, until=since + timedelta(6), interval=known))
        lines.append(Line(label=label, moments=tuple(moments)))
    panel = Lines(
        axis="share of reports",
        unit="share",
        by="week",
        marks=tuple(marks),
        lines=tuple(lines),
    )
    return Figure(
        title="Which theme is used",
        warnings=(
            "The reports of 2026-10-26 to 2026-11-01 are not all those of honest devices. Key "
            "partner (0307..) stands out: ask again without it.",
        ),
        subtitle=(
            "Metric theme",
            "2026-09-07 to 2026-11-15, 63 of 70 days; 7 without reports: 10-12 to 10-18",
            "61,400 reports (not people); generalized randomized response, epsilon 2.00",
        ),
        panels=(panel,),
        notes=(EACH,),
        level=LEVEL,
    )


def change():
    """The first four of these weeks against the last."""
    rows = [
        ("dark", 0.101, 0.021, True, "from 44% to 54%"),
        ("system", 0.006, 0.018, False, "from 6% to 7%"),
        ("light", -0.107, 0.022, True, "from 50% to 39%"),
    ]
    dots = tuple(
        Dot(label=name, interval=interval(points, half, told=told), aside=aside)
        for name, points, half, told, aside in rows
    )
    axis = "change of the share of reports, in percentage points"
    return Figure(
        title="Which theme is used",
        subtitle=(
            "Metric theme",
            "Before: 2026-09-07 to 2026-09-27, 21 of 21 days; 18,420 reports",
            "After: 2026-11-02 to 2026-11-15, 14 of 14 days; 12,280 reports",
        ),
        panels=(Dots(axis=axis, unit="points", dots=dots),),
        notes=(EACH,),
        level=LEVEL,
    )


PICTURES = {"shares.svg": shares, "series.svg": series, "change.svg": change}


def main() -> None:
    """Draws them into docs/."""
    for name, figure in PICTURES.items():
        (FOLDER / name).write_text(svg(figure()), encoding="utf-8")


if __name__ == "__main__":
    main()
