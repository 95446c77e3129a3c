"""What ``deniable --help`` prints."""

from __future__ import annotations

from typing import Final

from deniable_shared.commands.table import COMMANDS, GROUPS

USAGE: Final = "Usage: deniable [--version] [--help] COMMAND ...\n"

_ABOUT: Final = """
  Telemetry that every user can deny: the aggregator and its tools.

  To begin, for an application flightdeck:

      deniable init --application flightdeck      # writes metrics.toml
      deniable metrics check metrics.toml
      deniable serve --store deniable.db --development metrics.toml
      deniable try metrics.toml                   # with what the server printed

  A server that others use, step by step:

      deniable plan metrics.toml
      deniable serve --store deniable.db
      deniable keys create --store deniable.db --scope admin --application flightdeck
      deniable metrics register metrics.toml --token TOKEN
      deniable keys create --store deniable.db --scope write --application flightdeck

  The last key goes into the application, which sends reports with it. To ask:

      deniable keys create --store deniable.db --scope read --application flightdeck
      deniable profiles add --server http://127.0.0.1:8787
      deniable metrics list
      deniable estimate METRIC --since -7d
      deniable health

  The exit status is 0, or 1 if something failed or was refused, or 2 if a
  command or its options are not understood, or 3 if a command that looks for
  something has found it, as its own help says. Errors are text on the error
  output, also with --json: the other output has JSON or nothing.

  To complete commands, options and the names of metrics by the tabulator key,
  put one of these lines into the file that your shell reads when it starts:

      eval "$(_DENIABLE_COMPLETE=bash_source deniable)"     # bash
      eval "$(_DENIABLE_COMPLETE=zsh_source deniable)"      # zsh
      _DENIABLE_COMPLETE=fish_source deniable | source      # fish

Commands:
"""
_OF_THE_AGGREGATOR: Final = """
Commands of the aggregator (pip install 'deniable[aggregator]'):
"""


def full_help() -> str:
    """The help of the script itself."""
    light, heavy = (
        [name for name, command in COMMANDS.items() if command.needs_extra == needs_extra]
        for needs_extra in (False, True)
    )
    return f"{USAGE}{_ABOUT}{_listed(light)}{_OF_THE_AGGREGATOR}{_listed(heavy)}"


def group_help(group: str) -> str:
    """The help of words that only begin the names of commands, such as "metrics"."""
    names = [name for name in COMMANDS if name.startswith(f"{group} ")]
    return (
        f"Usage: deniable {group} COMMAND ...\n\n  {GROUPS[group]}\n\nCommands:\n{_listed(names)}"
    )


def _listed(names: list[str]) -> str:
    return "".join(f"  {name:<18}{COMMANDS[name].summary}\n" for name in names)
