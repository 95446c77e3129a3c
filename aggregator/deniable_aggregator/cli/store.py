"""``deniable store``: looks after the store itself, beside a running server or without one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from deniable_aggregator.cli.render.output import json_option, print_json, print_table
from deniable_aggregator.cli.set_aside import set_aside_group
from deniable_aggregator.cli.support.store_option import store_option
from deniable_aggregator.dates import format_day
from deniable_aggregator.store.backends.opening import display_name
from deniable_aggregator.store.maintenance.backup import backup, restore
from deniable_aggregator.store.maintenance.summary import summary
from deniable_aggregator.store.maintenance.transfer import export_store, import_store
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NEW_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))


@click.group("store")
def store_group() -> None:
    """Looks after the store: its schema, backups, and moving it.

    A store is an SQLite file or a PostgreSQL database.
    """


store_group.add_command(set_aside_group)


@store_group.command()
@store_option
@json_option
def info(store: str, as_json: bool) -> None:
    """Shows how large the store is, and what is in it."""
    found = summary(store, epoch_at(time.time()))
    days = found["days"]
    if days["first"] is not None:
        days.update({name: format_day(days[name]) for name in ("first", "last")})
    if as_json:
        print_json(found)
        return
    table = Table(show_header=False)
    table.add_row("store", Text(found["store"]))
    table.add_row("schema", f"{found['schema']}, {found['database']}")
    table.add_row("size", f"{found['bytes']:,} bytes")
    table.add_row("reports", f"{found['reports']:,} counted, in {found['slices']:,} slices")
    if days["first"] is not None:
        table.add_row("days", f"{days['first']} to {days['last']}")
    table.add_row("", f"{days['open']} open, {days['closed']} closed")
    table.add_row("keys", ", ".join(f"{number} {name}" for name, number in found["keys"].items()))
    for name, number in found["rows"].items():
        table.add_row(f"rows of {name}", f"{number:,}")
    print_table(table)


@store_group.command("migrate", short_help="Brings an older store to the schema of this version.")
@store_option
@json_option
def migrate_store(store: str, as_json: bool) -> None:
    """Brings a store of an earlier version of deniable to this one's schema.

    Stop the servers and make a backup first. It is one transaction: it is done whole, or nothing
    has changed.
    """
    from deniable_aggregator.store.maintenance.migration import (
        migrate,  # Alembic, for this command alone
    )

    done = migrate(store)
    if as_json:
        print_json({"store": display_name(store), **done._asdict()})
    elif done.before == done.after:
        click.echo(f"{display_name(store)} has the newest schema, {done.after}, already")
    else:
        click.echo(f"migrated {display_name(store)} from schema {done.before} to {done.after}")


@store_group.command("backup", short_help="Copies the store into FILE while the server runs.")
@store_option
@_NEW_FILE
@json_option
def backup_store(store: str, file: Path, as_json: bool) -> None:
    """Copies the store into FILE, as it is at one moment, while the server runs.

    Of an SQLite file this is a copy, which is checked; of PostgreSQL it is an archive of pg_dump.
    It holds the keys of the days that are open: delete backups once they are of no more use.
    """
    with _progress("backing up") as progress:
        backup(store, file, progress)
    _tell(as_json, "backed up", store, file)


@store_group.command("restore")
@store_option
@_FILE
@json_option
def restore_store(store: str, file: Path, as_json: bool) -> None:
    """Makes a store of the backup in FILE.

    The store must not exist, a PostgreSQL database must be empty: nothing is overwritten. What was
    accepted after the backup is lost.
    """
    with _progress("restoring") as progress:
        restore(file, store, progress)
    _tell(as_json, "restored", store, file)


@store_group.command("export", short_help="Copies the store into a new SQLite file.")
@store_option
@_NEW_FILE
@json_option
def export(store: str, file: Path, as_json: bool) -> None:
    """Copies the store, of whatever kind, into FILE, which is a store in an SQLite file.

    To move a store to another kind of database: stop the servers, export, import, and start them
    on the new store. Uploads that are sent again count once all the same.
    """
    with _progress("exporting") as progress:
        rows = export_store(store, file, progress)
    _tell(as_json, "exported", store, file, rows=rows)


@store_group.command("import", short_help="Copies an SQLite file into an empty store.")
@store_option
@_FILE
@json_option
def import_(store: str, file: Path, as_json: bool) -> None:
    """Copies the store in the SQLite file FILE into an empty store, of whatever kind.

    A store that has any content is refused. It is one transaction: all of it arrives, or nothing.
    """
    with _progress("importing") as progress:
        rows = import_store(file, store, progress)
    _tell(as_json, "imported", store, file, rows=rows)


@contextmanager
def _progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error output, if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell(as_json: bool, what: str, target: str, file: Path, **more: Any) -> None:
    if as_json:
        done = {
            "store": display_name(target),
            "file": str(file),
            "bytes": file.stat().st_size,
            **more,
        }
        print_json({"done": what, **done})
        return
    words = "from" if what in {"restored", "imported"} else "to"
    click.echo(f"{what} {display_name(target)} {words} {file}")
