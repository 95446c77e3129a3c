"""Numbers over time on the page of a metric: one as wide as the page, the others small."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.doors.pages.parts import Followed, Part, Picture
from deniable_aggregator.doors.pages.rendering import changed
from deniable_aggregator.telling.document import Link, Table
from deniable_aggregator.telling.figure import Figure, Lines
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.numbers import name_of, named, size_of
from deniable_aggregator.telling.value_tables import single_shares

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.doors.pages.metric.answering import Answers
    from deniable_aggregator.doors.pages.metric.choices import Choices

MOST_LINES: Final = 8
"""Numbers over time; the files have all."""

OVER_TIME: Final = "over-time"
"""The large picture, within the page."""


def leads_to_series(estimate: Answer, address: str | None) -> dict[str, str]:
    """Where the values of shares lead, by their names: to their own series.

    Args:
        estimate: has the values.
        address: of the page; None if there are no series, and values lead nowhere.
    """
    return {
        name: changed(address, follow=each.value) + f"#{OVER_TIME}" if address else ""
        for each in single_shares(estimate)
        if each.value is not None
        for name in (name_of(each), named(each))
    }


def series_figure(answers: Answers, estimate: Answer, choices: Choices) -> Figure | None:
    """All numbers over time, first the one that is followed, or else the one that leads.

    Args:
        answers: have the series.
        estimate: says which value leads in the days that are shown.
        choices: of the visitor.

    Returns:
        None if there is nothing to follow.
    """
    series = answers.series
    if series is None or not _says_something(series, estimate):
        return None
    leader = max(single_shares(estimate), key=size_of, default=None)
    first = choices.follow or (leader.value if leader is not None else "") or ""
    figure = figure_of(series, most=MOST_LINES, first=first)
    return figure if any(panel.lines for panel in _lines(figure)) else None


def followed_part(series: Figure, address: str, says: str) -> Followed:
    """The first number, and a page for each of its periods; what it says in a sentence."""
    panel = next(_lines(series))
    first = replace(panel, lines=panel.lines[:1], left_out="")
    places = [
        changed(
            address,
            period="own",
            since=str(each.since),
            until=str(each.until),
            **dict.fromkeys(("compare", "before", "by")),
        )
        for each in panel.lines[0].moments
    ]
    return Followed(
        replace(series, panels=(first,)), places, f"Choose a {panel.by} to open it.", says
    )


def multiples(series: Figure | None) -> Iterator[Part]:
    """All numbers over time but the first, small."""
    if series is None:
        return
    first, *others = _lines(series)
    panels = [replace(first, lines=first.lines[1:], events=()), *others]
    shown = tuple(panel for panel in panels if panel.lines)
    if shown:
        small = replace(series, panels=shown)
        yield Part(
            "others", "Others over time", pictures=[Picture(small, broad=True)], secondary=True
        )


def leading(table: Table, leads: Mapping[str, str]) -> Table:
    """A table whose values lead to their own series."""
    rows = [
        replace(row, cells=(Link(row.cells[0], leads[row.cells[0]]), *row.cells[1:]))
        if leads.get(row.cells[0])
        else row
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _says_something(series: Answer, estimate: Answer) -> bool:
    """Whether there are several periods, and something to follow is told from zero."""
    told = estimate.head.kind != "shares" or any(each.told for each in estimate.of("share"))
    return len(series.head.periods) > 1 and told


def _lines(figure: Figure) -> Iterator[Lines]:
    yield from (panel for panel in figure.panels if isinstance(panel, Lines))
