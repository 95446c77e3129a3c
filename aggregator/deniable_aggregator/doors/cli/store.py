"""``deniable store``: backups, migration, transfer, and those who only read."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.parameters import READABLE_FILE
from deniable_aggregator.doors.cli.server_options import ShowProgress, progress_bar
from deniable_aggregator.doors.cli.set_aside import set_aside_group
from deniable_aggregator.doors.cli.store_check import check_store, salvage_store
from deniable_aggregator.doors.cli.store_option import open_store, store_option, today
from deniable_aggregator.keeping.audit import AuditAction
from deniable_aggregator.keeping.settings_files import FILE_VARIABLE
from deniable_aggregator.keeping.settings_files import load as load_settings

if TYPE_CHECKING:
    from deniable_aggregator.answering.estimate_table.writing import Written
    from deniable_aggregator.keeping.store import Store


RETRY_SECONDS: Final = 0.5


@click.command("estimates", short_help="Writes the SQL table estimates now, without waiting.")
@store_option
@click.option("--rebuild", is_flag=True, help="Write all periods again, also those that are right.")
@json_option
def write_estimates(store: str, *, rebuild: bool, as_json: bool) -> None:
    """Writes what is due into the SQL table estimates.

    A server does so by itself when a day is over, and after whatever changes answers about past
    days. This command is for whoever does not want to wait, or has no server running. The table has
    past days, weeks and months, as the setting estimate_periods says (DENIABLE_ESTIMATE_PERIODS,
    or the file that DENIABLE_CONFIG names). While a server is writing, this waits for its end, and
    then writes what is left.

    \b
        deniable store estimates --store deniable.db
        sqlite3 'file:deniable.db?mode=ro' 'SELECT * FROM latest_estimates'
    """  # noqa: D301  click reads the backslash as a sign
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
    from deniable_aggregator.answering.estimate_table.writing import TableWriter
    from deniable_aggregator.keeping.store import InUseError

    file = os.environ.get(FILE_VARIABLE)
    settings = load_settings({}, os.environ, Path(file) if file else None).settings
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
    """Lets ROLE, of PostgreSQL, read the table estimates and the view latest_estimates.

    It may read no keys and no reports. The role must exist; a role that may read more is refused.

    \b
        psql -c "CREATE ROLE grafana LOGIN PASSWORD '...'"
        deniable store reader grafana --store postgresql://db.example.org/deniable
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.keeping.store.summary import READABLE
    from deniable_aggregator.keeping.store.summary import allow_reader as allow

    allow(store, role)
    if as_json:
        print_json({"role": role, "reads": list(READABLE)})
        return
    click.echo(f"{role} may read {' and '.join(READABLE)}, and nothing else")


# The store's modules are imported by the commands, so that help and completion do without them.


_NEW_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_FILE = click.argument("file", type=READABLE_FILE)


@click.group("store")
def store_group() -> None:
    """Looks after the store: its schema, backups, and moving it.

    A store is an SQLite file or a PostgreSQL database.
    """


for _command in (set_aside_group, write_estimates, allow_reader, check_store, salvage_store):
    store_group.add_command(_command)


@store_group.command()
@store_option
@json_option
def info(store: str, as_json: bool) -> None:
    """Shows how large the store is, and what is in it."""
    from deniable_aggregator.keeping.store.summary import summary

    content = summary(store, today())
    days = content["days"]
    if days["first"] is not None:
        days.update({name: format_day(days[name]) for name in ("first", "last")})
    if as_json:
        print_json(content)
        return
    rows: list[tuple[str, str]] = []
    rows.append(("store", content["store"]))
    rows.append(("schema", f"{content['schema']}, {content['database']}"))
    rows.append(("size", f"{content['bytes']:,} bytes"))
    rows.append(("reports", f"{content['reports']:,} counted, in {content['slices']:,} slices"))
    if days["first"] is not None:
        rows.append(("days", f"{days['first']} to {days['last']}"))
    rows.append(("days in all", f"{days['open']} open, {days['closed']} closed"))
    rows.append(("keys", ", ".join(f"{count} {state}" for state, count in content["keys"].items())))
    for name, count in content["rows"].items():
        rows.append((f"rows of {name}", f"{count:,}"))
    print_rows(("", ""), rows)


