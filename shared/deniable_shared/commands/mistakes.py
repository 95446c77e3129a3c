"""What is said of a command line that is not understood: the same words in every command.

A mistake in the words of a command line exits with `USAGE`. A file that cannot be read or written
is a failure, as the same words may be right a moment later: it exits with `FAILED`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_shared.characters import visible
from deniable_shared.errors import DeniableError
from deniable_shared.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
"""How shells count what Ctrl-C has ended."""

LONGEST_SHOWN: Final = 40


class UsageMistakeError(DeniableError):
    """A command line is not understood.

    Args:
        problem: what is wrong with it.
        usage: the line that begins with "Usage: ".
        command: the script and the command, such as "deniable plan".
    """

    def __init__(self, problem: str, usage: str, command: str) -> None:
        super().__init__(problem)
        self.usage = usage
        self.command = command

    def __str__(self) -> str:
        """What is printed."""
        hint = f"Try '{self.command} --help' for help."
        return f"{self.usage.rstrip()}\n{hint}\n\nError: {self.args[0]}"


class FileProblemError(DeniableError):
    """A file that somebody named cannot be read or written.

    Args:
        path: its name.
        problem: what is wrong with it, such as "cannot be read: Is a directory".
    """

    def __init__(self, path: Path | str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def read_file(path: Path) -> bytes:
    """The content of a file that somebody named.

    Raises:
        FileProblemError: if it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileProblemError(path, f"cannot be read: {error.strerror}") from None


def must_be_given(name: str) -> str:
    """An argument or option is missing."""
    return f"{name} must be given"


def unknown(kind: str, typed: str, known: Iterable[str]) -> str:
    """There is no such command or option.

    Args:
        kind: "command" or "option".
        typed: what was typed.
        known: what there is.
    """
    return f"No such {kind} {shortened(typed)}.{did_you_mean(typed, known)}"


def unexpected(word: str) -> str:
    """There are more arguments than a command takes."""
    return f"No further argument is expected, got {shortened(word)}"


def needs_value(option: str) -> str:
    """An option is the last word, although a value must follow."""
    return f"{option} must be followed by its value"


def takes_no_value(option: str) -> str:
    """A value is given to an option that is only there or not."""
    return f"{option} must be given without a value"


def one_of(value: str, choices: Iterable[str]) -> str:
    """The constraint of an option that has only some values; its name goes before it.

    Args:
        value: what was typed.
        choices: the values.
    """
    listed = [str(choice) for choice in choices]
    meant = did_you_mean(value, listed)
    return f"must be one of {', '.join(listed)}, got {shortened(value)}{'.' * bool(meant)}{meant}"


def shortened(text: str) -> str:
    """What was typed, in quotation marks; the beginning of long texts."""
    text = visible(text)
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}...")
