"""``deniable keys``: works on the store itself, beside a running server or without one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.table import Column
from rich.text import Text

from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    MAX_OVERLAP_DAYS,
    CreatedKey,
    Key,
    OneKey,
)
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.audit import COMMAND_LINE
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    WIDE,
    close_table,
    columns_or_lines,
    json_option,
    literal_console,
    print_json,
    print_table,
)
from deniable_aggregator.cli.support.store_option import store_option
from deniable_aggregator.dates import format_day, parse_day
from deniable_aggregator.security.key_administration import (
    KeyAdministrator,
    public_key,
)
from deniable_aggregator.store import Store
from deniable_aggregator.store.backends.opening import require_existing
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

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
    log, see deniable audit-log.
    """


@keys_group.command("create")
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
    with _custodian(store, new=True) as custodian:
        issued = custodian.create(
            scope=scope, application=application, label=label, expires=expires
        )
    if as_json:
        print_json(CreatedKey(_public(issued.key), issued.token))
        return
    click.echo(_SHOWN_ONCE, err=True)
    click.echo(issued.token)


@keys_group.command("list")
@store_option
@click.option("--application", help="Only the keys of this one.")
@json_option
def list_keys(store: str, application: str | None, as_json: bool) -> None:
    """Lists all keys, those of the past too, without their tokens.

    Last used is noted by the day, and never finer.
    """
    with _custodian(store, application=application) as custodian:
        listed = [_public(key) for key in custodian.all()]
    if as_json:
        print_json({"keys": listed})
        return
    print_table(keys_table(listed, literal_console().width))


@keys_group.command("rotate", short_help="Makes a successor; the key ends after an overlap.")
@store_option
@_key_id
@click.option(
    "--overlap-days",
    type=click.IntRange(0, MAX_OVERLAP_DAYS),
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
    with _custodian(store) as custodian:
        issued, old = custodian.rotate(key_id, overlap_days=overlap_days, expires=expires)
    if as_json:
        print_json(CreatedKey(_public(issued.key), issued.token, _public(old)))
        return
    assert old.expires is not None
    click.echo(
        f"key {old.id} is valid until {format_day(old.expires)}, {_successor(issued)}", err=True
    )
    click.echo(_SHOWN_ONCE, err=True)
    click.echo(issued.token)


@keys_group.command("revoke")
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
    with _custodian(store) as custodian:
        key = custodian.revoke(key_id)
    _tell(key, as_json, f"revoked {key.id}")


@keys_group.command("exclude", short_help="Leaves all reports of a key out of every estimate.")
@store_option
@_key_id
@json_option
def exclude_key(store: str, key_id: str, as_json: bool) -> None:
    """Leaves all reports of the write key with this ID out of every estimate.

    For a key that brings poisoned reports. They are kept, and deniable keys include takes them
    back. The key goes on being accepted, and what it brings is left out too, until it is revoked.
    """
    with _custodian(store) as custodian:
        key = custodian.exclude(key_id)
    _tell(key, as_json, f"excluded {key.id}: no estimate has its reports any more")


@keys_group.command("include", short_help="Takes the reports of an excluded key back.")
@store_option
@_key_id
@json_option
def include_key(store: str, key_id: str, as_json: bool) -> None:
    """Takes the reports of an excluded key back into estimates; none of them was lost."""
    with _custodian(store) as custodian:
        key = custodian.include(key_id)
    _tell(key, as_json, f"included {key.id}: estimates have its reports again")


def keys_table(keys: Sequence[Key], width: int = UNBROKEN) -> Table:
    """One row per key. Ids and days are whole: other commands take them.

    Args:
        keys: without their tokens.
        width: of the terminal, in characters.
    """
    named = [
        Column(name, overflow="fold") for name in columns_or_lines(width, "application", "label")
    ]
    whole = ["id", "scope"], [*columns_or_lines(width, "created", "last used"), "state"]
    first, last = ([Column(name, no_wrap=True) for name in names] for names in whole)
    table = close_table(*first, *named, *last)
    for key in keys:
        names = columns_or_lines(width, key.application, key.label)
        days = columns_or_lines(width, str(key.created), str(key.last_used or ""))
        # As they are: brackets and colons are not for rich to read.
        shown = [key.id, key.scope, *names, *days, _state(key, width)]
        table.add_row(*map(Text, shown))
    return table


@contextmanager
def _custodian(
    store: str, *, application: str | None = None, new: bool = False
) -> Iterator[KeyAdministrator]:
    """Somebody at the command line, who may do everything."""
    if not new:
        require_existing(store)
    opened = Store(store)
    try:
        yield KeyAdministrator(opened, actor=COMMAND_LINE, today=_today(), application=application)
    finally:
        opened.close()


def _state(key: Key, width: int) -> str:
    """What has become of a key, in words; a day in a line of its own where there is little room."""
    if key.revoked is not None:
        states = [("revoked", str(key.revoked))]
    elif not key.valid:
        states = [("expired", str(key.expires))]
    else:
        states = [("valid until", str(key.expires)) if key.expires else ("valid", "")]
    if key.excluded is not None:
        states.append(("excluded", str(key.excluded)))
    space, comma = (" ", ", ") if width >= WIDE else ("\n", "\n")
    return comma.join(space.join(filter(None, state)) for state in states)


def _successor(issued: IssuedKey) -> str:
    key = issued.key
    end = "without an end" if key.expires is None else f"until {format_day(key.expires)}"
    return f"its successor {key.id} {end}"


def _tell(key: StoredKey, as_json: bool, words: str) -> None:
    if as_json:
        print_json(OneKey(_public(key)))
    else:
        click.echo(words)


def _public(key: StoredKey) -> Key:
    return public_key(key, _today())


def _today() -> int:
    return epoch_at(time.time())
