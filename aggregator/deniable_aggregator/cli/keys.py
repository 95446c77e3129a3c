"""``deniable keys``: works on the store itself, beside a running server or without one."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deniable_aggregator.keys import SCOPES, create
from deniable_aggregator.store import Store
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

_STORE = click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    envvar="DENIABLE_STORE",
    help="The server's SQLite file. Also from DENIABLE_STORE.",
)


@click.group()
def keys() -> None:
    """Creates, lists and revokes keys.

    A key belongs to one application and has one scope: write (devices and relays send reports),
    read (analysts ask for estimates) or admin (registers metrics, and reads).
    """


@keys.command("create")
@_STORE
@click.option("--scope", type=click.Choice(SCOPES), required=True)
@click.option("--application", required=True, help="The application's name in its registry.")
@click.option("--label", default="", help="A note for the list.")
def create_key(store: Path, scope: str, application: str, label: str) -> None:
    """Makes a key and prints its token, which is shown only now."""
    with closing(Store(store)) as opened:
        token = create(
            opened, scope=scope, application=application, label=label, today=epoch_at(time.time())
        )
    click.echo("This token is shown once and kept nowhere:", err=True)
    click.echo(token)


@keys.command("list")
@_STORE
def list_keys(store: Path) -> None:
    """Lists all keys, without their tokens."""
    table = Table("id", "scope", "application", "label", "created", "revoked")
    with closing(_existing(store)) as opened:
        for key in opened.keys.all():
            revoked = "" if key.revoked is None else _day(key.revoked)
            label = Text(key.label)  # as it is: brackets and colons are not for rich to read
            table.add_row(key.id, key.scope, key.application, label, _day(key.created), revoked)
    Console().print(table)


@keys.command("revoke")
@_STORE
@click.argument("key_id", metavar="ID")
def revoke_key(store: Path, key_id: str) -> None:
    """Revokes the key with this ID, see deniable keys list.

    A running server stops accepting it within two seconds.
    """
    with closing(_existing(store)) as opened:
        if not opened.keys.revoke(key_id, epoch_at(time.time())):
            raise click.ClickException(f"there is no key {key_id} that is not revoked already")
    click.echo(f"revoked {key_id}")


def _existing(path: Path) -> Store:
    if not path.exists():
        raise click.ClickException(f"there is no store {path}")
    return Store(path)


def _day(epoch: int) -> str:
    return datetime.fromtimestamp(epoch * SECONDS_PER_EPOCH, UTC).date().isoformat()
