"""Values that a command reads: from a file, standard input, or a shipped or saved list."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from deniable_aggregator import lists
from deniable_aggregator.asking.errors import AskingError
from deniable_aggregator.asking.questions import SAVED_LIST
from deniable_aggregator.cli.support.server_options import OPTIONS, source_of
from deniable_aggregator.lists.reading import read_values as read_text
from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GIVEN_AS: Final = (
    "A file with one per line, - for standard input, list:NAME for a list that comes with "
    "Deniable, such as list:emoji (deniable lists), or saved:NAME for one that the server keeps "
    "(deniable lists --saved). May come several times."
)
_LIST: Final = "list:"
SAVED: Final = "saved:"
"""Before the name of a list that the server keeps."""


def read_values(given: str, ask_saved: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """The different values of a file, of standard input ("-"), or of a list ("list:emoji").

    Args:
        given: which.
        ask_saved: asks the server for the list of a name, for "saved:products".

    Raises:
        click.BadParameter: if they cannot be read, or there are none.
    """
    if given.startswith(SAVED):
        try:
            return tuple(ask_saved(given.removeprefix(SAVED)))
        except AskingError as error:
            message = f"{error} deniable lists --saved names those of the server."
            raise click.BadParameter(message) from error
    if given.startswith(_LIST):
        try:
            return lists.load(given.removeprefix(_LIST))
        except ParameterError as error:
            raise click.BadParameter(f"{error}. deniable lists says what each holds.") from error
    piped = given == "-"
    shown = "standard input" if piped else visible(given)
    try:
        found = read_text(sys.stdin.buffer.read() if piped else Path(given).read_bytes())
    except ParameterError as error:
        message = f"{shown} must be {error.constraint}, got {error.value}"
        raise click.BadParameter(message) from error
    except OSError as error:
        hint = f". The list of this name: {_LIST}{given}" if given in lists.names() else ""
        message = f"{shown} must be a readable file: {error.strerror}{hint}"
        raise click.BadParameter(message) from error
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
        context: click.Context, _parameter: click.Parameter, given: Sequence[str]
    ) -> tuple[str, ...]:
        def ask_saved(list_name: str) -> Sequence[str]:
            # Options of the server are read before all others.
            source = source_of(**{each: context.params.get(each) for each in OPTIONS})
            return source.ask(SAVED_LIST.of(list_name)).values

        every = (read_values(each, ask_saved) for each in given)
        return tuple(dict.fromkeys(itertools.chain.from_iterable(every)))

    return click.option(
        name,
        metavar="FILE|-|list:NAME|saved:NAME",
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
