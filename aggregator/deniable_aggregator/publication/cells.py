"""A publication as a table of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.publication.notes import PRESENT
from deniable_aggregator.publication.rounding import written
from deniable_aggregator.report.document import Table
from deniable_aggregator.sentences.wording import counted, days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from deniable_aggregator.publication.published import Publication, PublishedRow
    from deniable_aggregator.publication.rounding import Rounded


def title_of(publication: Publication) -> str:
    """What the metric is for, or its name."""
    return visible(publication.description.strip() or publication.metric)


def basis_of(publication: Publication) -> str:
    """How many reports of which days the numbers are of."""
    text = (
        f"{counted(publication.reports, 'report')} of {visible(publication.application)}, "
        f"{days_between(publication.since, publication.until)}"
    )
    if publication.segment is not None:
        text += f", and of these the segment {visible(publication.segment)}"
    return text


def table_of(publication: Publication) -> Table:
    """The rows with what belongs to them; columns that would be empty are left out.

    Args:
        publication: of one metric.
    """
    rows = publication.rows
    shares = any(row.items for row in rows) or not rows
    columns = ["value" if shares else "number", "share" if shares else "estimate"]
    columns.append(f"{publication.level:.0%} interval")
    counts = any(row.reports is not None for row in rows)
    people = any(row.people is not None for row in rows)
    if counts:
        columns += ["reports", f"{publication.level:.0%} interval"]
    if people:
        columns += ["people (k)", "presence"]
    cells = []
    for row in rows:
        line = [
            _label(row, publication),
            *_estimate(row),
        ]
        if counts:
            line += ["", ""] if row.reports is None else _number(row.reports, row.of_reports)
        if people:
            line += ["" if row.people is None else f"{row.people:,}", _presence(row)]
        cells.append(line)
    nothing = "" if rows else "No value is shown"
    return Table(basis_of(publication), columns, cells, nothing)


def _label(row: PublishedRow, publication: Publication) -> str:
    if row.of_reports is not None and row.of_reports < publication.reports:
        return f"{visible(row.label)} (of {counted(row.of_reports, 'report')})"
    return visible(row.label)


def _estimate(row: PublishedRow) -> list[str]:
    """A share as percentage, or a mean or quantile."""
    return _number(row.number, 1 if row.items else None, percent=row.items > 0)


def _number(number: Rounded, most: int | None, *, percent: bool = False) -> list[str]:
    """A number and its interval; of what is in [0, most], the possible part of the interval."""
    low, high = number.low, number.high
    if most is not None and high > 0 and low < most:
        low, high = max(low, 0.0), min(high, float(most))
    ends = [written(end, number.unit, percent=percent) for end in (low, high)]
    if number.estimate is None:
        estimate = "can't place"
    else:
        estimate = written(number.estimate, number.unit, percent=percent)
    if most is not None and number.low <= 0 and number.high >= most:
        estimate = "can't tell"
    return [estimate, f"{ends[0].rstrip('%')} to {ends[1]}"]


def _presence(row: PublishedRow) -> str:
    if row.presence is None:
        return ""
    text = written(row.presence, 0.001)
    return f"{text} (above {PRESENT})" if row.presence > PRESENT else text
