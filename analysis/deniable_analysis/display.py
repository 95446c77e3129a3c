"""How results look in a notebook and on a terminal: HTML, and progress of long questions.

All text is escaped. There are no scripts, and the colours are those of the page, so that it is read
in light and in dark notebooks.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deniable_aggregator.telling.document import Column, Table

    Tell = Callable[[float, str], None]
    """Takes how much is done, from 0 to 1, and what is being done."""

_WARNING = (
    "border-left:4px solid #d97706;background:rgba(217,119,6,.12);padding:.4em .8em;margin:.4em 0"
)
_LINE = "\r\x1b[K"
"""Erases a line of a terminal."""


def text(words: str) -> str:
    """Words as HTML, in which neither markup nor characters that cannot be seen act."""
    return escape(visible(words))


def paragraph(words: str) -> str:
    """A paragraph; nothing where there are no words."""
    return f"<p>{text(words)}</p>" if words else ""


def warnings_box(warnings: Iterable[str]) -> str:
    """Warnings, set off from the rest; nothing where there are none."""
    return "".join(
        f'<div role="alert" style="{_WARNING}"><b>Warning:</b> {text(each)}</div>'
        for each in warnings
    )


def table(shown: Table, most: int | None = None) -> str:
    """A table.

    Args:
        shown: the table.
        most: so many rows of it; None for all.
    """
    rows = shown.rows[:most]
    head = "".join(
        f'<th scope="col" style="{_align(column)}">{text(column.heading)}</th>'
        for column in shown.columns
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_align(column)}">{text(cell)}</td>'
            for column, cell in zip(shown.columns, row.cells, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    more = len(shown.rows) - len(rows)
    below = paragraph(f"{more:,} more rows: see .frame()." if more > 0 else shown.left_out)
    return (
        f'<table><caption style="text-align:left">{text(shown.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{below}"
    )


def _align(column: Column) -> str:
    return f"text-align:{'left' if column.words else 'right'}"


@contextmanager
def shown_progress(label: str, *, wanted: bool) -> Iterator[Tell | None]:
    """Shows progress where somebody sees it, and nothing of it is left.

    Args:
        label: what is done, in words.
        wanted: if not, nothing is shown.
    """
    display = _notebook_display() if wanted else None
    if display is not None:
        yield from _in_notebook(display, label)
    elif wanted and sys.stderr.isatty():
        yield from _on_terminal(label)
    else:
        yield None


def _notebook_display() -> Any:
    """IPython's display, if this runs in a kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import display

    return display


def _in_notebook(display: Any, label: str) -> Iterator[Tell]:
    from IPython import display as showing

    html: Any = showing.HTML

    def bar(part: float, stage: str) -> Any:
        words = f"{label}: {stage}" if stage else label
        said = escape(visible(words))
        return html(f'<progress max="1" value="{part:.3f}"></progress> {said}')

    handle = display(bar(0.0, ""), display_id=True)
    try:
        yield lambda part, stage: handle.update(bar(part, stage))
    finally:
        handle.update(html(""))


def _on_terminal(label: str) -> Iterator[Tell]:
    def tell(part: float, stage: str) -> None:
        sys.stderr.write(visible(f"{label}: {part:.0%} {stage}").join((_LINE, "")))
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write(_LINE)
        sys.stderr.flush()
