"""Files that commands read and write, the option that names the one to write, and its format."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

READABLE_FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)
"""The type of an argument or option that names a file to read."""

STDOUT: Final = Path("-")
"""Stands for what is printed."""


def output_option(help_text: str) -> Callable[[Any], Any]:
    """Adds ``--output``, passed on as a path; `STDOUT` unless it is given.

    Args:
        help_text: what is written.
    """
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
        default=str(STDOUT),
        show_default=True,
        help=help_text,
    )


def format_of(output: Path, formats: Collection[str], printed: str) -> str:
    """The format that goes by the name of a file.

    Args:
        output: of `output_option`.
        formats: those that there are, as files end.
        printed: the format of what is printed.

    Raises:
        click.UsageError: if the name says none of them.
    """
    if output == STDOUT:
        return printed
    name = output.suffix.lower().removeprefix(".")
    if name not in formats:
        endings = ", ".join(f".{each}" for each in formats)
        raise click.UsageError(f"--output must end in {endings}, or give --format; got '{output}'")
    return name


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which is there under its name only when it is whole.

    Args:
        path: where, perhaps in the place of an earlier one.

    Raises:
        click.FileError: if it cannot be written.
    """
    try:
        with replaced_file(path) as file:
            yield file
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from None
