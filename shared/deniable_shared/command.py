"""The script ``deniable``: the command of the device, and the aggregator's where it is installed.

It lives here because every install has this package, and the aggregator's own refuses to be
imported without its extra.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP: Final = """\
usage: deniable show --directory DIR [--json]

Shows what this device has said to an application; see deniable show --help.

All other commands belong to the aggregator, which is not installed:
  {error}"""


def main() -> None:
    """Runs the command line; without the aggregator, says how to install it."""
    if sys.argv[1:2] == ["show"]:
        show(sys.argv[2:])
    try:
        cli = import_module("deniable_aggregator.cli")
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        if sys.argv[1:] in ([], ["-h"], ["--help"]):
            print(_HELP.format(error=error))  # noqa: T201  a command prints
            sys.exit(0)
        sys.exit(f"deniable: {error}")
    cli.deniable(prog_name="deniable")


def show(arguments: Sequence[str]) -> NoReturn:
    """Runs ``deniable show`` and exits.

    Args:
        arguments: what stands after ``show``.
    """
    sys.exit(import_module("deniable._disclosure.command").main(arguments))
