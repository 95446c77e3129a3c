"""``deniable simulate``: a registry on a population, before anything ships."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from deniable_aggregator.asking.profiles import BATCH_KEY, TOKEN
from deniable_aggregator.doors.cli.output import json_option, picture_option, print_json
from deniable_aggregator.doors.cli.parameters import (
    READABLE_FILE,
    IntegerIn,
    NumberIn,
    complete_day,
    day,
)
from deniable_aggregator.doors.cli.server_options import progress_bar
from deniable_aggregator.simulating import FORGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from datetime import date

    from deniable_aggregator.simulating.destinations import DevelopmentServer, NewStore
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.randomizing import Answering
    from deniable_aggregator.simulating.scenario import Scenario
    from deniable_aggregator.simulating.simulation import Simulated

MOST_DEVICES: Final = 100_000_000
MOST_DAYS: Final = 400
CHART_ROWS: Final = 12
PERCENT: Final = 100.0


def _percent(_context: click.Context, _parameter: click.Parameter, percent: float) -> float:
    """A part of 1."""
    return percent / PERCENT


def _day_option(name: str, help_text: str) -> Callable[[Any], Any]:
    return click.option(
        name, metavar="DATE", type=day, shell_complete=complete_day, default=None, help=help_text
    )


def _percent_option(
    name: str, least: float, most: float, default: float, help_text: str
) -> Callable[[Any], Any]:
    return click.option(
        name,
        metavar="PERCENT",
        type=NumberIn(least, most),
        default=default,
        show_default=True,
        callback=_percent,
        help=help_text,
    )


@click.command()
@click.argument("files", metavar="FILE...", type=READABLE_FILE, nargs=-1, required=True)
@click.option(
    "--devices",
    type=IntegerIn(1, MOST_DEVICES),
    default=50_000,
    show_default=True,
    help="How many devices there are. Each reports each metric once, on one of the days.",
)
@click.option(
    "--days",
    type=IntegerIn(1, MOST_DAYS),
    default=28,
    show_default=True,
    help="For how many days.",
)
@_day_option(
    "--until",
    "The last day; if left out, yesterday, or with a relay the day by which it has closed on all.",
)
@click.option(
    "--priors",
    type=READABLE_FILE,
    help="How common values are: lines of metric, value and share, as deniable check reads them; "
    "of a number the value is a number. Without it they are made up.",
)
@click.option(
    "--seed",
    type=IntegerIn(0),
    default=1,
    show_default=True,
    help="The same seed, the same population and noise; another one, others.",
)
@click.option(
    "--store",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Keep everything in this new SQLite file, to explore; else it is deleted.",
)
@click.option(
    "--server",
    metavar="ADDRESS",
    help="Send everything to a server that deniable serve --development has started, and ask it; "
    "with the keys that it has printed, in DENIABLE_BATCH_KEY and DENIABLE_TOKEN.",
)
@_percent_option("--growth", -50, 100, 0.0, "By how much the number of devices grows in a week.")
@_percent_option(
    "--weekends", 0, 1_000, 60.0, "How much a Saturday or Sunday brings, of another day."
)
@click.option(
    "--change",
    "points",
    metavar="POINTS",
    type=NumberIn(0, 50),
    default=5.0,
    show_default=True,
    help="By how much the second most common value of each metric becomes more common, in points; "
    "numbers by so many percent; 0 for no change.",
)
@_day_option("--change-on", "The day of the change; if left out, the last quarter begins with it.")
@_percent_option("--late", 0, 100, 5.0, "How many reports come two days late.")
@_day_option("--outage", "A day whose reports are all lost.")
@click.option(
    "--forge",
    metavar="METRIC=VALUE",
    help="Somebody forges reports of this value, with the key of 2% of the devices.",
)
@click.option(
    "--forger",
    type=click.Choice(FORGERS),
    default="naive",
    show_default=True,
    help="naive: one report again and again, on three days. patient: fresh ones, on all days. "
    "upload: fresh ones, on one day.",
)
@_percent_option("--forged", 0, 1_000, 10.0, "How many are forged, of the honest ones.")
@picture_option
@json_option
def simulate(
    files: tuple[Path, ...],
    until: date | None,
    weekends: float,
    points: float,
    forge: str | None,
    forged: float,
    store: Path | None,
    server: str | None,
    picture: Path | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Tries a registry on simulated devices, and shows what an analyst will see.

    Every report is made by the client's own randomizers, and counted by the aggregator. Then the
    ordinary questions are asked, and each estimate stands beside the truth: which values are told
    from zero, how wide intervals are, which change would have been seen. If too little is seen,
    change FILE and simulate again.

    Several files are versions of one application, the oldest first: they are released one after
    the other, and each spreads within twelve days.

    With a table [relay], each report is dated, sealed and sent as by a device, also by the 5% whose
    clocks are up to a day wrong; a relay holds it until its close, and the epsilon of the crowd is
    stated.

    \b
        deniable simulate metrics.toml
        deniable simulate metrics.toml --devices 5000 --days 7
        deniable simulate metrics.toml --priors shares.csv --picture week.svg
        deniable simulate old.toml new.toml --growth 3 --outage 2026-01-14
        deniable simulate metrics.toml --forge theme=dark --forger patient
        deniable simulate metrics.toml --store simulated.db
        deniable serve --store simulated.db

    Noise is drawn from --seed, so that a simulation can be repeated. Only this command can do
    that: devices draw from their operating system, whatever anybody sets. Answers and pages of the
    store that it leaves say that it is simulated.
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.doors.relay.simulated import RelayedStore
    from deniable_aggregator.simulating.destinations import KEY, NewStore
    from deniable_aggregator.simulating.scenario import KEYS, Scenario, prepared
    from deniable_aggregator.simulating.simulation import simulated

    if server is not None and store is not None:
        raise click.UsageError("give --store or --server, not both")
    if server is not None and files[1:]:
        raise click.UsageError(
            f"with --server give the file that it was started with alone, got {len(files)}"
        )
    scenario = Scenario(
        files=files,
        until=until,
        weekend_volume=weekends,
        change_points=points,
        forged=forge,
        forged_part=forged,
        keys=KEYS if server is None else {KEY: 1.0},
        **options,
    )
    plan = prepared(scenario)
    if plan.deployment.relay is not None and server is not None:
        raise click.UsageError(
            "with --server give a file without [relay], whose key only a relay's operator has"
        )
    with _destination(plan.deployment, store, server) as to, progress_bar("simulate") as show:
        found = simulated(scenario, plan, to, show)
    if picture is not None:
        _draw(found, picture)
    if as_json:
        print_json(found.data())
        return
    _print(found, scenario, drawn=picture)
    if store is not None:
        assert isinstance(to, (NewStore, RelayedStore)), "this is where it went"
        _say_how_to_explore(found, store, to.read_token)


@contextmanager
def _destination(
    deployment: Deployment, store: Path | None, server: str | None
) -> Iterator[Answering]:
    """Where reports go: a server, a new store, or one in a folder that is deleted."""
    from deniable_aggregator.simulating.destinations import new_store

    if server is not None:
        with closing(_server(server)) as development:
            development.check_days(deployment.date_of(0), deployment.date_of(deployment.last))
            yield development
    elif store is not None:
        with new_store(store, deployment) as kept:
            with _relayed(kept, deployment) as destination:
                yield destination
            kept.settle()
    else:
        with (
            tempfile.TemporaryDirectory(prefix="deniable-simulate-") as folder,
            new_store(Path(folder) / "simulated.db", deployment) as temporary,
            _relayed(temporary, deployment) as destination,
        ):
            yield destination


def _relayed(store: NewStore, deployment: Deployment) -> AbstractContextManager[Answering]:
    """A store, with a relay before it if the newest version has one."""
    from deniable_aggregator.doors.relay.simulated import behind_relay

    return nullcontext(store) if deployment.relay is None else behind_relay(store, deployment)


def _server(address: str) -> DevelopmentServer:
    """The server, asked with the keys of the environment.

    Raises:
        click.UsageError: if there are none.
    """
    from deniable_aggregator.simulating.destinations import DevelopmentServer

    for name in (BATCH_KEY, TOKEN):
        if not os.environ.get(name):
            raise click.UsageError(
                f"with --server, {name} must be set as deniable serve --development prints it"
            )
    return DevelopmentServer(address, os.environ[BATCH_KEY], os.environ[TOKEN])


def _print(found: Simulated, scenario: Scenario, *, drawn: Path | None) -> None:
    from deniable_aggregator.media.console import print_lines
    from deniable_aggregator.media.terminal import print_table
    from deniable_aggregator.simulating.summary import health_line, introduction

    print_lines(found.introduction(scenario))
    for shown in found.shown:
        print_lines(["", *introduction(shown), *filter(None, [health_line(shown)])])
        for table in shown.tables():
            print_table(table)
        print_lines(shown.lines())
    print_lines(["", *found.conclusion()])
    if drawn is not None:
        print_lines([f"Picture: {drawn}"])


def _draw(found: Simulated, picture: Path) -> None:
    from deniable_aggregator.media.pictures.files import save

    note = save(found.figures(CHART_ROWS), picture, columns=2)
    if note is not None:
        click.echo(f"{picture}: {note}", err=True)


def _say_how_to_explore(found: Simulated, store: Path, token: str) -> None:
    click.echo(
        f"\nEverything is in {store}. In two terminals:\n\n"
        f"  deniable serve --store {shlex.quote(str(store))}\n\n"
        f"  export {TOKEN}={token}\n"
        f"  deniable estimate {found.deployment.metrics[0]}\n\n"
        f"{TOKEN} also signs you in to the pages of the server."
    )
