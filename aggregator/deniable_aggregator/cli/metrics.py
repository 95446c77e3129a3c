"""``deniable metrics register``: tells a server or a store which metrics an application has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.administration import Registered
from deniable_aggregator.audit import COMMAND_LINE
from deniable_aggregator.cli.support.files import READABLE_FILE
from deniable_aggregator.cli.support.output import json_option, print_json, print_rows
from deniable_aggregator.cli.support.server_options import optional_connection_options
from deniable_aggregator.cli.support.store_option import (
    open_store,
    store_instead_of_server_option,
    store_is_meant,
    today,
)
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deniable_aggregator.asking.connection import Connection


@click.command()
@click.argument("file", type=READABLE_FILE)
@store_instead_of_server_option
@optional_connection_options
@json_option
@click.pass_context
def register(
    context: click.Context,
    file: Path,
    store: str | None,
    connect: Callable[[], Connection],
    as_json: bool,
) -> None:
    """Registers all metrics of FILE with a server, or in a store.

    Register the very file that the application ships, with the model files that it names beside
    it. It may be done again at any time: what is registered already stays, and what has changed is
    registered beside it, so that old versions of the application can still report.

    A server is asked with a key of scope admin. With --store nothing needs to run, as when a server
    is set up: an SQLite file that is not there is created, and running servers notice within a
    second. Either way it is in the audit log.
    """
    if store_is_meant(context):
        assert store is not None
        registered = _register_in_store(store, file)
    else:
        from deniable_shared.registry import with_models

        connection = connect()
        content = with_models(file.read_bytes(), file.parent)
        registered = connection.request("POST", "/v1/metrics", content=content).decode(Registered)
    if as_json:
        print_json(registered)
        return
    click.echo(f"{file}: {visible(registered.application)}")
    states = {True: "new", False: "registered before"}
    rows = [(each.version[:16], states[each.new], each.name) for each in registered.metrics]
    print_rows(("version", "", "metric"), rows)


def _register_in_store(store: str, file: Path) -> Registered:
    """Registers a file in a store on behalf of whoever is at the command line.

    Raises:
        RegistryError: if the file has problems, or the application would have too many metrics.
    """
    from deniable_aggregator.catalog import registered
    from deniable_shared.registry import load

    registry = load(file)
    with open_store(store, create=True) as opened:
        new = opened.metrics.register(registry.metrics.values(), today(), COMMAND_LINE)
    return registered(registry, new)
