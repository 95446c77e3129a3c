"""``deniable relay-key``: the keys that devices seal uploads to, where a relay brings them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.store_option import open_store, store_option, today
from deniable_shared.sealing import HYBRID, X25519

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.keeping.relay_keys import RelayKeys

_EXAMPLE_URL = "https://relay.example.org/NAME"

file_option = click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of the keys, also from DENIABLE_RELAY_KEYS; left out for relay_keys beside the "
    "store's file.",
    envvar="DENIABLE_RELAY_KEYS",
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    return store_option(file_option(command))


@click.group("relay-key")
def relay_key() -> None:
    """Makes, lists and retires the keys that devices seal uploads to.

    A relay of another party collects sealed uploads and brings them here. It can open none: the
    private halves are in the file relay_keys beside the store, which only its owner may read. They
    are neither in the store nor in its backups; copy the file to every server, and to a safe place.
    Without it nothing that devices have sealed can be opened any more.

    Reports hide among those that were sealed to the same key. So have one key, and another only to
    take its place: make it, ship it, and retire the old one when list shows no more reports of it.
    """


@relay_key.command("create", short_help="Makes a key, and its table for the registry.")
@_options
@click.option(
    "--hybrid",
    is_flag=True,
    help="Seals that a quantum computer does not open either: ML-KEM-768 with X25519. An upload "
    "has four times the bytes. Worth it above epsilon 4.",
)
def create(store: str, file: Path | None, hybrid: bool) -> None:
    """Makes a key, and prints the table that goes into the registry."""
    private = _keys(store, file).create(HYBRID if hybrid else X25519, day_of(today()))
    click.echo(f"made key {private.public.id.hex()}; as the registry has it:", err=True)
    click.echo(f'[relay]\nurl = "{_EXAMPLE_URL}"\nkey = "{private.public.text}"\nevery = "week"')


@relay_key.command("list", short_help="Lists all keys, and the last reports sealed to each.")
@_options
@json_option
def list_keys(store: str, file: Path | None, as_json: bool) -> None:
    """Lists all keys, and the day of the last report that was sealed to each.

    That is known of open days. Reports of others are refused, whatever they were sealed to.
    """
    with open_store(store) as opened:
        days = opened.relayed.last_days()
    listed = [
        {
            "key": key.id,
            "suite": key.suite,
            "created": key.created,
            "last_day": None if (day := days.get(bytes.fromhex(key.id))) is None else day_of(day),
            "retired": key.retired,
        }
        for key in _keys(store, file).all()
    ]
    if as_json:
        print_json({"keys": listed})
        return
    print_rows(
        ("key", "sealed with", "created", "last report", "retired"),
        [tuple("" if value is None else str(value) for value in key.values()) for key in listed],
    )


@relay_key.command("retire", short_help="Erases the private half of a key, for good.")
@_options
@click.argument("key_id", metavar="ID")
def retire(store: str, file: Path | None, key_id: str) -> None:
    """Erases the private half of the key whose id begins with ID, for good.

    What devices still seal to it is lost. Wait until list has shown no reports of it for as long as
    days are open.
    """
    retired = _keys(store, file).retire(key_id, day_of(today()))
    click.echo(f"retired {retired.id}")


def _keys(store: str, file: Path | None) -> RelayKeys:
    """The file that was named, else that of the store."""
    from deniable_aggregator.keeping.relay_keys import RelayKeys
    from deniable_aggregator.keeping.store.base import is_url

    path = None if is_url(store) else Path(store).absolute()
    return RelayKeys.beside(path, "" if file is None else str(file))
