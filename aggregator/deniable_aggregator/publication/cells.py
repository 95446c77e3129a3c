"""A publication as a table of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.publication.notes import PRESENT
from deniable_aggregator.publication.rounding import Rounded, format_number
from deniable_aggregator.report.document import Table
from deniable_aggregator.sentences.wording import counted, days_between
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from deniable_aggregator.publication.publication import Publication, PublishedRow


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
            *number_cells(row),
        ]
        if counts:
            line += ("", "") if row.reports is None else _counts(row.reports, row.of_reports)
        if people:
            line += ["" if row.people is None else f"{row.people:,}", _presence(row)]
        cells.append(line)
    nothing = "" if rows else "No value is shown"
    return Table(basis_of(publication), columns, cells, nothing)


def _label(row: PublishedRow, publication: Publication) -> str:
    if row.of_reports is not None and row.of_reports < publication.reports:
        return f"{visible(row.label)} (of {counted(row.of_reports, 'report')})"
    return visible(row.label)


def number_cells(row: PublishedRow) -> tuple[str, str]:
    """The number of a row and its interval, as tables and pictures write them.

    Args:
        row: of a table.
    """
    return _cells(shown_number(row), 1 if row.items else None, percent=row.items > 0)


def shown_number(row: PublishedRow) -> Rounded:
    """The number of a row, as people are shown it: of a share, what is possible.

    Args:
        row: of a table.
    """
    return clipped(row.number, 1) if row.items else row.number


def clipped(number: Rounded, most: float) -> Rounded:
    """The possible part of a number that can be in [0, most] alone.

    An interval that is impossible as a whole stays as it is: something is wrong with the reports.

    Args:
        number: a share, or a number of reports.
        most: what it can be at most.
    """
    if number.high <= 0 or number.low >= most:
        return number
    low, high = max(number.low, 0.0), min(number.high, float(most))
    estimate = number.estimate
    if estimate is not None:
        estimate = min(max(estimate, 0.0), float(most))
    return Rounded(estimate, low, high, number.unit)


def _counts(reports: Rounded, most: int | None) -> tuple[str, str]:
    return _cells(reports if most is None else clipped(reports, most), most)


def _cells(number: Rounded, most: float | None, *, percent: bool = False) -> tuple[str, str]:
    """A number and its interval; `most` is what it can be at most, where it is in [0, most]."""
    low, high = (
        format_number(each, number.unit, percent=percent) for each in (number.low, number.high)
    )
    if number.estimate is None:
        estimate = "can't place"
    else:
        estimate = format_number(number.estimate, number.unit, percent=percent)
    if most is not None and number.low <= 0 and number.high >= most:
        estimate = "can't tell"
    return estimate, f"{low.rstrip('%')} to {high}"


def _presence(row: PublishedRow) -> str:
    if row.presence is None:
        return ""
    text = format_number(row.presence, 0.001, percent=True)
    return f"{text} (above {PRESENT:.0%})" if row.presence > PRESENT else text
