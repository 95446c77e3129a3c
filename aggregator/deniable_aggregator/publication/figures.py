"""The picture of a publication: the numbers of its table, in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.publication.cells import basis_of, number_cells, shown_number, title_of
from deniable_aggregator.telling.figure import Dot, Dots, Figure, interval_of

if TYPE_CHECKING:
    from deniable_aggregator.publication.publication import Publication, PublishedRow

MOST_ROWS: Final = 25
"""Of a picture; the table has all."""


def figure_of(publication: Publication) -> Figure | None:
    """The figure of a publication; None if there is nothing to draw.

    Args:
        publication: of one metric.
    """
    drawn = [row for row in publication.rows if _tells_anything(row)]
    if not drawn:
        return None
    shares = any(row.items for row in drawn)
    # What stands for all others is drawn last, however many rows there are.
    first = [row for row in drawn if row.measure != "other"]
    last = [row for row in drawn if row.measure == "other"]
    shown, more = first[: MOST_ROWS - len(last)], len(first) - (MOST_ROWS - len(last))
    level = f"{publication.level:.0%}"
    covered = "all together" if shares else "each by itself"
    return Figure(
        title=title_of(publication),
        subtitle=(basis_of(publication),),
        panels=(
            Dots(
                axis="share of the devices that reported" if shares else publication.metric,
                unit="share" if shares else "number",
                reference=0.0 if shares else None,
                dots=tuple(_dot(row, publication.level) for row in [*shown, *last]),
                left_out=f"{more:,} more are in the table" if more > 0 else "",
            ),
        ),
        notes=(f"{level} intervals, {covered}",),
        level=publication.level,
    )


def _tells_anything(row: PublishedRow) -> bool:
    """Whether there is a number, and of a share more than that it is from 0 to 1."""
    number = row.number
    return number.estimate is not None and not (row.items and number.low <= 0 and number.high >= 1)


def _dot(row: PublishedRow, level: float) -> Dot:
    number = shown_number(row)
    assert number.estimate is not None  # others are not drawn
    estimate, interval = number_cells(row)
    return Dot(
        label=row.label,
        interval=interval_of(
            number.estimate,
            number.low,
            number.high,
            level=level,
            told=number.low > 0 or not row.items,
        ),
        written=(interval, estimate),
    )
