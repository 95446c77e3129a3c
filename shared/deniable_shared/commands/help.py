"""What ``deniable --help`` prints: the commands by who needs them, those that matter first."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from deniable_shared.commands.table import COMMANDS, GROUPS, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


USAGE: Final = "Usage: deniable [--version] [--help [--all]] COMMAND ...\n"

_ABOUT: Final = """
  Telemetry that every user can deny: the aggregator and its tools. To begin:

      deniable init --application flightdeck      # writes metrics.toml
      deniable serve --store deniable.db --development metrics.toml
      deniable try metrics.toml                   # with what the server printed
"""
_READERS: Final[Mapping[Reader, str]] = {
    "developer": "For the developer of an application:",
    "analyst": "For the analyst:",
    "reviewer": "For the reviewer of privacy:",
    "operator": "For the operator:",
}
_MORE: Final = """
deniable COMMAND --help teaches a command; deniable --help --all has them all.
"""
_ALL: Final = """
* needs pip install 'deniable[aggregator]'

A server that others use, step by step:

    deniable plan metrics.toml
    deniable serve --store deniable.db
    export DENIABLE_STORE=deniable.db
    deniable keys create --scope admin --application flightdeck
    deniable metrics register metrics.toml --token TOKEN
    deniable keys create --scope write --application flightdeck

The last key goes into the application, which sends reports with it. To ask:

    deniable keys create --scope read --application flightdeck
    deniable profiles add --server http://127.0.0.1:8787
    deniable metrics list
    deniable estimate METRIC --since -7d

The exit status is

    0    if it is done
    1    if something failed or was refused, or a file cannot be read or written
    2    if a command or its options are not understood
    3    if a command that looks for something has found it, as its help says
    130  if it was interrupted by Ctrl-C

Errors are text on the error output, also with --json: the other output has JSON
or nothing.

To complete commands, options and the names of metrics by the tabulator key, put
one of these lines into the file that your shell reads when it starts:

    eval "$(_DENIABLE_COMPLETE=bash_source deniable)"     # bash
    eval "$(_DENIABLE_COMPLETE=zsh_source deniable)"      # zsh
    _DENIABLE_COMPLETE=fish_source deniable | source      # fish
"""
_WIDTH: Final = 80


def short_help() -> str:
    """The help of the script itself, on one screen: the most important commands explained."""
    return f"{USAGE}{_ABOUT}{''.join(_by_reader(everything=False))}{_MORE}"


def full_help() -> str:
    """The same with every command explained, and what is common to all."""
    return f"{USAGE}{_ABOUT}{''.join(_by_reader(everything=True))}{_ALL}"


def group_help(group: str) -> str:
    """The help of words that only begin the names of commands, such as "metrics"."""
    names = [name for name in COMMANDS if name.startswith(f"{group} ")]
    return (
        f"Usage: deniable {group} COMMAND ...\n\n  {GROUPS[group]}\n\nCommands:\n{_listed(names)}"
    )


def _by_reader(*, everything: bool) -> Iterator[str]:
    for reader, heading in _READERS.items():
        names = [name for name, command in COMMANDS.items() if command.reader == reader]
        shown = [name for name in names if everything or COMMANDS[name].first]
        yield f"\n{heading}\n{_listed(shown, mark_extra=everything)}"
        if others := [name for name in names if name not in shown]:
            text = f"also: {', '.join(others)}"
            yield textwrap.indent(textwrap.fill(text, _WIDTH - 2), "  ") + "\n"


def _listed(names: list[str], *, mark_extra: bool = False) -> str:
    marks = {name: "*" * (mark_extra and COMMANDS[name].needs_extra) for name in names}
    return "".join(f"  {name + marks[name]:<18}{COMMANDS[name].summary}\n" for name in names)
