"""Publications as text: CSV, JSON, Markdown and HTML."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from deniable_aggregator.media.row_formats import spreadsheet_safe
from deniable_aggregator.publication.cells import table_of, title_of
from deniable_aggregator.publication.notes import version_notes
from deniable_aggregator.report.markdown import escaped, table_markdown
from deniable_shared.characters import visible, visible_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deniable_aggregator.publication.publication import Publication, PublishedRow
    from deniable_aggregator.publication.rounding import Rounded

COLUMNS: Final = (
    "application", "metric", "segment", "segment_low", "segment_high", "since", "until", "measure",
    "value", "items", "estimate", "low", "high", "reports", "reports_low", "reports_high",
    "of_reports", "people", "presence", "level", "minimum", "epsilon", "version",
    "reports_left_out",
)  # fmt: skip
"""Of CSV."""


def csv_text(publications: Iterable[Publication]) -> str:
    r"""CSV (RFC 4180) with a header and lines that end in \n; empty where something is not known.

    Numbers are as they were estimated, rounded, and not cut off at 0 and 1. A text that a
    spreadsheet would take for a formula gets an apostrophe in front, as in the long table of
    `tables`; what is invisible or acts on a terminal is named instead.

    Args:
        publications: one after the other.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in publications:
        for row in each.rows:
            writer.writerow(map(_cell, _csv_row(each, row)))
    return out.getvalue()


def _csv_row(made: Publication, row: PublishedRow) -> list[object]:
    return [
        made.application,
        made.metric,
        made.segment,
        *_three(made.segment_share)[1:],
        made.since.isoformat(),
        made.until.isoformat(),
        row.measure,
        row.label,
        row.items,
        *_three(row.number),
        *_three(row.reports),
        row.of_reports,
        row.people,
        row.presence,
        made.level,
        made.minimum,
        f"{max(each.epsilon for each in made.versions):.6g}",
        " ".join(each.version for each in made.versions),
        made.reports_left_out,
    ]


def _three(number: Rounded | None) -> list[object]:
    """A number and its interval; whole ones without a point."""
    if number is None:
        return [None] * 3
    ends = (number.estimate, number.low, number.high)
    return [int(each) if each is not None and each.is_integer() else each for each in ends]


def _cell(value: object) -> object:
    return spreadsheet_safe(visible(value)) if isinstance(value, str) else value


def json_text(publications: Iterable[Publication]) -> str:
    """JSON: a list with an object for each; no character of it acts on a terminal.

    Args:
        publications: in their order.
    """
    data: Any = msgspec.to_builtins(list(publications))
    return visible_json(json.dumps(data, indent=2, ensure_ascii=False)) + "\n"


def markdown_text(publications: Iterable[Publication]) -> str:
    """Markdown: a heading, a table and notes for each.

    Args:
        publications: in their order.
    """
    return "\n".join("\n".join(_markdown(each)) for each in publications)


def _markdown(made: Publication) -> list[str]:
    lines = [f"## {escaped(title_of(made))}", ""]
    if title_of(made) != made.metric:
        lines += [f"Metric {escaped(made.metric)}.", ""]
    for caution in made.cautions:
        lines += [f"**Careful:** {escaped(visible(caution))}", ""]
    lines += table_markdown(table_of(made))
    below = [*version_notes(made), *made.reading, *made.notes]
    return [*lines, *(f"- {escaped(visible(note))}" for note in below), ""]


def html_text(publications: Sequence[Publication]) -> str:
    """One HTML file for all of them, with pictures and without scripts.

    Args:
        publications: in their order.
    """
    from deniable_aggregator.publication.page import sheet

    return sheet(publications)


FORMATS: Final[Mapping[str, Callable[[Sequence[Publication]], str]]] = {
    "csv": csv_text,
    "json": json_text,
    "md": markdown_text,
    "html": html_text,
}
"""What a table can be written as, by the names of files."""
