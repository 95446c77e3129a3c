"""``deniable store check`` and ``salvage``: whether a store is whole, and what is left of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.server_options import progress_bar
from deniable_aggregator.doors.cli.store_option import open_store, store_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.counting.tallies import Tally
    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.store import Damage

DAMAGED: Final = 1


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


@click.command("salvage", short_help="Copies what is left of a damaged store into FILE.")
@store_option
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def salvage_store(store: str, file: Path, *, as_json: bool) -> None:
    """Copies what can be read of a damaged store into FILE, which becomes a store.

    Stop the servers first. A backup is better, if there is one: this is for what came after it. It
    says what is lost. Nothing that was deleted comes back.
    """
    from deniable_aggregator.keeping.store.salvaging import salvage

    with progress_bar("salvaging") as progress:
        salvaged = salvage(Path(store), file, _tallies_of, progress)
    rows = [
        (*name, reports, salvaged.lost[name], [format_day(day) for day in salvaged.days_of(name)])
        for name, reports in sorted(salvaged.reports.items())
    ]
    gaps = +salvaged.gaps
    if as_json:
        columns = ("application", "metric", "reports", "lost", "days")
        said = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"file": str(file), "metrics": said, "rows": salvaged.rows, "gaps": gaps})
        return
    print_rows(
        ("application", "metric", "reports", "lost", "of these days, among others"),
        [
            (application, metric, f"{reports:,}", f"{lost:,}", ", ".join(days))
            for application, metric, reports, lost, days in rows
        ],
    )
    where = ", ".join(f"{number:,} in {name}" for name, number in sorted(gaps.items()))
    click.echo(f"places that could not be read: {where or 'none'}")
    click.echo(f"salvaged into {file}. Look at it first: deniable store check --store {file}")


def _tallies_of(target: str | Path) -> Callable[[bytes], Tally | None]:
    from deniable_aggregator.keeping.catalog import MetricCatalog
    from deniable_aggregator.keeping.store import Store

    with closing(Store(target)) as opened:
        return {entry.spec.digest: entry.tally for entry in MetricCatalog(opened).entries()}.get


def _row(damage: Damage, catalogue: MetricCatalog) -> dict[str, Any]:
    entry = None if damage.digest is None else catalogue.find(damage.digest)
    return {
        "check": damage.check,
        "metric": "" if entry is None else entry.spec.name,
        "day": "" if damage.day is None else format_day(damage.day),
        "what": damage.what,
    }
