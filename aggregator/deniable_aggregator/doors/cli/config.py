"""``deniable config``, and the options that are settings."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.keeping import settings_files
from deniable_aggregator.keeping.settings import CONSTRAINTS, DEFAULTS, KINDS
from deniable_aggregator.keeping.settings_files import (
    Configuration,
    ConfigurationError,
    example_file,
    setting_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable


_METAVARS: Final = {int: "INTEGER", float: "NUMBER", str: "TEXT"}


def settings_options(*required: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds ``--config`` and an option for every setting to a command.

    The command gets `loaded`, the `Configuration` made of these options, the environment and the
    file.

    Args:
        required: settings without a default that the command needs.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(config: Path | None, **rest: Any) -> Any:
            given = {name: rest.pop(name) for name in CONSTRAINTS}
            options = {name: text for name, text in given.items() if text is not None}
            try:
                loaded = settings_files.load(options, os.environ, config, required=required)
            except ConfigurationError as error:
                if error.typed:
                    raise click.UsageError(str(error)) from None
                raise
            return command(loaded=loaded, **rest)

        added: Callable[..., Any] = wrapped
        for name, constraint in reversed(list(CONSTRAINTS.items())):
            added = click.option(
                settings_files.option_name(name),
                name,
                metavar="|".join(constraint.choices) or _METAVARS[KINDS[name]],
                help=f"{constraint.meaning}{_default(name)}",
            )(added)
        return click.option(
            "--config",
            type=click.Path(path_type=Path, dir_okay=False),
            envvar=settings_files.FILE_VARIABLE,
            help="A file as deniable config example prints it. Also from DENIABLE_CONFIG.",
        )(added)

    return decorate


def _default(name: str) -> str:
    return "" if DEFAULTS[name] == "" else f"  [default: {DEFAULTS[name]}]"


@click.group()
def config() -> None:
    """Shows settings, and where they come from.

    A setting is an option of deniable serve (--accept-days), a variable (DENIABLE_ACCEPT_DAYS) or
    a line of a TOML file (accept_days = 14); the first of these that is there applies.
    """


@config.command(short_help="Prints the settings that apply, and where they come from.")
@settings_options()
@json_option
def show(loaded: Configuration, as_json: bool) -> None:
    """Prints the settings that deniable serve would have here, without passwords."""
    rows = list(setting_rows(loaded))
    if as_json:
        print_json({name: {"value": value, "from": origin} for name, value, origin in rows})
        return
    cells = [(name, origin, str(value)) for name, value, origin in rows]
    print_rows(("setting", "from", "value"), cells)


@config.command()
def example() -> None:
    """Prints a file with every setting, its default and what it means."""
    click.echo(example_file(), nl=False)
