"""``deniable log``: what administrators did, and whether the log of it is whole."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from deniable_aggregator.audit import HASH_BYTES, AuditEntry, ChainCheck, verify_chain
from deniable_aggregator.cli.support.numbers import IntegerIn
from deniable_aggregator.cli.support.output import json_option, print_json, print_rows
from deniable_aggregator.cli.support.store_option import open_store, store_option
from deniable_aggregator.dates import format_day


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
        raise click.BadParameter(
            f"must be {2 * HASH_BYTES} hexadecimal digits", param_hint="--head"
        )
    return head
