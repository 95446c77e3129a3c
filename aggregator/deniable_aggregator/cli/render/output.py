"""What commands print: JSON for programs, tables for people, pictures into files."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable_shared.characters import visible, visible_json, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.table import Column

    from deniable_aggregator.answers.common import FakesNote, MetricVersion, Notice

UNBROKEN: Final = 10_000
"""The width of output that is not a terminal: one line per row, for grep and cut."""

WIDE: Final = 96
"""Narrower tables put some columns below each other."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

picture_option = click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also draw it, as .svg, .png or .html; needs the extra deniable[charts].",
)


def print_json(data: Any) -> None:
    """Prints data for programs.

    Args:
        data: anything that JSON can hold, or structs of `answers`.
    """
    click.echo(json.dumps(msgspec.to_builtins(data), indent=2))


class _LiteralConsole(Console):
    """Prints texts as they are: brackets and colons have no meaning, and no character acts."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible_lines(text), **options)


def literal_text(text: str) -> Text:
    """A cell with a text as it is, on one line: a value, a label, or whatever a store may hold."""
    return Text(visible(text))


def print_answer(content: bytes) -> None:
    """Prints the JSON of a server, whatever it holds; no character of it acts on a terminal."""
    click.echo(visible_json(content.decode("utf-8", "replace")))


def literal_console() -> Console:
    """A console that prints values as they are: brackets and colons have no meaning.

    It breaks no lines, unless it is a terminal or COLUMNS gives its width.
    """
    console = _LiteralConsole(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
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


def columns_or_lines(width: int, *texts: str) -> list[str]:
    """Cells of neighbouring columns; in a narrow table one cell with a line for each.

    Args:
        width: of the terminal, in characters.
        texts: the names of the columns, or what is in them.
    """
    return list(texts) if width >= WIDE else ["\n".join(filter(None, texts))]


def print_table(table: Table) -> None:
    """Prints a table as wide as the terminal, or as its content."""
    console = literal_console()
    table.expand = table.expand and console.width < UNBROKEN
    console.print(table)


def import_charts(module: str = "estimates") -> Any:
    """Imports a module of `deniable_aggregator.charts`.

    Args:
        module: its name.

    Raises:
        click.ClickException: if what it needs is not installed.
    """
    try:
        return import_module(f"deniable_aggregator.charts.{module}")
    except ImportError as error:
        raise click.ClickException(
            "pictures need an extra: pip install 'deniable[charts]'"
        ) from error


def print_head(notices: Iterable[Notice], *lines: str) -> None:
    """Prints what stands before the numbers: what to know first, and which days they cover.

    Args:
        notices: in the order in which they are read, a line each.
        lines: about days.
    """
    console = literal_console()
    for notice in notices:
        console.print(f"{notice.severity.capitalize()}: {notice.message}")
    for line in lines:
        console.print(line)


def repeated(versions: Iterable[MetricVersion]) -> Iterator[str]:
    """Lines about versions whose devices answer with permanent noise.

    Args:
        versions: those of an answer.
    """
    for version in versions:
        if version.repeated:
            yield f"{version.title}: {version.repeated}."


def mechanisms_of(versions: Iterable[MetricVersion]) -> str:
    """Mechanisms and their epsilons, in a few words.

    Args:
        versions: those of an answer.
    """
    return ", ".join(f"{each.title} at epsilon {each.epsilon:.2f}" for each in versions)


def shift_if_fake(fakes: FakesNote, shifts: Sequence[float | None], whose: str, form: str) -> str:
    """What fake reports could have done, in one line: the largest shift shown.

    Args:
        fakes: what an answer says of them.
        shifts: those that are shown; None where there is no bound.
        whose: what they are about, such as "a share".
        form: how a shift is written.
    """
    bounded = [shift for shift in shifts if shift is not None]
    far = f"by up to {form.format(max(bounded, default=0.0))}"
    if len(bounded) < len(shifts):
        far = "anywhere"
    return (
        f"Possible shift if {fakes.share:.0%} of reports are fake: they could have moved {whose} "
        f"{far}. No interval allows for that."
    )
