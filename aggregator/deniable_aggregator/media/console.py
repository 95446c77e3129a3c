"""The terminal: texts as they are, tables without a frame, ASCII where nothing else is taken."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final

import click
from rich import box
from rich.console import Console
from rich.table import Column, Table

from deniable_shared.characters import visible, visible_lines
from deniable_shared.commands.ascii import ascii_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.text import Text

UNBROKEN: Final = 10_000
"""The width of output that is not a terminal: one line per row, for grep and cut."""

_ASCII_BOX: Final = box.Box("    \n    \n -- \n" + "    \n" * 5, ascii=True)
"""The lines of `close_table` where a terminal takes ASCII alone."""

_TRAILING: Final = re.compile(r"(?m) +((?:\x1b\[[0-9;]*m)*)$")
"""Blanks that fill a line up, before what ends its style."""


class _LiteralConsole(Console):
    """Prints texts as they are: brackets and colons have no meaning, and no character acts.

    Where the output takes ASCII alone, other characters are replaced before lines are laid out.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        shown = visible_lines(text)
        return super().render_str(
            ascii_text(shown) if self.options.ascii_only else shown, **options
        )


def literal_text(text: str) -> str:
    """A text on one line: a value, a label, or whatever a store may hold; for `literal_console`."""
    return visible(text)


def is_unbroken() -> bool:
    """Whether every row has one line, for grep and cut: no terminal, and no COLUMNS."""
    return not sys.stdout.isatty() and "COLUMNS" not in os.environ


def literal_console() -> Console:
    """A console that prints values as they are: brackets and colons have no meaning.

    It breaks no lines, unless it is a terminal or COLUMNS gives its width.
    """
    console = _LiteralConsole(highlight=False, markup=False, emoji=False)
    if is_unbroken():
        console.width = UNBROKEN
    return console


def close_table(*columns: Column | str, **options: Any) -> Table:
    """A table with little between its columns, so that it can be read at 80 characters.

    Args:
        columns: as of `Table`.
        options: as of `Table`.
    """
    style = {"box": box.SIMPLE_HEAD, "show_edge": False, "padding": (0, 1, 0, 0)}
    return Table(*columns, title_justify="left", **{**style, **options})


def print_drawn(table: Table) -> None:
    """Prints a table as wide as its content, at most as the terminal; no blanks end a line."""
    console = literal_console()
    if console.options.ascii_only:
        table.box = _ASCII_BOX
    _print_without_blanks(console, table)


def print_lines(lines: Iterable[str]) -> None:
    """Prints texts, broken between words where the terminal ends.

    Args:
        lines: a text each.
    """
    console = literal_console()
    _print_without_blanks(console, "\n".join(lines))


def _print_without_blanks(console: Console, content: Table | str) -> None:
    """Prints something with no blanks at the ends of lines."""
    with console.capture() as printed:
        console.print(content)
    click.echo(_TRAILING.sub(r"\1", printed.get()), nl=False)