@store_group.command("migrate", short_help="Brings an older store to the schema of this version.")
@store_option
@json_option
def migrate_store(store: str, as_json: bool) -> None:
    """Brings a store of an earlier version of deniable to this one's schema.

    Stop the servers and make a backup first: while any program has an older store open, this is
    refused. The change is one transaction: if it fails, the store is as it was.
    """
    from deniable_aggregator.keeping.store.transfer import migrate

    migration = migrate(store)
    if as_json:
        print_json({"store": _name(store), **migration._asdict()})
    elif migration.before == migration.after:
        click.echo(f"{_name(store)} has the newest schema, {migration.after}, already")
    else:
        click.echo(f"migrated {_name(store)} from schema {migration.before} to {migration.after}")


@store_group.command("backup", short_help="Copies the store into FILE while the server runs.")
@store_option
@_NEW_FILE
@json_option
def backup_store(store: str, file: Path, as_json: bool) -> None:
    """Copies the store into FILE, as it is at one moment, while the server runs.

    Of an SQLite file this is a copy, which is checked; of PostgreSQL it is an archive of pg_dump.
    The copy holds the keys of the days that are still open: delete backups that nobody needs.
    """
    from deniable_aggregator.keeping.store.backup import backup

    with progress_bar("backing up") as progress:
        backup(store, file, progress)
    _report(as_json, "backed up", store, file)


@store_group.command("restore")
@store_option
@_FILE
@json_option
def restore_store(store: str, file: Path, as_json: bool) -> None:
    """Makes a store of the backup in FILE.

    The store must not exist, and a PostgreSQL database must be empty: nothing is overwritten. What
    was accepted after the backup is lost.
    """
    from deniable_aggregator.keeping.store.backup import restore

    with progress_bar("restoring") as progress:
        restore(file, store, progress)
    _report(as_json, "restored", store, file)


@store_group.command("export", short_help="Copies the store into a new SQLite file.")
@store_option
@_NEW_FILE
@json_option
def export(store: str, file: Path, as_json: bool) -> None:
    """Copies the store, of either kind, into FILE, which becomes a store in an SQLite file.

    To move a store to another kind of database: stop the servers, export, import, and start them
    on the new store. Uploads that devices send again are still counted once.
    """
    from deniable_aggregator.keeping.store.transfer import export_store

    with progress_bar("exporting") as progress:
        rows = export_store(store, file, progress)
    _report(as_json, "exported", store, file, rows=rows)


@store_group.command("import", short_help="Copies an SQLite file into an empty store.")
@store_option
@_FILE
@json_option
def import_(store: str, file: Path, as_json: bool) -> None:
    """Copies the store in the SQLite file FILE into an empty store, of either kind.

    A store that has any content is refused. The copy is one transaction: if it fails, the store is
    still empty.
    """
    from deniable_aggregator.keeping.store.transfer import import_store

    with progress_bar("importing") as progress:
        rows = import_store(file, store, progress)
    _report(as_json, "imported", store, file, rows=rows)


@store_group.command("load", short_help="Adds what Dask, Spark or other programs have counted.")
@store_option
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=READABLE_FILE,
)
@click.option(
    "--replace",
    is_flag=True,
    help="Replace the sums of a version, day and key that differ, instead of refusing the files.",
)
@json_option
def load(store: str, files: tuple[Path, ...], replace: bool, as_json: bool) -> None:
    """Adds the tallies in Parquet files that were counted from reports elsewhere.

    All files together are the sums of their days, and are loaded in one transaction: loading them
    again changes nothing. The metrics must be registered in the store. Keys that it does not have
    are added, revoked, so that their reports can be excluded.
    """
    from deniable_aggregator.answers.extras import require

    require("archive", "pyarrow", "fsspec")
    from deniable_aggregator.answering.engines.loading import load_tallies

    with open_store(store) as opened:
        loaded = load_tallies(opened, files, replace=replace)
    if as_json:
        print_json({"store": _name(store), **loaded._asdict()})
        return
    click.echo(
        f"loaded {loaded.reports:,} reports into {_name(store)}: {loaded.added:,} slices new, "
        f"{loaded.replaced:,} replaced, {loaded.unchanged:,} the same as before"
    )


def _report(as_json: bool, act: str, store: str, file: Path, **more: Any) -> None:
    """Prints what was done with a store and a file."""
    if as_json:
        size = file.stat().st_size
        print_json({"done": act, "store": _name(store), "file": str(file), "bytes": size, **more})
        return
    direction = "from" if act in {"restored", "imported"} else "to"
    click.echo(f"{act} {_name(store)} {direction} {file}")


def _name(store: str) -> str:
    """A store's name without its password."""
    from deniable_aggregator.keeping.store.opening import display_name

    return display_name(store)
