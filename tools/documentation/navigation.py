"""Which documents there are for whom: the table in ``docs/README.md`` is the site's navigation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ROW: Final = re.compile(r"^\| *(?P<reader>[^|]*?) *\| \[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\) \|")
ANSWERS: Final = re.compile(r"\) \| (?P<answers>.+?) *\|$")


class Entry(NamedTuple):
    """One document in the table.

    Attributes:
        title: what it is called in the navigation.
        path: of the document, from the folder ``docs``.
        answers: what it answers, in a line of Markdown.
    """

    title: str
    path: str
    answers: str


def entries(index: str) -> dict[str, list[Entry]]:
    """The documents for each reader, in the order of the table.

    Args:
        index: the text of ``docs/README.md``. An empty first cell means the reader of the row
            above.

    Returns:
        Lists of documents by the name of their reader.
    """
    readers: dict[str, list[Entry]] = {}
    for line in index.splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        reader = row["reader"] or list(readers)[-1]
        answers = ANSWERS.search(line)
        entry = Entry(row["title"], row["path"], answers["answers"] if answers else "")
        readers.setdefault(reader, []).append(entry)
    return readers


def capitalized(text: str) -> str:
    """A title as it begins a line."""
    return text[:1].upper() + text[1:]


def document_name(path: str) -> str:
    """What Sphinx calls a document: its path without the ending."""
    return path.removesuffix(".md").removesuffix(".rst")


def toctree(pages: Iterable[tuple[str, str]]) -> str:
    """A part of the navigation, not shown on the page that has it.

    Args:
        pages: title and path of each, from the folder of all documents.
    """
    lines = [f"{title} </{document_name(path)}>" for title, path in pages]
    return "\n".join(["", "```{toctree}", ":hidden:", "", *lines, "```", ""])


def table_by_reader(index: str) -> str:
    """The start page with a table for each reader, as the one for all is too wide for a phone.

    Args:
        index: the text of ``docs/README.md``.
    """
    before, heading, table = index.partition("| reader |")
    if not heading:
        return index
    _, _, after = table.rpartition("|\n")
    parts = [
        "\n".join([f"### {capitalized(reader)}", "", *_rows(documents, ""), ""])
        for reader, documents in entries(index).items()
    ]
    return before + "\n".join(parts) + after


def _rows(documents: Iterable[Entry], folder: str) -> list[str]:
    """A table of documents, as lines of Markdown; their paths begin in a folder."""
    rows = [
        f"| [{capitalized(each.title)}]({folder}{each.path}) | {each.answers} |"
        for each in documents
    ]
    return ["| document | what it answers |", "|---|---|", *rows]


def reader_page(reader: str, documents: Iterable[Entry]) -> str:
    """The page of one reader: what there is to read, and what each document answers."""
    documents = list(documents)
    return "\n".join(
        [
            f"# {capitalized(reader)}",
            "",
            *_rows(documents, "../"),
            toctree((capitalized(each.title), each.path) for each in documents),
        ]
    )
