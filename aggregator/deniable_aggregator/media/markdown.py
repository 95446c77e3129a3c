"""A document as Markdown, for mail and slides: tables and sentences, no HTML, no pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_aggregator.telling.document import Document, Table
    from deniable_aggregator.telling.report_document import Item, ReportDocument, Section

_MARKUP: Final = re.compile(
    r"[\\`*_\[\]{}<>|#~&$!]|(?<=:)//|(?<=www)\.|^[-+=](?=\s|$)|^\d+[.)](?=\s|$)"
)
"""What could be read as markup, or would become a link."""


def markdown(document: ReportDocument) -> str:
    """The document as Markdown.

    Args:
        document: the report.
    """
    return "\n".join(_lines(document)).rstrip("\n") + "\n"


def section_markdown(section: Section) -> str:
    """What a report says of one metric, as Markdown.

    Args:
        section: of a document.
    """
    return "\n".join(_section(section)).rstrip("\n") + "\n"


def document_markdown(document: Document) -> str:
    """A document with its tables, and what stands below them as a list.

    Args:
        document: about one metric.
    """
    lines = [*_above(document.title, document.metric, document.cautions)]
    if document.basis:
        lines += [f"*{_shown(document.basis)}*", ""]
    for table in document.tables:
        lines += table_markdown(table)
    return "\n".join([*lines, *(f"- {_shown(text)}" for text in document.below), ""])


def escaped(text: str) -> str:
    """A text that stands in Markdown for itself, in one line.

    Args:
        text: without control characters.
    """
    return _MARKUP.sub(_escape, " ".join(text.split()))


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    if text == "//":
        return "\\/\\/"
    return f"{text[:-1]}\\{text[-1]}"


def _lines(document: ReportDocument) -> Iterator[str]:
    yield f"# {escaped(document.title)}"
    yield ""
    for text in document.lead:
        yield from (_shown(text), "")
    if document.warnings:
        yield from ("## Read this first", "", *map(_item, document.warnings), "")
    if document.changes is not None:
        yield from ("## What has changed", "")
        yield from (
            (*map(_item, document.changes), "")
            if document.changes
            else (
                "Nothing has clearly changed.",
                "",
            )
        )
        if document.unchanged:
            yield from (escaped(document.unchanged), "")
    for section in document.sections:
        yield from _section(section)
    if document.health is not None:
        yield from ("## Health of the reports", "", *table_markdown(document.health))
    if document.not_answered:
        yield from ("## Not answered", "", *map(_item, document.not_answered), "")
    yield from ("## How to read this", "")
    for chapter in document.method:
        yield from (f"### {escaped(chapter.title)}", "")
        for text in chapter.paragraphs:
            yield from (_shown(text), "")
        if chapter.table is not None:
            yield from table_markdown(chapter.table)


def _item(item: Item) -> str:
    name = f"**{escaped(item.metric)}**: " if item.metric else ""
    return f"- {name}{escaped(item.text)}"


def _section(section: Section) -> Iterator[str]:
    yield from _above(section.title, section.metric, section.cautions)
    for text in section.sentences:
        yield from (_shown(text), "")
    if section.basis:
        yield from (f"*{_shown(' '.join(section.basis))}*", "")
    for table in section.tables:
        yield from table_markdown(table)


def _above(title: str, metric: str, cautions: Iterable[str]) -> Iterator[str]:
    """What stands above everything that is said of a metric."""
    yield from (f"## {_shown(title)}", "")
    if metric != title:
        yield from (f"Metric {_shown(metric)}.", "")
    for text in cautions:
        yield from (f"**Careful:** {_shown(text)}", "")


def table_markdown(table: Table) -> Iterator[str]:
    """The lines of a table, and one that is empty.

    Args:
        table: of texts.
    """
    yield from (f"{_shown(table.caption)}:", "")
    yield f"| {' | '.join(_shown(column.heading) for column in table.columns)} |"
    yield f"|{'|'.join(' --- ' if column.words else ' ---: ' for column in table.columns)}|"
    for row in table.rows:
        yield f"| {' | '.join(map(_shown, row.cells))} |"
    yield ""
    if table.left_out:
        yield from (_shown(table.left_out), "")


def _shown(text: str) -> str:
    return escaped(visible(text))
