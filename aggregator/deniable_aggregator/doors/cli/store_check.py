"""``deniable store check``: whether a store is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.store_option import open_store, store_option

if TYPE_CHECKING:
    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.store import Damage

DAMAGED: int = 1


@click.command("check", short_help="Looks whether the store is whole; ends with 1 if it is not.")
@store_option
@json_option
@click.pass_context
def check_store(context: click.Context, store: str, *, as_json: bool) -> None:
    """Looks whether the store is whole, while the server runs.

    It reads everything: the pages of an SQLite file, the parts of every day with their sums and
    what counts as a report, what waits, the history of registries and the audit log. A server looks
    for itself, at the pages when it starts and at everything once a day, and says so in /readyz, in
    its log and to Prometheus. No store can tell a flipped bit of noise from noise.
    """
    from deniable_aggregator.keeping.catalog import MetricCatalog

    with open_store(store) as opened:
        catalogue = MetricCatalog(opened)
        damage = [*(opened.check_pages() or ())]
        damage += [each for each in opened.check_content(catalogue.tally) if each is not None]
        rows = [_row(each, catalogue) for each in damage]
        name = opened.name
    if as_json:
        print_json({"store": name, "whole": not rows, "damage": rows})
    elif rows:
        print_rows(("where", "metric", "day", "what"), [tuple(row.values()) for row in rows])
    else:
        click.echo(f"{name} is whole")
    if rows:
        context.exit(DAMAGED)


def _row(damage: Damage, catalogue: MetricCatalog) -> dict[str, Any]:
    entry = None if damage.digest is None else catalogue.find(damage.digest)
    return {
        "check": damage.check,
        "metric": "" if entry is None else entry.spec.name,
        "day": "" if damage.day is None else format_day(damage.day),
        "what": damage.what,
    }
