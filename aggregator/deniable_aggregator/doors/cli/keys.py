"""``deniable keys`` and ``deniable log``."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    MAX_OVERLAP_DAYS,
    CreatedKey,
    Key,
    OneKey,
)
from deniable_aggregator.answers.dates import format_day, parse_day
from deniable_aggregator.answers.words import SCOPES
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.parameters import IntegerIn, OneOf
from deniable_aggregator.doors.cli.store_option import open_store, store_option, today
from deniable_aggregator.keeping.audit import (
    COMMAND_LINE,
    HASH_BYTES,
    AuditEntry,
    ChainCheck,
    verify_chain,
)
from deniable_aggregator.media.terminal import print_table
from deniable_aggregator.telling.administration import keys_table
from deniable_shared.commands.mistakes import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.keeping.key_administration import KeyAdministrator
    from deniable_aggregator.keeping.keys import IssuedKey
    from deniable_aggregator.keeping.store import StoredKey


@click.group("log")
def audit_log() -> None:
    """Shows and verifies the log of administrative acts.

    Keys that are created, rotated, revoked, excluded and included, metrics that are registered,
    remote configurations that are published, changes of retention and of the schema, stores that
    are copied and restored, rows that are put back or deleted: each is an entry with its day and
    who did it, written in the same transaction as the act. Entries are chained by hashes.
    """


@audit_log.command()
@store_option
@click.option("--last", type=IntegerIn(1), metavar="N", help="Only the last N entries.")
@json_option
def show(store: str, last: int | None, as_json: bool) -> None:
    """Shows what was done, when and by whom, the latest at the end.

    The actor is the id of a key, see deniable keys list, or "command line" for somebody who works
    on the store itself.
    """
    with open_store(store) as opened:
        entries = list(opened.audit.entries()) if last is None else opened.audit.last(last)
    if as_json:
        print_json({"entries": [_as_json(entry) for entry in entries]})
        return
    rows = [
        (str(entry.sequence), _day(entry), str(entry.actor), str(entry.act), _details_text(entry))
        for entry in entries
    ]
    print_rows(("entry", "day", "actor", "act", "details"), rows, numbers=("entry",))


@audit_log.command("verify", short_help="Checks that the log is whole, and prints its head.")
@store_option
@click.option(
    "--head",
    metavar="HEX",
    help="The head that an earlier verify printed: it must be in the log.",
)
@json_option
def verify_log(store: str, head: str | None, as_json: bool) -> None:
    """Checks the chain from the first entry to the last, and prints its head.

    This detects an entry that was changed, removed or inserted. From the log alone nobody can tell
    whether its end was cut off, or whether all of it was written anew: keep the head in another
    place, and give it with --head the next time. The status is 1 if the log is not what it was.
    """
    kept = None if head is None else _parse_head(head)
    with open_store(store) as opened:
        check = verify_chain(opened.audit.entries(), kept)
    problem = _problem(check, head)
    if as_json:
        _print_check(check, problem)
    elif problem is None:
        click.echo(f"{check.entries:,} entries, the chain of hashes is intact")
        if check.kept_head_at is not None:
            click.echo(f"the head that was kept is that of entry {check.kept_head_at:,}")
        click.echo(f"head: {check.head.hex()}")
    else:
        raise click.ClickException(problem)
    if problem is not None:
        sys.exit(1)


def _problem(check: ChainCheck, head: str | None) -> str | None:
    """What is wrong with the log, in words; None if nothing is."""
    if check.broken is not None:
        before = f"The {check.entries:,} entries before it are as they were written."
        return f"{check.broken.reason}. {before}"
    if head is not None and check.kept_head_at is None:
        return (
            f"no entry has the hash {head}: the log was cut off, or written anew, or the hash is "
            "that of another log"
        )
    return None


def _print_check(check: ChainCheck, problem: str | None) -> None:
    broken = check.broken
    print_json(
        {
            "whole": problem is None,
            "entries": check.entries,
            "head": check.head.hex(),
            "kept_head_at": check.kept_head_at,
            "broken_at": None if broken is None else broken.sequence,
            "problem": problem,
        }
    )


def _as_json(entry: AuditEntry) -> dict[str, Any]:
    return {
        "sequence": entry.sequence,
        "day": _day(entry),
        "actor": str(entry.actor),
        "act": str(entry.act),
        "details": _details(entry),
        "hash": entry.hash.hex() if isinstance(entry.hash, bytes) else str(entry.hash),
    }


# Somebody may have changed a row of the log's table by other means, so any field may have any type.
# Such an entry must still be shown: it is what verify reports.


def _details(entry: AuditEntry) -> Any:
    try:
        return json.loads(entry.details)
    except (ValueError, TypeError):
        return str(entry.details)


def _details_text(entry: AuditEntry) -> str:
    """The details with spaces, at which a terminal may break them."""
    details = _details(entry)
    return details if isinstance(details, str) else json.dumps(details, ensure_ascii=False)


def _day(entry: AuditEntry) -> str:
    try:
        return format_day(entry.day)
    except (TypeError, OverflowError):
        return str(entry.day)


def _parse_head(text: str) -> bytes:
    try:
        head = bytes.fromhex(text)
    except ValueError:
        head = b""
    if len(head) != HASH_BYTES:
        wanted = f"{2 * HASH_BYTES} hexadecimal digits"
        raise click.UsageError(f"--head must be {wanted}, got {shortened(text)}")
    return head


_FOR_MANY = (
    "Give this key to many devices: analysts can ask about each key, so one that a single person "
    "uses identifies that person."
)
_SHOWN_ONCE = "This token is shown once and kept nowhere:"


def _parse_day(text: str) -> int:
    try:
        return parse_day(text)
    except ValueError:
        raise click.BadParameter(
            f"must be a day such as 2026-01-31, got {shortened(text)}"
        ) from None


_expires_option = click.option(
    "--expires", type=_parse_day, metavar="DAY", help="The last day on which it is valid."
)
_key_id = click.argument("key_id", metavar="ID")


@click.group("keys")
def keys_group() -> None:
    """Creates, lists, rotates, revokes and excludes keys.

    A key belongs to one application and has one scope: write (devices send reports), batch (who
    imports or simulates sends many at once), relay (who runs a relay brings sealed uploads), read
    (analysts ask for estimates) or admin (registers metrics, looks after the application's keys,
    and reads). Its token is shown once; the store keeps a hash. Every change is in the audit log,
    see deniable log.

    Reports are kept and shown by key. So a key which one person uses identifies that person: give
    a write key to all devices of a build or channel, never to one.
    """


@keys_group.command("create", short_help="Makes a key and prints its token.")
@store_option
@click.option("--scope", type=OneOf(SCOPES), required=True, help="What it allows.")
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
    if scope == "write":
        click.echo(_FOR_MANY, err=True)
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
    """Leaves all reports of the key with this ID out of every estimate.

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
    from deniable_aggregator.keeping.key_administration import KeyAdministrator

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
    from deniable_aggregator.keeping.key_administration import public_key

    return public_key(key, today())
