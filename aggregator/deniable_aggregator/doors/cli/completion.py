"""Completion of the aggregator's commands, for `deniable_shared.commands.completion`."""

from __future__ import annotations

from importlib import import_module

from click.shell_completion import ShellComplete


def possible_words(target: str, arguments: list[str], current: str) -> list[tuple[str, str]] | None:
    """Words that can stand at a place in a command line, each with its meaning.

    Args:
        target: module:attribute of the click command.
        arguments: the words between the command and this place.
        current: what is typed of the word.

    Returns:
        Words and meanings, or None if a file name is expected.
    """
    module, _, attribute = target.partition(":")
    command = getattr(import_module(module), attribute)
    items = ShellComplete(command, {}, "deniable", "").get_completions(arguments, current)
    if any(item.type != "plain" for item in items):
        return None
    return [(item.value, item.help or "") for item in items]
