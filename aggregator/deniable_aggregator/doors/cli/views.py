"""``deniable views``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.asking.questions import SAVED_VIEWS
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.server_options import source_options

if TYPE_CHECKING:
    from deniable_aggregator.asking import HttpSource

_PAGE: Final = "/metric/"


@click.group("views")
def views() -> None:
    """Keeps pages of metrics under names: the metric, its days, and all else chosen there.

    All who may read an application's metrics see its views, on the overview of the pages, too, and
    may change them. Days such as the last four weeks move with time; days of your own do not.

    \b
        deniable views save "Themes by week" "/metric/theme?by=week"
        deniable views list
        deniable views delete "Themes by week"
    """  # noqa: D301  click reads the backslash as a sign


@views.command("list", short_help="Lists the saved views.")
@json_option
@source_options
def list_(as_json: bool, source: HttpSource) -> None:
    """Lists the saved views, by name."""
    found = source.ask(SAVED_VIEWS)
    if as_json:
        print_json(found)
    elif not found.views:
        click.echo("No view is saved; deniable views save NAME ADDRESS saves one.")
    else:
        print_rows(("view", "address"), [(each.name, each.place) for each in found.views])


@views.command(short_help="Saves the page of a metric under a name.")
@click.argument("name")
@click.argument("address")
@source_options
def save(name: str, address: str, source: HttpSource) -> None:
    """Saves ADDRESS, the page of a metric as a browser shows it, as the view NAME.

    NAME has at most 60 characters. A view of the same name is replaced.
    """
    saved = source.save_view(name, address[max(address.find(_PAGE), 0) :])
    click.echo(f"Saved {saved.name} as {saved.place}.")


@views.command(short_help="Deletes a saved view.")
@click.argument("name")
@source_options
def delete(name: str, source: HttpSource) -> None:
    """Deletes the view NAME."""
    source.delete_view(name)
    click.echo(f"Deleted {name}.")
