"""``deniable plan``: what a metric will show, before anything ships."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from deniable_aggregator.cli.render.output import (
    import_charts,
    json_option,
    picture_option,
    print_json,
)
from deniable_aggregator.cli.render.plan_table import plan_plot, plan_table
from deniable_aggregator.planning import DEFAULT_DAYS, plan
from deniable_shared.fields import MAX_VALUES
from deniable_shared.periods import EVERY
from deniable_shared.registry import (
    DEFAULT_DEVICES,
    MAX_DEVICES,
    MAX_EPSILON_LIFETIME,
    MAX_EPSILON_PER_DAY,
    Registry,
    load,
    parse,
)
from deniable_shared.spec import TYPES, TYPES_WITH_RANGE

NAME: Final = "planned"
MAX_CANDIDATES: Final = 10**12
MAX_DAYS: Final = 36_525
WIDTHS: Final = (1e-100, 1e100)
"""Between these no figure overflows."""


def _checked_width(
    _context: click.Context, _parameter: click.Parameter, width: float | None
) -> float | None:
    if width is not None and not WIDTHS[0] <= width <= WIDTHS[1]:
        raise click.BadParameter(f"must be in [{WIDTHS[0]:g}, {WIDTHS[1]:g}], got {width!r}")
    return width


@click.command("plan", short_help="Says beforehand what metrics will show, and at what cost.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--type", "kind", type=click.Choice(TYPES), help="Instead of FILE: one metric.")
@click.option("--values", type=click.IntRange(2), metavar="N", help="How many categories.")
@click.option(
    "--range",
    "ends",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Of a number or distribution.",
)
@click.option("--epsilon", metavar="E", help="Privacy loss of one report, in nats.")
@click.option("--every", type=click.Choice(EVERY), help="How often a device may report.")
@click.option(
    "--devices",
    type=click.IntRange(1, MAX_DEVICES),
    metavar="N",
    help="How many report; otherwise what FILE expects.",
)
@click.option(
    "--candidates",
    type=click.IntRange(1, MAX_CANDIDATES),
    metavar="N",
    help="How many strings will be asked for at once.",
)
@click.option(
    "--days",
    type=click.IntRange(1, MAX_DAYS),
    default=DEFAULT_DAYS,
    show_default=True,
    metavar="N",
    help="For how many days devices report.",
)
@click.option(
    "--width",
    type=float,
    callback=_checked_width,
    metavar="W",
    help="Also: how many devices bring an interval down to ± W: a share such as 0.005, or in the "
    "unit of a number.",
)
@picture_option
@json_option
def plan_command(
    file: Path | None,
    kind: str | None,
    values: int | None,
    ends: tuple[float, float] | None,
    epsilon: str | None,
    every: str | None,
    devices: int | None,
    candidates: int | None,
    days: int,
    width: float | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Says what the metrics of FILE will show, or one metric given by options.

    For each: the mechanism and why; the size of a report; how wide intervals will be; which items
    will be seen; and what reporting again and again costs. A metric that cannot even show an item
    that 10% of the devices hold is refused, with the nearest setting that can; the exit status is
    then 1.

    \b
        deniable plan metrics.toml
        deniable plan --type category --values 50 --epsilon 1 --devices 100000
        deniable plan --type string --epsilon 2 --devices 1000000 --width 0.001
        deniable plan --type number --range 0 30 --epsilon 1 --devices 20000
    """  # noqa: D301  click reads the backslash as a sign
    if file is None:
        asked = _fields(kind, values, ends, epsilon)
        registry = _registry([*asked, f'every = "{every or "day"}"'], devices or DEFAULT_DEVICES)
    elif kind or values or ends or epsilon or every:
        raise click.UsageError("FILE says type, values, range, epsilon and every itself")
    else:
        registry = load(file)
    plans = [
        plan(
            metric,
            devices=devices,
            questions=candidates if metric.spec.type == "string" else None,
            days=days,
            width=width,
            budget=None if file is None else registry.budget,
        )
        for metric in registry.metrics.values()
    ]
    if picture is not None:
        drawing = import_charts()
        drawing.save(drawing.plans_chart(plans), picture)
    if as_json:
        print_json({"plans": [each.as_dict() for each in plans]})
    else:
        console = Console(highlight=False)
        for each in plans:
            console.print(plan_table(each, named=file is not None))
            if len(plans) == 1:
                console.print(f"\n{plan_plot(each)}", markup=False)
            console.print()
    if any(each.refusal for each in plans):
        raise SystemExit(1)


def _fields(
    kind: str | None, values: int | None, ends: tuple[float, float] | None, epsilon: str | None
) -> list[str]:
    """The lines of a registry file that describe one metric given by options."""
    if kind is None or epsilon is None:
        raise click.UsageError("give FILE, or --type and --epsilon")
    if kind == "attributes":
        raise click.UsageError("attributes need a FILE: they have names and domains")
    if (kind == "category") != (values is not None):
        raise click.UsageError("--values belongs to --type category")
    if (kind in TYPES_WITH_RANGE) != (ends is not None):
        raise click.UsageError("--range belongs to --type number and distribution")
    if values is not None and values > MAX_VALUES:
        raise click.UsageError(
            f"a category has at most {MAX_VALUES:,} values: plan --type string for more"
        )
    try:
        number = float(epsilon)
    except ValueError as error:
        raise click.UsageError(f"--epsilon must be a number, got {epsilon!r}") from error
    lines = [f'type = "{kind}"', f"epsilon = {number!r}"]
    if values is not None:
        lines.append(f"values = {json.dumps([f'item {index}' for index in range(values)])}")
    if ends is not None:
        lines.append(f"range = [{ends[0]!r}, {ends[1]!r}]")
    return lines


def _registry(fields: list[str], devices: int) -> Registry:
    """The registry with one metric."""
    lines = [
        'registry = 1\napplication = "plan"',
        f"[budget]\nepsilon_per_day = {MAX_EPSILON_PER_DAY}",
        f"epsilon_lifetime = {MAX_EPSILON_LIFETIME}",
        f"[metrics.{NAME}]\nexpected_devices = {devices}",
        *fields,
    ]
    return parse("\n".join(lines), name="options")
