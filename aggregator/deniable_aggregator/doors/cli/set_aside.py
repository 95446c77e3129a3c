"""``deniable archive`` and ``deniable store set-aside``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.server_options import progress_bar
from deniable_aggregator.doors.cli.store_option import open_store, store_option, today
from deniable_aggregator.keeping.audit import COMMAND_LINE
from deniable_shared.commands.mistakes import shortened
from deniable_shared.wire import DIGEST_BYTES

if TYPE_CHECKING:
    from deniable_aggregator.keeping.store import SetAsideGroup


@click.command("archive")
@store_option
@click.argument("address", metavar="ADDRESS")
@json_option
def archive(store: str, address: str, as_json: bool) -> None:
    """Writes the reports of closed days into Parquet files below ADDRESS.

    ADDRESS is a folder, or an address of fsspec such as s3://bucket/reports. Every report is in one
    file, also if this command is killed and run again; run it daily, beside the servers. These must
    have the setting archive_days, as they keep only sums otherwise.

    An archive keeps single reports, which a store does not: see docs/threat-model.md.
    """
    from deniable_aggregator.answers.extras import require

    require("archive", "pyarrow", "fsspec")
    from deniable_aggregator.keeping.archive import Archiver

    with open_store(store) as opened, progress_bar("archiving") as progress:
        written = Archiver(opened, address).run(progress)
    if as_json:
        print_json(written._asdict())
        return
    click.echo(
        f"archived {written.reports:,} reports of {written.days:,} days in {written.files:,} files"
    )


def _parse_version(_: click.Context, __: click.Parameter, text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        digest = bytes.fromhex(text)
    except ValueError:
        digest = b""
    if len(digest) != DIGEST_BYTES:
        raise click.BadParameter(
            f"must be {2 * DIGEST_BYTES} hexadecimal digits, got {shortened(text)}"
        )
    return digest


_version_option = click.option(
    "--metric-version",
    "version",
    callback=_parse_version,
    metavar="HEX",
    help="Only rows of this version of a metric, by its id in deniable store set-aside list.",
)


@click.group("set-aside", short_help="Shows, puts back or deletes what could not be counted.")
def set_aside_group() -> None:
    """Rows that could not be counted: shows them, puts them back, or deletes them.

    A row is set aside if its metric is not registered in the store, or if its bytes are no reports
    of the metric, through damage or a defect. All other rows are counted.
    """


@set_aside_group.command("list", short_help="Shows what was set aside, and why.")
@store_option
@json_option
def list_set_aside(store: str, as_json: bool) -> None:
    """Shows what was set aside: of which metrics and days, how much, and why."""
    with open_store(store) as opened:
        groups = [_as_json(group) for group in opened.set_aside.groups()]
    if as_json:
        print_json({"set_aside": groups})
        return
    rows = []
    for group in groups:
        metric = "" if group["name"] is None else f"{group['application']} {group['name']}"
        days = f"{group['first']} to {group['last']}"
        sizes = (f"{group[name]:,}" for name in ("rows", "bytes"))
        rows.append((metric, *sizes, days, group["why"], group["version"]))
    headings = ("metric", "rows", "bytes", "days", "why", "version")
    print_rows(headings, rows, numbers=("rows", "bytes"))


@set_aside_group.command(short_help="Puts rows back into the inbox.")
@store_option
@_version_option
@json_option
def retry(store: str, version: bytes | None, as_json: bool) -> None:
    """Puts rows back into the inbox, from which the server counts them.

    Remove the cause first: register the metric, or upgrade the server. Rows that still cannot be
    counted are set aside again. Servers may run meanwhile, and a command that was interrupted can
    be repeated: each row is counted once.
    """
    _apply("retry", store, version, as_json)


@set_aside_group.command()
@store_option
@_version_option
@click.option("--all", "everything", is_flag=True, help="All rows that were set aside.")
@json_option
def discard(store: str, version: bytes | None, everything: bool, as_json: bool) -> None:
    """Deletes rows for good: their reports are never counted."""
    if (version is None) != everything:
        raise click.UsageError("give --metric-version HEX, or --all")
    _apply("discard", store, version, as_json)


def _apply(
    act: Literal["retry", "discard"], store: str, version: bytes | None, as_json: bool
) -> None:
    """Puts back or deletes the rows of one version of a metric, or all rows."""
    with open_store(store) as opened:
        apply = opened.set_aside.retry if act == "retry" else opened.set_aside.discard
        digests = [group.digest for group in opened.set_aside.groups()]
        rows = sum(
            apply(digest, day=today(), actor=COMMAND_LINE)
            for digest in digests
            if version in {None, digest}
        )
    done = "put back" if act == "retry" else "deleted"
    if as_json:
        print_json({"done": done, "rows": rows})
    else:
        click.echo(f"{done}: {rows:,} rows")


def _as_json(group: SetAsideGroup) -> dict[str, Any]:
    return {
        "version": group.digest.hex(),
        "application": group.application,
        "name": group.name,
        "rows": group.rows,
        "bytes": group.payload_bytes,
        "first": format_day(group.first),
        "last": format_day(group.last),
        "why": "not registered" if group.name is None else "not countable",
    }
