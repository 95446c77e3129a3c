"""``deniable keys``: works on the store itself, whether a server runs or not."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    MAX_OVERLAP_DAYS,
    CreatedKey,
    Key,
    OneKey,
)
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.audit import COMMAND_LINE
from deniable_aggregator.cli.support.numbers import IntegerIn
from deniable_aggregator.cli.support.output import json_option, print_json
from deniable_aggregator.cli.support.store_option import open_store, store_option, today
from deniable_aggregator.dates import format_day, parse_day
from deniable_aggregator.media.terminal import print_table
from deniable_aggregator.telling.administration import keys_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.security.key_administration import KeyAdministrator
    from deniable_aggregator.security.keys import IssuedKey
    from deniable_aggregator.store import StoredKey

_SHOWN_ONCE = "This token is shown once and kept nowhere:"


def _parse_day(text: str) -> int:
    try:
        return parse_day(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a day such as 2026-01-31") from None


_expires_option = click.option(
    "--expires", type=_parse_day, metavar="DAY", help="The last day on which it is valid."
)
_key_id = click.argument("key_id", metavar="ID")


@click.group("keys")
def keys_group() -> None:
    """Creates, lists, rotates, revokes and excludes keys.

    A key belongs to one application and has one scope: write (devices and relays send reports),
    read (analysts ask for estimates) or admin (registers metrics, looks after the application's
    keys, and reads). Its token is shown once; the store keeps a hash. Every change is in the audit
    log, see deniable log.
    """


@keys_group.command("create", short_help="Makes a key and prints its token.")
@store_option
@click.option("--scope", type=click.Choice(SCOPES), required=True, help="What it allows.")
@click.option("--application", required=True, help="The application's name in its registry.")
@click.option("--label", default="", help="A note for the list.")
@_expires_option
@json_option
def create_key(
    store: str, scope: str, application: str, label: str, expires: int | None, as_json: bool
) -> None:
    """Makes a key and prints its token, which is shown only now.

    Without --expires it is valid until it is revoked. A key that ships with an application should
    be one of these, as devices that are never updated go on using it.
    """
    with _administrator(store, create=True) as administrator:
        issued = administrator.create(
            scope=scope, application=application, label=label, expires=expires
        )
    if as_json:
        print_json(CreatedKey(_public(issued.key), issued.token))
        return
    click.echo(_SHOWN_ONCE, err=True)
    click.echo(issued.token)


@keys_group.command("list", short_help="Lists all keys, without their tokens.")
@store_option
@click.option("--application", help="Only the keys of this one.")
@json_option
def list_keys(store: str, application: str | None, as_json: bool) -> None:
    """Lists all keys, also those that are no longer valid, without their tokens.

    Of the last use the store knows the day only.
    """
    with _administrator(store, application=application) as administrator:
        listed = [_public(key) for key in administrator.all()]
    if as_json:
        print_json({"keys": listed})
        return
    print_table(keys_table(listed))


@keys_group.command("rotate", short_help="Makes a successor; the key ends after an overlap.")
@store_option
@_key_id
@click.option(
    "--overlap-days",
    type=IntegerIn(0, MAX_OVERLAP_DAYS),
    default=DEFAULT_OVERLAP_DAYS,
    show_default=True,
    help="For how many days the old key is still valid; today at least.",
)
@_expires_option
@json_option
def rotate_key(
    store: str, key_id: str, overlap_days: int, expires: int | None, as_json: bool
) -> None:
    """Makes a key of the same scope, application and label in the place of the key with this ID.

    The old one ends after the overlap. Give its holders the new token before. If the old one has an
    end already, say with --expires when the new one ends.

    If a token has leaked: an admin or read key is revoked at once, see deniable keys revoke. A
    write key that ships with an application gets a successor first, to be released within the
    overlap. Only if it brings fakes, revoke it at once.
    """
    with _administrator(store) as administrator:
        issued, old = administrator.rotate(key_id, overlap_days=overlap_days, expires=expires)
    if as_json:
        print_json(CreatedKey(_public(issued.key), issued.token, _public(old)))
        return
    assert old.expires is not None
    click.echo(
        f"key {old.id} is valid until {format_day(old.expires)}, {_successor(issued)}", err=True
    )
    click.echo(_SHOWN_ONCE, err=True)
    click.echo(issued.token)


@keys_group.command("revoke", short_help="Revokes a key, for good.")
@store_option
@_key_id
@json_option
def revoke_key(store: str, key_id: str, as_json: bool) -> None:
    """Revokes the key with this ID, see deniable keys list; for good.

    A running server stops accepting it within two seconds. What it has brought stays counted;
    deniable keys exclude leaves that out of estimates.

    If a token has leaked: an admin or read key is revoked at once. A write key that ships with an
    application gets a successor first, see deniable keys rotate, to be released within the overlap.
    Only if it brings fakes, revoke it at once: what devices record is lost then, unless an update
    brings them a valid key before its day is closed.
    """
    with _administrator(store) as administrator:
        key = administrator.revoke(key_id)
    _report(key, as_json, f"revoked {key.id}")


@keys_group.command("exclude", short_help="Leaves all reports of a key out of every estimate.")
@store_option
@_key_id
@json_option
def exclude_key(store: str, key_id: str, as_json: bool) -> None:
    """Leaves all reports of the write key with this ID out of every estimate.

    For a key that brings poisoned reports. They are kept, and deniable keys include takes them
    back. The key goes on being accepted, and what it brings is left out too, until it is revoked.
    Days that became one before (roll_up_days) keep its reports; answers about them say so.
    """
    with _administrator(store) as administrator:
        key = administrator.exclude(key_id)
        last = administrator.last_mixed_day()
    text = f"excluded {key.id}: no estimate has its reports any more"
    if last is not None:
        text += (
            f", but for those of days until {format_day(last)} that were rolled up with those of "
            "other keys"
        )
    _report(key, as_json, text)


@keys_group.command("include", short_help="Takes the reports of an excluded key back.")
@store_option
@_key_id
@json_option
def include_key(store: str, key_id: str, as_json: bool) -> None:
    """Takes the reports of an excluded key back into estimates; none of them was lost."""
    with _administrator(store) as administrator:
        key = administrator.include(key_id)
    _report(key, as_json, f"included {key.id}: estimates have its reports again")


@contextmanager
def _administrator(
    store: str, *, application: str | None = None, create: bool = False
) -> Iterator[KeyAdministrator]:
    """Looks after the keys of a store on behalf of whoever is at the command line."""
    from deniable_aggregator.security.key_administration import KeyAdministrator

    with open_store(store, create=create) as opened:
        yield KeyAdministrator(opened, actor=COMMAND_LINE, today=today(), application=application)


def _successor(issued: IssuedKey) -> str:
    key = issued.key
    end = "without an end" if key.expires is None else f"until {format_day(key.expires)}"
    return f"its successor {key.id} {end}"


def _report(key: StoredKey, as_json: bool, text: str) -> None:
    """Prints what was done with a key."""
    if as_json:
        print_json(OneKey(_public(key)))
    else:
        click.echo(text)


def _public(key: StoredKey) -> Key:
    """A key without what must not leave the store."""
    from deniable_aggregator.security.key_administration import public_key

    return public_key(key, today())
