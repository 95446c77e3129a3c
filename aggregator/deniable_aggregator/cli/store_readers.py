"""``deniable store estimates`` and ``deniable store reader``: the table that others read."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from deniable_aggregator.audit import AuditAction
from deniable_aggregator.cli.support.output import json_option, print_json
from deniable_aggregator.cli.support.progress import progress_bar
from deniable_aggregator.cli.support.store_option import open_store, store_option, today
from deniable_aggregator.config.loading import FILE_VARIABLE, load

if TYPE_CHECKING:
    from deniable_aggregator.api.estimate_table.writing import Written
    from deniable_aggregator.cli.support.progress import ShowProgress
    from deniable_aggregator.store import Store

RETRY_SECONDS: Final = 0.5


@click.command("estimates", short_help="Writes the SQL table estimates now, without waiting.")
@store_option
@click.option("--rebuild", is_flag=True, help="Write all periods again, also those that are right.")
@json_option
def write_estimates(store: str, *, rebuild: bool, as_json: bool) -> None:
    r"""Writes what is due into the SQL table estimates.

    A server does so by itself when a day is over, and after whatever changes answers about past
    days. This command is for whoever does not want to wait, or has no server running. The table has
    past days, weeks and months, as the setting estimate_periods says (DENIABLE_ESTIMATE_PERIODS,
    or the file that DENIABLE_CONFIG names). While a server is writing, this waits for its end, and
    then writes what is left.

    \b
    deniable store estimates --store deniable.db
    sqlite3 'file:deniable.db?mode=ro' 'SELECT * FROM latest_estimates'
    """
    with open_store(store) as opened, progress_bar("estimating") as progress:
        written = _write(opened, progress, rebuild=rebuild)
    if as_json:
        print_json(written._asdict())
        return
    click.echo(
        f"wrote estimates of {written.periods:,} periods ({written.rows:,} rows), deleted those of "
        f"{written.deleted:,}"
    )


def _write(store: Store, progress: ShowProgress, *, rebuild: bool) -> Written:
    from deniable_aggregator.api.estimate_table.writing import TableWriter
    from deniable_aggregator.store import InUseError

    file = os.environ.get(FILE_VARIABLE)
    settings = load({}, os.environ, Path(file) if file else None).settings
    # The servers' own, so that no day is taken for closed that is not.
    kept = store.audit.newest_details(AuditAction.RETENTION_SET) or {}
    writer = TableWriter(
        store,
        lengths=settings.period_lengths,
        accept_days=kept.get("accept_days", settings.accept_days),
        retain_days=kept.get("retain_days", settings.retention_days or None),
        today=today(),
    )
    waits = False
    while True:
        try:
            return writer.write(anew=rebuild, on_progress=progress)
        except InUseError:
            if not waits:
                click.echo("a server is writing estimates: waiting for its end", err=True)
            waits = True
            time.sleep(RETRY_SECONDS)


@click.command("reader", short_help="Lets a role of PostgreSQL read estimates, and nothing else.")
@store_option
@click.argument("role")
@json_option
def allow_reader(store: str, role: str, as_json: bool) -> None:
    r"""Lets ROLE, of PostgreSQL, read the table estimates and the view latest_estimates.

    It may read no keys and no reports. The role must exist; a role that may read more is refused.

    \b
    psql -c "CREATE ROLE grafana LOGIN PASSWORD '...'"
    deniable store reader grafana --store postgresql://deniable@db.example.org/deniable
    """
    from deniable_aggregator.store.maintenance.reader import READABLE
    from deniable_aggregator.store.maintenance.reader import allow_reader as allow

    allow(store, role)
    if as_json:
        print_json({"role": role, "reads": list(READABLE)})
        return
    click.echo(f"{role} may read {' and '.join(READABLE)}, and nothing else")
