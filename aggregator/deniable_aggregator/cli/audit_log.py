"""``deniable audit-log``: what administrators did, and whether the log of it is whole."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click
from rich.table import Column
from rich.text import Text

from deniable_aggregator.audit import HASH_BYTES, AuditEntry, ChainCheck, verify_chain
from deniable_aggregator.cli.render.output import (
    UNBROKEN,
    close_table,
    columns_or_lines,
    json_option,
    literal_console,
    print_json,
    print_table,
)
from deniable_aggregator.cli.support.store_option import store_option
from deniable_aggregator.dates import format_day
from deniable_aggregator.store import Store
from deniable_aggregator.store.backends.opening import require_existing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table


@click.group("audit-log")
def audit_log() -> None:
    """Shows and verifies the log of administrative acts.

    Keys that are made, rotated, revoked, excluded and included, metrics that are registered, remote
    configurations that are published, changes of retention and of the schema, stores that are
    copied and restored, rows that are put back or deleted: each is an entry with its day and who
    did it, written together with the act. Entries are chained by hashes.
    """


@audit_log.command()
@store_option
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N entries.")
@json_option
def show(store: str, last: int | None, as_json: bool) -> None:
    """Shows what was done, when and by whom, the latest at the end.

    The actor is the id of a key, see deniable keys list, or "command line" for somebody on the
    store itself.
    """
    require_existing(store)
    with closing(Store(store)) as opened:
        entries = list(opened.audit.entries()) if last is None else opened.audit.last(last)
    if as_json:
        print_json({"entries": [_described(entry) for entry in entries]})
        return
    print_table(log_table(entries, literal_console().width))


def log_table(entries: Sequence[AuditEntry], width: int = UNBROKEN) -> Table:
    """One row per entry. Days and ids are whole; details are broken between words.

    Args:
        entries: the latest at the end.
        width: of the terminal, in characters.
    """
    whole = ["entry", "day", *columns_or_lines(width, "actor", "act")]
    columns = [Column(name, no_wrap=True) for name in whole]
    table = close_table(*columns, Column("details", overflow="fold"))
    for entry in entries:
        done = columns_or_lines(width, str(entry.actor), str(entry.act))
        # As they are: brackets and colons are not for rich to read.
        table.add_row(str(entry.sequence), _day(entry), *map(Text, (*done, _spaced(entry))))
    return table


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

    It finds an entry that was changed, removed or put in between. That the end is missing, or that
    the whole log was written anew, cannot be seen from inside: keep the head in another place, and
    give it with --head the next time. The status is 1 if the log is not what it was.
    """
    kept = None if head is None else _head(head)
    require_existing(store)
    with closing(Store(store)) as opened:
        verdict = verify_chain(opened.audit.entries(), kept)
    problem = _problem(verdict, head)
    if as_json:
        _print_verdict(verdict, problem)
    elif problem is None:
        click.echo(f"{verdict.entries:,} entries, each as it was written")
        if verdict.kept_head_at is not None:
            click.echo(f"the head that was kept is that of entry {verdict.kept_head_at:,}")
        click.echo(f"head: {verdict.head.hex()}")
    else:
        raise click.ClickException(problem)
    if problem is not None:
        sys.exit(1)


def _problem(verdict: ChainCheck, head: str | None) -> str | None:
    if verdict.broken is not None:
        before = f"The {verdict.entries:,} entries before it are as they were written."
        return f"{verdict.broken.reason}. {before}"
    if head is not None and verdict.kept_head_at is None:
        return (
            f"no entry has the hash {head}: the log was cut off, or written anew, or the hash is "
            "that of another log"
        )
    return None


def _print_verdict(verdict: ChainCheck, problem: str | None) -> None:
    broken = verdict.broken
    print_json(
        {
            "whole": problem is None,
            "entries": verdict.entries,
            "head": verdict.head.hex(),
            "kept_head_at": verdict.kept_head_at,
            "broken_at": None if broken is None else broken.sequence,
            "problem": problem,
        }
    )


def _details(entry: AuditEntry) -> Any:
    """The details, or the text that somebody put in their place past this program."""
    try:
        return json.loads(entry.details)
    except (ValueError, TypeError):
        return str(entry.details)


def _spaced(entry: AuditEntry) -> str:
    """The details with spaces, at which a terminal may break them."""
    details = _details(entry)
    return details if isinstance(details, str) else json.dumps(details, ensure_ascii=False)


def _described(entry: AuditEntry) -> dict[str, Any]:
    return {
        "sequence": entry.sequence,
        "day": _day(entry),
        "actor": str(entry.actor),
        "act": str(entry.act),
        "details": _details(entry),
        "hash": entry.hash.hex() if isinstance(entry.hash, bytes) else str(entry.hash),
    }


def _day(entry: AuditEntry) -> str:
    """The day, or what somebody put in its place past this program: verify is to say so."""
    try:
        return format_day(entry.day)
    except (TypeError, OverflowError):
        return str(entry.day)


def _head(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != HASH_BYTES:
        raise click.BadParameter(
            f"must be {2 * HASH_BYTES} hexadecimal digits", param_hint="--head"
        )
    return found
