"""Values that a command reads: from a file, from standard input, or from a list that is shipped."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from deniable_aggregator import lists
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LIST: Final = "list:"
_UTF_8: Final = "utf-8-sig"
"""Some programs begin a file with a mark of their own."""


def read_values(given: str) -> tuple[str, ...]:
    """The different values of a file, of standard input ("-"), or of a list ("list:emoji").

    Raises:
        click.BadParameter: if they cannot be read, or there are none.
    """
    if given.startswith(_LIST):
        try:
            return lists.load(given.removeprefix(_LIST))
        except ParameterError as error:
            raise click.BadParameter(f"{error}. deniable lists says what each holds.") from error
    piped = given == "-"
    shown = "standard input" if piped else visible(given)
    try:
        text = (sys.stdin.buffer.read() if piped else Path(given).read_bytes()).decode(_UTF_8)
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{shown} must be UTF-8 text: {error}") from error
    except OSError as error:
        hint = f". The list of this name: {_LIST}{given}" if given in lists.names() else ""
        message = f"{shown} must be a readable file: {error.strerror}{hint}"
        raise click.BadParameter(message) from error
    found = tuple(dict.fromkeys(line for line in text.splitlines() if line))
    if not found:
        raise click.BadParameter(f"{shown} must hold at least one value, one per line")
    return found


def values_option(name: str, help_text: str) -> Callable[[Any], Any]:
    """An option that reads values, and may be given several times.

    Args:
        name: such as ``--candidates``; the command gets the different values of all, as a tuple.
        help_text: what the values are for, and how they may be given.
    """

    def read(
        _context: click.Context, _parameter: click.Parameter, given: Sequence[str]
    ) -> tuple[str, ...]:
        return tuple(dict.fromkeys(itertools.chain.from_iterable(map(read_values, given))))

    return click.option(
        name,
        metavar="FILE|-|list:NAME",
        multiple=True,
        callback=read,
        shell_complete=_completed,
        help=help_text,
    )


def _completed(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """The names of lists, or a file."""
    if typed and _LIST.startswith(typed[: len(_LIST)]):
        named = [(f"{_LIST}{name}", holds) for name, holds in lists.DESCRIPTIONS.items()]
        return [CompletionItem(each, help=holds) for each, holds in named if each.startswith(typed)]
    return [CompletionItem(typed, type="file")]


candidates_option = values_option(
    "--candidates",
    "Values to look for: a file with one per line, - for standard input, or list:NAME for a list "
    "that comes with Deniable, such as list:emoji (deniable lists); may be given several times.",
)
