"""``deniable cost``: what a registry costs a device over time, by every way to add it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from deniable_aggregator.doors.cli.output import json_option, picture_option, print_json
from deniable_aggregator.doors.cli.parameters import READABLE_FILE, IntegerIn, NumberIn
from deniable_aggregator.doors.cli.server_options import optional_source_options
from deniable_shared.accounting import DEFAULT_DELTA
from deniable_shared.planning.budget import DAYS_OF_A_YEAR, MOST_DAYS
from deniable_shared.registry import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deniable_aggregator.asking.http_source import HttpSource

MOST_DEVICES: Final = 1_000
MOST_SHUFFLED: Final = 10**9


def _check_delta(_context: click.Context, _parameter: click.Parameter, delta: float) -> float:
    """Refuses what is no probability below 1; written so that NaN fails.

    Raises:
        click.BadParameter: if it is none.
    """
    if not 0 <= delta < 1:
        raise click.BadParameter(f"must be a number in [0, 1), got {delta!r}")
    return delta


@click.command()
@click.argument("file", type=READABLE_FILE)
@click.option(
    "--days",
    type=IntegerIn(1, MOST_DAYS),
    default=DAYS_OF_A_YEAR,
    show_default=True,
    help="For how many days in a row a device reports as often as it may.",
)
@click.option(
    "--delta",
    type=NumberIn(),
    default=DEFAULT_DELTA,
    show_default=True,
    callback=_check_delta,
    help="Of all figures but the sum; 0 leaves the sum only.",
)
@click.option(
    "--shuffled",
    type=IntegerIn(1, MOST_SHUFFLED),
    metavar="N",
    help="Also: what it would cost if N honest reports of each metric and period were shuffled.",
)
@click.option(
    "--devices-per-person",
    "devices",
    type=IntegerIn(1, MOST_DEVICES),
    default=1,
    show_default=True,
    metavar="C",
    help="How many devices of one person hold the same values.",
)
@click.option(
    "--relayed",
    is_flag=True,
    help="Instead: what the reports that a server has got through a relay cost, metric by metric.",
)
@picture_option
@json_option
@optional_source_options
@click.pass_context
def cost(
    context: click.Context,
    file: Path,
    days: int,
    delta: float,
    shuffled: int | None,
    devices: int,
    relayed: bool,
    picture: Path | None,
    as_json: bool,
    ask: Callable[[], HttpSource],
) -> None:
    """Says what the metrics of FILE cost a device over time: each by itself, and together.

    An epsilon is stated of one report. Of a year of them there are four upper bounds: the sum;
    advanced composition, which knows epsilon only; Renyi composition and exact composition, which
    know how often a report of this mechanism tells how much, and so are smaller. All but the sum
    have a delta: no event is more than e^epsilon times as probable for one history of
    values as for another, plus delta. A device counts by the sum, and stops at the lifetime budget
    of FILE.

    Everything is computed from FILE: no server is asked, and no report is looked at. Only with
    --relayed a server says in how large groups the reports of the last weeks came through a relay,
    so that it is known how well they hid there.

    \b
        deniable cost metrics.toml
        deniable cost metrics.toml --days 30 --delta 1e-9
        deniable cost metrics.toml --devices-per-person 3
        deniable cost metrics.toml --shuffled 100000
        deniable cost metrics.toml --picture account.svg
        deniable cost metrics.toml --relayed --token READ_TOKEN

    --shuffled says what a shuffler would be worth to a person with one device. A relay is one for
    whoever does not work together with it; for all others, the other figures hold.
    """  # noqa: D301  click reads the backslash as a sign
    from deniable_aggregator.counting.account import account_of
    from deniable_aggregator.doors.cli.account_text import account_picture, print_account
    from deniable_aggregator.doors.cli.output import save_picture
    from deniable_aggregator.doors.cli.server_options import progress_bar

    if shuffled is not None and devices > 1:
        raise click.UsageError(
            "--devices-per-person must be 1 with --shuffled: reports of one person that are "
            f"shuffled together do not add up as those of single devices do, got {devices}"
        )
    registry = load(file)
    if relayed:
        _refuse_other_options(context)
        _print_relayed(sorted(registry.metrics), ask(), as_json=as_json)
        return
    with progress_bar("compose") as show:
        found = account_of(
            registry,
            days=days,
            delta=delta,
            devices_per_person=devices,
            shuffled_among=shuffled,
            progress=show,
        )

    if picture is not None:
        save_picture(account_picture(found), picture)
    if as_json:
        print_json(found.as_dict())
    else:
        print_account(found)


_OF_A_YEAR: Final = ("days", "delta", "shuffled", "devices", "picture")


def _refuse_other_options(context: click.Context) -> None:
    """Refuses what is about a year of reports.

    Raises:
        click.UsageError: naming an option that was given.
    """
    for name in _OF_A_YEAR:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = "devices-per-person" if name == "devices" else name
            raise click.UsageError(f"--{option} is not given with --relayed")


def _print_relayed(metrics: Sequence[str], source: HttpSource, *, as_json: bool) -> None:
    """Prints what relayed reports of the last weeks cost, a paragraph for each metric."""
    from deniable_aggregator.asking.dates import utc_today
    from deniable_aggregator.asking.relayed import ask_relayed
    from deniable_aggregator.media.console import literal_text, print_lines
    from deniable_aggregator.media.terminal import print_table
    from deniable_aggregator.telling.relayed import relayed_sentences, relayed_table

    answers = [answer for metric in metrics if (answer := ask_relayed(source, metric, utc_today()))]
    if as_json:
        print_json({"metrics": answers})
        return
    if any(version.hidden for answer in answers for version in answer.versions):
        print_table(relayed_table(answers))
    for answer in answers:
        print_lines(["", *map(literal_text, relayed_sentences(answer))])
    if not answers:
        print_lines(["No metric has reports of the last weeks."])
