"""``deniable store set-aside``: rows that could not be counted, and what becomes of them."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.table import Column

from deniable_aggregator.audit import COMMAND_LINE
from deniable_aggregator.cli.render.output import close_table, json_option, print_json, print_table
from deniable_aggregator.cli.support.store_option import store_option
from deniable_aggregator.dates import format_day
from deniable_aggregator.store import Store
from deniable_aggregator.store.backends.opening import require_existing
from deniable_shared.periods import epoch_at
from deniable_shared.wire import DIGEST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.store import SetAsideGroup, SetAsideRows


def _digest(_: click.Context, __: click.Parameter, text: str | None) -> bytes | None:
    try:
        found = None if text is None else bytes.fromhex(text)
    except ValueError:
        found = b""
    if found is not None and len(found) != DIGEST_BYTES:
        raise click.BadParameter(f"must be {2 * DIGEST_BYTES} hexadecimal digits")
    return found


_digest_option = click.option(
    "--digest", callback=_digest, metavar="HEX", help="Only those of this spec, as list shows it."
)


@click.group("set-aside", short_help="Shows, puts back or deletes what could not be counted.")
def set_aside_group() -> None:
    """Rows that could not be counted: shows them, puts them back, or deletes them.

    A row is set aside if its metric is not registered in the store, or if its bytes are no reports
    of the metric, through damage or a defect. The rest is counted all the same.
    """


@set_aside_group.command("list", short_help="Shows what was set aside, and why.")
@store_option
@json_option
def list_set_aside(store: str, as_json: bool) -> None:
    """Shows what was set aside: of which metrics and days, how much, and why."""
    with _aside(store) as aside:
        piles = [_described(pile) for pile in aside.groups()]
    if as_json:
        print_json({"set_aside": piles})
        return
    digest = Column("digest", overflow="fold")
    table = close_table(digest, "metric", "rows", "bytes", "days", "why")
    for pile in piles:
        metric = "" if pile["name"] is None else f"{pile['application']} {pile['name']}"
        days = f"{pile['first']} to {pile['last']}"
        sizes = (f"{pile[name]:,}" for name in ("rows", "bytes"))
        table.add_row(pile["digest"], metric, *sizes, days, pile["why"])
    print_table(table)


@set_aside_group.command(short_help="Puts rows back into the inbox.")
@store_option
@_digest_option
@json_option
def retry(store: str, digest: bytes | None, as_json: bool) -> None:
    """Puts rows back into the inbox, once the cause is repaired; the server counts them.

    Register the metric, or upgrade the server, first. What still cannot be counted is set aside
    again. It may be done while servers run, and again after it was cut off: each row counts once.
    """
    _settle(store, digest, "put back", lambda aside: aside.retry, as_json)


@set_aside_group.command()
@store_option
@_digest_option
@click.option("--all", "everything", is_flag=True, help="All that was set aside.")
@json_option
def discard(store: str, digest: bytes | None, everything: bool, as_json: bool) -> None:
    """Deletes rows, for good: their reports are never counted."""
    if (digest is None) != everything:
        raise click.UsageError("give --digest HEX, or --all")
    _settle(store, digest, "deleted", lambda aside: aside.discard, as_json)


def _settle(
    store: str,
    digest: bytes | None,
    what: str,
    act: Callable[[SetAsideRows], Callable[..., int]],
    as_json: bool,
) -> None:
    today = epoch_at(time.time())
    with _aside(store) as aside:
        chosen = [pile.digest for pile in aside.groups() if digest in {None, pile.digest}]
        rows = sum(act(aside)(each, day=today, actor=COMMAND_LINE) for each in chosen)
    if as_json:
        print_json({"done": what, "rows": rows})
    else:
        click.echo(f"{what}: {rows:,} rows")


@contextmanager
def _aside(store: str) -> Iterator[SetAsideRows]:
    require_existing(store)
    with closing(Store(store)) as opened:
        yield opened.set_aside


def _described(pile: SetAsideGroup) -> dict[str, Any]:
    return {
        "digest": pile.digest.hex(),
        "application": pile.application,
        "name": pile.name,
        "rows": pile.rows,
        "bytes": pile.payload_bytes,
        "first": format_day(pile.first),
        "last": format_day(pile.last),
        "why": "not registered" if pile.name is None else "not countable",
    }
