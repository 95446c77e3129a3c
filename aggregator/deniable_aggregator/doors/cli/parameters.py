"""Days, numbers and files on the command line, and what is said of anything else.

Days on the command line: 2026-01-31, yesterday, -7d; and periods such as -14d..-8d.

The functions are types of options: click calls them with what was typed.
"""

from __future__ import annotations

import math
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from deniable_aggregator.asking import dates
from deniable_shared.commands.mistakes import FileProblemError, one_of, shortened
from deniable_shared.errors import ParameterError
from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from datetime import date

    from deniable_aggregator.answers.dates import DayRange


_EXAMPLES: Final = ("today", "yesterday", "-7d", "-4w", "-3m")


def day(text: str) -> date:
    """The day that is meant.

    Raises:
        click.BadParameter: if it is none.
    """
    try:
        return dates.parse_day(text, dates.utc_today(), name="it")
    except ParameterError as error:
        raise click.BadParameter(f"must be {error.constraint}, got {error.value!r}") from None


def period(text: str) -> DayRange:
    """The days in a row that are meant.

    Raises:
        click.BadParameter: if it is neither one day nor two.
    """
    try:
        return dates.parse_period(text, dates.utc_today(), name="it")
    except ParameterError as error:
        raise click.BadParameter(f"must be {error.constraint}, got {error.value!r}") from None


def complete_day(_context: click.Context, _parameter: click.Parameter, current: str) -> list[str]:
    """Some of the forms of a day."""
    return [word for word in _EXAMPLES if word.startswith(current)]


class IntegerIn(click.IntRange):
    """An integer in [min, max], either of which may be left out."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The integer.

        Raises:
            click.BadParameter: if it is none, or outside.
        """
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            wanted = f"of at least {self.min:,}" if self.max is None else _between(self)
            self.fail(f"must be an integer {wanted}, got {shortened(str(value))}", param, ctx)


class NumberIn(click.FloatRange):
    """A number in a range, or any if there is none; nan is in no range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number.

        Raises:
            click.BadParameter: if it is none, or outside.
        """
        try:
            number = float(super().convert(value, param, ctx))
        except click.BadParameter:
            number = math.nan
        if math.isnan(number):
            bounds = "" if self.max is None else f" {_between(self)}"
            self.fail(f"must be a number{bounds}, got {shortened(str(value))}", param, ctx)
        return number


def _between(range_: click.IntRange | click.FloatRange) -> str:
    """In which interval, as mathematics write it."""
    opening, closing = "(" if range_.min_open else "[", ")" if range_.max_open else "]"
    return f"in {opening}{range_.min:,}, {range_.max:,}{closing}"


class OneOf(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """One of some words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word.

        Raises:
            click.BadParameter: if it is none of them, with the nearest.
        """
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(one_of(str(value), self.choices), param, ctx)


class _ReadableFile(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path.

        Raises:
            FileProblemError: if there is no file that can be read.
        """
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            with path.open("rb"):
                return path
        except OSError as error:
            raise FileProblemError(path, f"cannot be read: {error.strerror}") from None


READABLE_FILE: Final = _ReadableFile(path_type=Path)
"""The type of an argument or option that names a file to read."""


def require_folder(path: Path) -> None:
    """Refuses a file that cannot be written, before anything is asked.

    Args:
        path: a new file, or an earlier one.

    Raises:
        FileProblemError: if its folder is not there.
    """
    if not path.parent.is_dir():
        problem = f"cannot be written: there is no folder {str(path.parent)!r}"
        raise FileProblemError(path, problem)


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
        FileProblemError: if it cannot be written.
    """
    try:
        with replaced_file(path) as file:
            yield file
    except OSError as error:
        raise FileProblemError(path, f"cannot be written: {error.strerror}") from None
