"""Runs a command of click, and says its mistakes in the words of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.asking.credentials import AskingError
from deniable_shared.commands.mistakes import (
    FAILED,
    INTERRUPTED,
    USAGE,
    UsageMistakeError,
    must_be_given,
    needs_value,
    takes_no_value,
    unexpected,
    unknown,
)
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Sequence

_HELP: Final = ("--help", "-h")

_NEXT: Final = {
    "candidates_needed": " Give --candidates FILE, with one value per line, or --candidates "
    "list:NAME for a list that comes with Deniable (deniable lists)."
}
"""What a shell's user does next, by the problem of a question."""


def run(command: click.Command, words: Sequence[str], name: str) -> int:
    """Runs a command, or the one that its next words name.

    Args:
        command: one command, or a group of them.
        words: what stands after its name.
        name: as people type it, without the script.

    Returns:
        The exit status.

    Raises:
        UsageMistakeError: if the words are not understood.
        DeniableError: if the command fails.
    """
    whole, arguments = f"deniable {name}", list(words)
    while isinstance(command, click.Group):
        if not arguments or arguments[0] in _HELP:
            print_help(command, whole)
            return 0 if arguments else USAGE
        word = arguments.pop(0)
        if word not in command.commands:
            kind = "option" if word.startswith("-") else "command"
            problem = unknown(kind, word, _HELP[:1] if kind == "option" else command.commands)
            raise UsageMistakeError(problem, f"Usage: {whole} COMMAND ...", whole)
        command, whole = command.commands[word], f"{whole} {word}"
    try:
        with command.make_context(
            whole, arguments, help_option_names=list(_HELP), allow_extra_args=True
        ) as context:
            if context.args:
                context.fail(unexpected(context.args[0]))
            command.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            return INTERRUPTED
        click.echo("Nothing was done.", err=True)
        return FAILED
    except click.UsageError as error:
        usage = click.Context(command, info_name=whole)
        raise UsageMistakeError(
            _in_words(error, command), command.get_usage(usage), whole
        ) from None
    except click.ClickException as error:
        raise DeniableError(error.format_message()) from None
    except AskingError as error:
        if error.code in _NEXT:
            raise AskingError(f"{error}{_NEXT[error.code]}", error.code) from None
        raise
    return 0


def print_help(group: click.Group, whole: str) -> None:
    """Prints the help of a group."""
    context = click.Context(group, info_name=whole, help_option_names=list(_HELP))
    click.echo(group.get_help(context))


def _in_words(error: click.UsageError, command: click.Command) -> str:
    """A mistake in the words of all commands."""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        known = [name for each in command.params for name in each.opts if name.startswith("--")]
        return unknown("option", error.option_name, [*known, "--help"])
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return must_be_given(name_of(error.param))
    if isinstance(error, click.BadOptionUsage):
        if "does not take a value" in message:
            return takes_no_value(error.option_name)
        return needs_value(error.option_name)
    if isinstance(error, click.BadParameter) and error.param is not None:
        between = " " if error.message.startswith("must ") else ": "
        return f"{name_of(error.param)}{between}{error.message}"
    return message


def name_of(parameter: click.Parameter) -> str:
    """How an option or an argument is called."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name.upper()
