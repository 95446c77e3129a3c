"""Options and help of the commands that need nothing but the standard library."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any, NoReturn

from deniable_shared.commands.mistakes import (
    UsageMistakeError,
    must_be_given,
    needs_value,
    one_of,
    shortened,
    takes_no_value,
    unexpected,
    unknown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


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
        self._required: list[argparse.Action] = []
        super().__init__(
            prog=prog,
            usage=" ".join(filter(None, (prog, "[OPTIONS]", arguments))),
            description=about,
            formatter_class=_Help,
            allow_abbrev=False,
            add_help=False,
            exit_on_error=False,
        )
        self.add_argument("--help", "-h", action="help", help="Show this message and exit.")

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Adds an option or argument, see `argparse.ArgumentParser.add_argument`."""
        choices = options.pop("choices", None)
        if choices is not None:
            options["type"] = _chosen(choices)
        action = super().add_argument(*names, **options)
        action.choices = choices
        if action.required:
            # Said by `read`, in the words of all commands.
            action.required = False
            self._required.append(action)
        self.actions.append(action)
        return action

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """What a command line says.

        Raises:
            UsageMistakeError: if it is not understood.
        """
        try:
            options, others = self.parse_known_args(list(arguments))
        except argparse.ArgumentError as error:
            self.error(_in_words(error))
        for word in others:
            if word.startswith("-") and word != "--":
                names = [name for action in self.actions for name in action.option_strings]
                self.error(unknown("option", word.partition("=")[0], names))
        for action in self._required:
            if getattr(options, action.dest) in (None, []):
                self.error(must_be_given(_name(action)))
        if others:
            self.error(unexpected(others[0]))
        return options

    def error(self, message: str) -> NoReturn:
        """Says that the arguments are not understood.

        Raises:
            UsageMistakeError: always.
        """
        raise UsageMistakeError(message, self.format_usage(), self.prog) from None


class _Help(argparse.RawDescriptionHelpFormatter):
    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")

    def start_section(self, heading: str | None) -> None:
        super().start_section("Arguments" if heading == "positional arguments" else "Options")


def _name(action: argparse.Action) -> str:
    """How an option or an argument is called."""
    return max(action.option_strings, key=len) if action.option_strings else str(action.metavar)


def _in_words(error: argparse.ArgumentError) -> str:
    """An error of argparse, in the words of all commands."""
    name = (error.argument_name or "").rpartition("/")[2]
    message = error.message
    if message.startswith("expected "):
        return needs_value(name)
    if message.startswith("ignored explicit argument "):
        return takes_no_value(name)
    return f"{name} {message}"


def _chosen(choices: Iterable[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(one_of(text, choices))
        return text

    return parse


def number(text: str) -> float:
    """The type of an option that is any number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {shortened(text)}") from None


def integer_in(low: int, high: int) -> Callable[[str], int]:
    """The type of an option that is an integer in [low, high]."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                f"must be an integer in [{low:,}, {high:,}], got {shortened(text)}"
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
                f"must be a number in [{low:g}, {high:g}], got {shortened(text)}"
            )
        return value

    return parse
