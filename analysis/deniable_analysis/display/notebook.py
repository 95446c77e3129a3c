"""The HTML of results: warnings first, then the answer in words, then its numbers.

All text is escaped. There are no scripts, and the colours are those of the page, so that it is read
in light and in dark notebooks.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WARNING = (
    "border-left:4px solid #d97706;background:rgba(217,119,6,.12);padding:.4em .8em;margin:.4em 0"
)
_CELL = "text-align:{}"


def plain(words: str) -> str:
    """Words as plain text, in which no character that cannot be seen acts."""
    return visible(words)


def text(words: str) -> str:
    """Words as HTML, in which neither markup nor characters that cannot be seen act."""
    return escape(visible(words))


def paragraph(words: str) -> str:
    """A paragraph."""
    return f"<p>{text(words)}</p>"


def warnings_box(warnings: Iterable[str]) -> str:
    """Warnings, set off from the rest; nothing where there are none."""
    return "".join(
        f'<div role="alert" style="{_WARNING}"><b>Warning:</b> {text(each)}</div>'
        for each in warnings
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, texts: int = 1) -> str:
    """A table.

    Args:
        head: the names of its columns.
        rows: the cells.
        caption: what it shows.
        texts: so many first columns are texts, and the others numbers.
    """
    aligned = ["left" if column < texts else "right" for column in range(len(head))]
    cells = "".join(
        f'<th scope="col" style="{_CELL.format(side)}">{text(name)}</th>'
        for name, side in zip(head, aligned, strict=True)
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL.format(side)}">{text(cell)}</td>'
            for cell, side in zip(row, aligned, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<table><caption style="text-align:left">{text(caption)}</caption>'
        f"<thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"
    )
