"""Options and help of the commands that need nothing but the standard library."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable


class Parser(argparse.ArgumentParser):
    """An argument parser whose help and errors look like those of the other commands.

    Args:
        prog: the script and the command, such as "deniable plan".
        arguments: what stands after the options.

    Attributes:
        actions: all options and arguments, for completion.
    """

    def __init__(self, prog: str, about: str, *, arguments: str = "") -> None:
        self.actions: list[argparse.Action] = []
        super().__init__(
            prog=prog,
            usage=" ".join(filter(None, (prog, "[OPTIONS]", arguments))),
            description=about,
            formatter_class=_Help,
            allow_abbrev=False,
            add_help=False,
        )
        self.add_argument("--help", "-h", action="help", help="Show this message and exit.")

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Adds an option or argument, see `argparse.ArgumentParser.add_argument`."""
        action = super().add_argument(*names, **options)
        self.actions.append(action)
        return action

    def error(self, message: str) -> NoReturn:
        """Ends the program with status 2, because its arguments are not understood."""
        self.exit(
            2, f"{self.format_usage()}Try '{self.prog} --help' for help.\n\nError: {message}\n"
        )


class _Help(argparse.RawDescriptionHelpFormatter):
    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")

    def start_section(self, heading: str | None) -> None:
        super().start_section("Arguments" if heading == "positional arguments" else "Options")


def number(text: str) -> float:
    """The type of an option that is any number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {_shortened(text)}") from None


def integer_in(low: int, high: int) -> Callable[[str], int]:
    """The type of an option that is an integer in [low, high]."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                f"must be an integer in [{low:,}, {high:,}], got {_shortened(text)}"
            )
        return value

    return parse


def number_in(low: float, high: float) -> Callable[[str], float]:
    """The type of an option that is a number in [low, high]."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                f"must be a number in [{low:g}, {high:g}], got {_shortened(text)}"
            )
        return value

    return parse


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
