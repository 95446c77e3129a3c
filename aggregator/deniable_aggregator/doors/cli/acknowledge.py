"""``deniable acknowledge``: a key differs from the others, and that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.administration import Acknowledge
from deniable_aggregator.doors.cli.output import json_option, print_json
from deniable_aggregator.doors.cli.parameters import complete_day
from deniable_aggregator.doors.cli.parameters import day as parse_day
from deniable_aggregator.doors.cli.server_options import source_options
from deniable_aggregator.doors.cli.value_completion import complete, complete_metric
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from datetime import date

    from deniable_aggregator.asking import HttpSource


@click.command()
@click.argument("name", shell_complete=complete_metric)
@click.argument("key", shell_complete=complete("keys"))
@click.argument("note", required=False)
@click.option(
    "--since", type=parse_day, metavar="DAY", shell_complete=complete_day,
    help="The first of the days on which the difference is seen. Default: all days.",
)  # fmt: skip
@click.option(
    "--until", type=parse_day, metavar="DAY", shell_complete=complete_day, help="The last."
)
@click.option("--withdraw", is_flag=True, help="Takes back what was acknowledged.")
@json_option
@source_options
def acknowledge(
    name: str,
    key: str,
    note: str | None,
    since: date | None,
    until: date | None,
    withdraw: bool,
    as_json: bool,
    source: HttpSource,
) -> None:
    """Acknowledges that KEY answers unlike the others of the metric NAME, and says why in NOTE.

    Needs a key of scope admin. No answer warns of the difference while it stays where it was on the
    days that are given; it is warned of again once it has moved by 5 points. It is in the audit
    log, and holds for as long as these days are kept. KEY is an id, its first letters, or a label.

    \b
        deniable acknowledge theme beta "Testers like it dark" --since -28d
        deniable acknowledge theme beta --withdraw
    """  # noqa: D301  click reads the backslash as a sign
    if withdraw == (note is not None):
        raise click.UsageError("give NOTE, or --withdraw")
    if note is None:
        source.withdraw(name, key)
        click.echo(f"Nothing is acknowledged of key {visible(key)} in {visible(name)} any more.")
        return
    found = source.acknowledge(name, key, Acknowledge(note, since, until))
    if as_json:
        print_json(found)
        return
    click.echo(
        f"Key {found.key} may differ from the others in {visible(found.metric)} as it did from "
        f"{found.since} to {found.until}."
    )
