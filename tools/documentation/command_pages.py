"""The page of all commands: what each prints with ``--help``."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from deniable_shared.commands.entry import main
from deniable_shared.commands.table import COMMANDS, Command

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS: Final = "88"
"""How wide a page shows code without scrolling."""

BEGINNING: Final = """# Commands

Which commands does `deniable` have, and with which options?

This page is made of what each command prints with `--help`. Those marked *light* come with
`pip install deniable`; all others need `pip install 'deniable[aggregator]'`.
"""


def command_page() -> str:
    """The page, as Markdown."""
    parts = [BEGINNING]
    with _wide_terminal():
        for name, command in COMMANDS.items():
            light = "" if command.needs_extra else " *Light.*"
            parts.append(f"## deniable {name}\n\n{command.summary}{light}\n")
            parts.append(_help_block(name.split()))
            for words in _subcommands(name.split(), command):
                parts.append(f"### deniable {' '.join(words)}\n")
                parts.append(_help_block(words))
    return "\n".join(parts)


def _help_block(words: list[str]) -> str:
    return f"```text\n{help_of(words).strip()}\n```\n"


def help_of(words: list[str]) -> str:
    """What a command prints with ``--help``.

    Args:
        words: its name.
    """
    printed = io.StringIO()
    with redirect_stdout(printed):
        try:
            main([*words, "--help"])
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"deniable {' '.join(words)} --help failed") from end
    return printed.getvalue()


def _subcommands(words: list[str], command: Command) -> Iterator[list[str]]:
    if not command.needs_extra:
        return
    module, _, attribute = command.target.partition(":")
    group = getattr(import_module(module), attribute)
    if isinstance(group, click.Group):
        yield from ([*words, name] for name in sorted(group.commands))


@contextmanager
def _wide_terminal() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(COLUMNS=COLUMNS, NO_COLOR="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
