"""``deniable metrics history``: every registered version, and what an application ships beside."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.answers.registry_history import Compared, RegistryHistory
from deniable_aggregator.asking.questions import REGISTRY_HISTORY
from deniable_aggregator.doors.cli.output import json_option, print_json
from deniable_aggregator.doors.cli.parameters import READABLE_FILE
from deniable_aggregator.doors.cli.server_options import optional_source_options
from deniable_aggregator.doors.cli.store_option import (
    named_sources,
    open_store,
    store_instead_of_server_option,
    store_is_meant,
)
from deniable_shared.characters import visible
from deniable_shared.nearest import did_you_mean
from deniable_shared.registry import Registry, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deniable_aggregator.asking import HttpSource


MOST_NAMED: Final = 10
"""Of the applications of a store, for somebody who named another."""

_HEAD: Final = re.compile("[0-9a-fA-F]{64}")


@click.command()
@click.option(
    "--compare",
    type=READABLE_FILE,
    metavar="FILE",
    help="Say of each metric of this registry file whether and when it was registered.",
)
@click.option(
    "--head",
    metavar="HEX",
    help="The head that was printed earlier, all 64 digits of it: it must be in the history.",
)
@click.option(
    "--from",
    "file",
    type=READABLE_FILE,
    help="Read the history from a file: what --json printed, or history.json of a public page.",
)
@click.option(
    "--application",
    metavar="NAME",
    help="Which application, with --store. Default: the one in the --compare file.",
)
@store_instead_of_server_option
@optional_source_options
@json_option
@click.pass_context
def history(
    context: click.Context,
    compare: Path | None,
    head: str | None,
    file: Path | None,
    application: str | None,
    store: str | None,
    ask: Callable[[], HttpSource],
    as_json: bool,
) -> None:
    """Shows every version of every metric that was ever registered, and when.

    Entries are chained by hashes and are never changed or deleted, also if a metric is removed. The
    chain is checked first. Keep the head that is printed, or publish it: from the entries alone
    nobody can tell whether the chain's end was cut off, or all of it written anew.

    With --compare FILE, the registry that an application ships, each of its metrics is looked up:
    the digest of what devices do must be one that was registered. The status is 1 if one is not.

    \b
        deniable metrics history
        deniable metrics history --compare metrics.toml
        deniable metrics history --json > history.json
        deniable metrics history --from history.json --head HEX
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.answers import registry_history

    if head is not None and not _HEAD.fullmatch(head):
        raise click.UsageError(
            f"--head must be the 64 hexadecimal digits that were printed, got {visible(head)!r}"
        )
    shipped = None if compare is None else load(compare)
    if file is not None:
        if named_sources(context):
            raise click.UsageError("give --from, or a store or a server, not both")
        found = _read(file)
    elif store_is_meant(context):
        assert store is not None
        found = _in_store(store, application, shipped)
    else:
        found = ask().ask(REGISTRY_HISTORY)
    if application is not None and application != found.application:
        raise click.UsageError(
            f"--application must be {visible(found.application)}, whose history this is, got "
            f"{visible(application)}"
        )
    if shipped is not None and shipped.application != found.application:
        raise click.UsageError(
            f"--compare must be a registry of {visible(found.application)}, got one of "
            f"{visible(shipped.application)}"
        )
    try:
        registry_history.check_history(found, head)
    except registry_history.BrokenHistoryError as error:
        raise click.ClickException(visible(f"{error}.")) from None
    compared = None if shipped is None else registry_history.compare(found, shipped)
    if as_json:
        print_json(found if compared is None else _compared_json(found, compared))
    else:
        _print(found, compared)
    if not all(each.standing in ("newest", "earlier") for each in compared or ()):
        sys.exit(1)


def _in_store(store: str, application: str | None, shipped: Registry | None) -> RegistryHistory:
    name = application or (shipped and shipped.application)
    if not name:
        raise click.UsageError("--application must say whose registry it is, got nothing")
    with open_store(store) as opened:
        found = opened.metrics.history(name)
        known = [] if found.entries else opened.metrics.applications()
    if known:
        listed = ", ".join(known[:MOST_NAMED]) + (", ..." if known[MOST_NAMED:] else "")
        raise click.ClickException(
            f"the store has never had a metric of {visible(name)!r}.{did_you_mean(name, known)} "
            f"It has those of {listed}."
        )
    return found


def _read(file: Path) -> RegistryHistory:
    import msgspec

    try:
        return msgspec.json.decode(file.read_bytes(), type=RegistryHistory)
    except msgspec.MsgspecError as error:
        raise click.ClickException(
            f"{file}: must be what deniable metrics history --json prints: {visible(str(error))}"
        ) from None


def _compared_json(history: RegistryHistory, compared: Sequence[Compared]) -> dict[str, Any]:
    metrics = [
        {
            "metric": each.metric,
            "version": each.version,
            "standing": each.standing,
            "registered": each.entry and each.entry.day,
            "sequence": each.entry and each.entry.sequence,
        }
        for each in compared
    ]
    return {"application": history.application, "head": history.head, "metrics": metrics}


def _print(history: RegistryHistory, compared: Sequence[Compared] | None) -> None:
    from deniable_aggregator.media.console import print_lines
    from deniable_aggregator.media.terminal import print_table
    from deniable_aggregator.telling.administration import comparison_table, history_table
    from deniable_aggregator.telling.wording import counted

    if compared is None:
        if history.entries:
            print_table(history_table(history))
        else:
            print_lines([f"Nothing was ever registered for {history.application}."])
    else:
        print_table(comparison_table(compared))
    print_lines(
        [
            f"{counted(len(history.entries), 'entry', 'entries')}, the chain of hashes is intact; "
            f"head: {history.head}"
        ]
    )
