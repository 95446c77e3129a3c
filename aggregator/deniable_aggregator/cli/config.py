"""``deniable config``: what the settings are, and where they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.cli.support.output import json_option, print_json, print_rows
from deniable_aggregator.cli.support.settings_options import settings_options
from deniable_aggregator.config.loading import example_file, setting_rows

if TYPE_CHECKING:
    from deniable_aggregator.config.loading import Configuration


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
