"""``deniable relay``."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.doors.cli.output import json_option, print_json, print_rows
from deniable_aggregator.doors.cli.parameters import IntegerIn
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.doors.relay.settings import RelaySettings

VARIABLE: Final = "DENIABLE_RELAY_TOKEN"
"""The relay's own key is in the environment, as other users of a machine can see options."""

FILE: Final = "relay.db"


@click.command()
@click.option(
    "--to",
    "aggregator",
    metavar="URL",
    help="The aggregator's address, such as https://telemetry.example.org; http:// only on this "
    "machine.",
)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="KEY",
    help="The key in [relay] of the application's metrics.toml, to which devices seal. Give it "
    "again for each further one while versions with different keys are in use.",
)
@click.option(
    "--every",
    type=click.Choice(["week", "day"]),
    default="week",
    show_default=True,
    help="Close on Mondays, or every day, at 0 h UTC; as in [relay] of metrics.toml.",
)
@click.option(
    "--batch",
    "least",
    type=IntegerIn(1, 2**31 - 1),
    default=1_000,
    show_default=True,
    help="The fewest that are forwarded together. Where fewer wait at a close, all wait on.",
)
@click.option(
    "--store",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=FILE,
    show_default=True,
    help="The file that holds what waits; created if absent.",
)
@click.option(
    "--max-bytes",
    "most_bytes",
    type=IntegerIn(1 << 20, 1 << 40),
    default=4 << 30,
    show_default=True,
    help="How large this file may become, while 64 MiB of the disk stay free. Beyond it devices "
    "keep their reports (507).",
)
@click.option(
    "--rate-limit",
    default="",
    help="How many all devices together may send, such as 100000/minute; no limit by default, as "
    "the proxy in front limits each address.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=IntegerIn(1, 65_535),
    default=8_788,
    show_default=True,
    help="The TCP port to listen on.",
)
@click.option(
    "--metrics-port",
    type=IntegerIn(0, 65_535),
    default=0,
    show_default=True,
    help="The TCP port of this machine that Prometheus reads /metrics from; 0 for none.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The form of log lines, which have no time and no address.",
)
@click.option("--show", is_flag=True, help="Say what the file holds and has done, and end.")
@json_option
@click.option(
    "--end-with",
    "parent",
    metavar="PID",
    type=IntegerIn(1),
    help="End when this process, which started the relay, has ended: for tests.",
)
def relay(path: Path, show: bool, as_json: bool, parent: int | None, **given: Any) -> None:
    """Stands between devices and an aggregator, so that reports come without addresses and times.

    Devices seal each report to the aggregator and send it here. The relay cannot open it. It keeps
    it in one file, without address, time or order, acknowledges it, and at the next close forwards
    all that wait, ordered by random tags. So a report hides among all others of the week: at
    epsilon 4, as at .755 among 10,000 honest ones, and as at .215 among 100,000. This holds as long
    as the relay and the aggregator do not work together: somebody else should run it.

    \b
    Whoever runs the aggregator
      deniable relay-key create             makes the key that devices seal to
      deniable keys create --scope relay --application NAME
                                            makes the key of the relay
    and gives both to whoever runs the relay:
      export DENIABLE_RELAY_TOKEN=...         the key of the relay
      deniable relay --to https://telemetry.example.org --key x25519:...

    Where fewer than --batch wait at a close, all wait for the next. After two weekly or nine daily
    closes they are dropped and counted: a batch is never smaller. While the aggregator is away, a
    closed batch waits, and is offered up to once an hour. Weekly closes need accept_days = 21 at
    the aggregator.

    It listens on 127.0.0.1 unless told otherwise: put a reverse proxy in front that does TLS,
    limits each address, and logs nothing. GET /v1/batches says how large batches were.
    """  # noqa: D301  click reads the backslash as a sign
    if show:
        _show(path, as_json)
        return
    if as_json:
        raise click.UsageError("--json is for --show")
    settings = _settings(path, **given)
    # Imported here, so that help and completion do without the server.
    from logging.config import dictConfig

    from deniable_aggregator.doors.relay.serving import serve_relay
    from deniable_aggregator.doors.server.log_format import logging_config
    from deniable_aggregator.doors.server.supervision import end_with_parent

    if parent is not None:
        end_with_parent(parent, signal.SIGTERM)
    dictConfig(logging_config(settings.server.log_format, settings.server.log_level))
    serve_relay(settings)


def _settings(
    path: Path,
    *,
    aggregator: str | None,
    keys: tuple[str, ...],
    every: Any,
    least: int,
    most_bytes: int,
    **server: Any,
) -> RelaySettings:
    """What was typed, checked.

    Raises:
        click.UsageError: if something is missing, or wrong.
    """
    from deniable_aggregator.asking.credentials import Token, check_server
    from deniable_aggregator.doors.relay.settings import RelaySettings
    from deniable_aggregator.keeping.settings import Settings
    from deniable_shared.sealing import parse_public_key

    if aggregator is None:
        raise click.UsageError("--to must be given")
    if not keys:
        raise click.UsageError("--key must be given")
    if not os.environ.get(VARIABLE):
        raise click.UsageError(f"{VARIABLE} must be a key of deniable keys create --scope relay")
    try:
        return RelaySettings(
            path,
            _checked(check_server(aggregator)),
            Token(os.environ[VARIABLE]),
            tuple(map(parse_public_key, keys)),
            every,
            least,
            most_bytes,
            Settings(**server),
        )
    except ParameterError as error:
        raise click.UsageError(str(error)) from None


def _checked(server: str) -> str:
    """The aggregator's address, on the way to which nobody can read the key of the relay.

    Raises:
        ParameterError: if it is http:// to another machine.
    """
    from urllib.parse import urlsplit

    from deniable_shared.addresses import is_this_machine

    parts = urlsplit(server)
    if parts.scheme == "http" and not is_this_machine(parts.netloc):
        constraint = "https://, or http:// to this machine: the key of the relay is sent"
        raise ParameterError("--to", constraint, server)
    return server


def _show(path: Path, as_json: bool) -> None:
    """Prints what a file holds, also while a relay has it."""
    from deniable_aggregator.doors.relay.envelopes import look_into
    from deniable_aggregator.doors.relay.serving import batch_rows

    totals, closings = look_into(path)
    batches = batch_rows(closings)
    if as_json:
        print_json({**totals._asdict(), "batches": batches})
        return
    counts = {
        "acknowledged": totals.accepted,
        "wait for a close": totals.waiting,
        "wait for the aggregator": totals.forwarding,
        **{f"forwarded: {name}": number for name, number in totals.forwarded.items()},
        **{f"dropped: {name}": number for name, number in totals.dropped.items()},
    }
    print_rows(
        ("envelopes", "number"),
        [(name, f"{number:,}") for name, number in counts.items()],
        numbers={"number"},
    )
    if batches:
        click.echo()
        print_rows(
            ("close", "size", "dropped"),
            [(each["day"], f"{each['size']:,}", f"{each['dropped']:,}") for each in batches],
            numbers={"size", "dropped"},
        )
