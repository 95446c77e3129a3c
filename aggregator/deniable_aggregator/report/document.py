"""What stands in a report, as plain data: HTML and Markdown are written from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.telling.document import Table
    from deniable_aggregator.telling.figure import Figure


@dataclass(frozen=True)
class Item:
    """A line about a metric.

    Attributes:
        metric: its name.
        text: the line.
        anchor: the section that says more, or empty.
    """

    metric: str
    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Section:
    """What a report says of one metric.

    Attributes:
        anchor: names it within the document.
        metric: its name.
        title: what the metric is for.
        cautions: what to know before its numbers.
        sentences: what was found.
        basis: which reports that is based on, and whether the robust check agrees.
        figures: pictures of the answers.
        tables: the numbers.
    """

    anchor: str
    metric: str
    title: str
    cautions: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    basis: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Chapter:
    """A heading with paragraphs, and perhaps a table.

    Attributes:
        title: the heading.
        paragraphs: of text.
        table: below them.
    """

    title: str
    paragraphs: Sequence[str]
    table: Table | None = None


@dataclass(frozen=True)
class ReportDocument:
    """A whole report.

    Attributes:
        title: the application and the days.
        lead: what it is about, a sentence or two.
        warnings: the gravest first.
        changes: what has clearly changed, the largest change first; None if nothing was compared.
        unchanged: what is said of all other metrics that were compared.
        sections: one per metric that was answered.
        health: how the reports of each metric look; None if that was not answered.
        not_answered: metrics that were not asked about, or have no answer, and why.
        method: how to read it, and what devices gave away.
    """

    title: str
    lead: Sequence[str]
    warnings: Sequence[Item]
    changes: Sequence[Item] | None
    unchanged: str
    sections: Sequence[Section]
    health: Table | None
    not_answered: Sequence[Item]
    method: Sequence[Chapter]
