"""What commands print, and pictures that they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.doors.cli.parameters import require_folder
from deniable_shared.characters import visible_json
from deniable_shared.commands.ascii import ascii_json, ascii_only

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.telling.figure import Figure


def _check_picture(
    _context: click.Context, _parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuses a file that cannot be drawn, before anything is asked.

    Raises:
        click.BadParameter: if its suffix is none of a picture.
        FileProblemError: if its folder is not there.
        MissingExtraError: if what draws it is not installed.
    """
    if path is None:
        return None
    from deniable_aggregator.media.pictures.files import SUFFIXES, check_picture

    if path.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"must end in {', '.join(SUFFIXES)}, got {str(path)!r}")
    require_folder(path)
    check_picture(path)
    return path


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

explain_option = click.option(
    "--explain", is_flag=True, help="Also say what the numbers mean, below the table."
)

picture_option = click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_check_picture,
    help="Also draw it, as .svg, .html or .png (needs deniable[charts]).",
)


def print_rows(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Collection[str] = ()
) -> None:
    """Prints a table of texts; where there is no room, those of the last column are broken.

    Args:
        headings: of its columns.
        rows: as many cells each.
        numbers: the headings of columns of numbers.
    """
    from deniable_aggregator.media.terminal import print_table
    from deniable_aggregator.telling.document import Column, text_table

    columns = [
        Column(heading=each, words=each not in numbers, folds=place == len(headings) - 1)
        for place, each in enumerate(headings)
    ]
    print_table(text_table("rows", "", columns, rows))


def print_json(data: Any) -> None:
    """Prints data for programs.

    Args:
        data: anything that JSON can hold, or structs of `answers`.
    """
    import json

    import msgspec

    click.echo(json.dumps(msgspec.to_builtins(data), indent=2))


def print_answer(content: bytes) -> None:
    """Prints the JSON of a server, whatever it holds; no character of it acts on a terminal."""
    text = visible_json(content.decode("utf-8", "replace"))
    click.echo(ascii_json(text) if ascii_only() else text)


def draw(answer: Answer, path: Path) -> None:
    """Draws an answer into a file, and says on the standard error what it could not draw.

    Args:
        answer: what a server answered.
        path: checked by `output.picture_option`.
    """
    from deniable_aggregator.telling.figures import figure_of

    save_picture(figure_of(answer), path)


def save_picture(figure: Figure, path: Path) -> None:
    """Draws a figure into a file, and says on the standard error what it could not draw.

    Args:
        figure: any.
        path: checked by `output.picture_option`.
    """
    from deniable_aggregator.media.pictures.files import save

    note = save(figure, path)
    if note is not None:
        click.echo(f"{path}: {note}", err=True)
