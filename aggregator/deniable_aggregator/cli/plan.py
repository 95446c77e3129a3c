"""``deniable plan``: what a metric will show, before anything ships."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deniable_aggregator.cli.plot import MARKS, WIDTH, log_plot
from deniable_aggregator.planning import (
    DEFAULT_DAYS,
    Plan,
    family_is_large,
    name_of,
    plan,
)
from deniable_shared.disclosure import posterior_from_even_odds
from deniable_shared.fields import MAX_VALUES
from deniable_shared.mechanisms import NUMERIC
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
from deniable_shared.spec import TYPES

if TYPE_CHECKING:
    from deniable_aggregator.planning import Collection

NAME: Final = "planned"
_DRAWN: Final = 6


@click.command("plan")
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
    type=click.IntRange(1),
    metavar="N",
    help="How many strings will be asked for at once.",
)
@click.option("--days", type=click.IntRange(1), default=DEFAULT_DAYS, show_default=True)
@click.option(
    "--width",
    type=click.FloatRange(0, min_open=True),
    metavar="W",
    help="Also: how many devices bring an interval down to ± W: a share such as 0.005, or in the "
    "unit of a number.",
)
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw error against devices, as .svg, .png or .html; needs deniable[charts].",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
        _draw(plans, picture)
    if as_json:
        click.echo(json.dumps({"plans": [each.as_dict() for each in plans]}, indent=2))
    else:
        console = Console(highlight=False)
        for each in plans:
            console.print(_block(each, named=file is not None))
            if len(plans) == 1:
                console.print(f"\n{_plot(each)}", markup=False)
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
    if (kind in NUMERIC) != (ends is not None):
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


def _block(planned: Plan, *, named: bool) -> Table:
    """A plan in words and figures."""
    spec, mechanism = planned.metric.spec, planned.mechanism
    kind = f"{spec.type} of {len(spec.values):,}" if spec.values else spec.type
    if spec.attributes:
        kind = f"{len(spec.attributes)} {spec.type}"
    title = f"{spec.name}: {kind}" if named else kind
    table = Table.grid(padding=(0, 2, 0, 0))
    table.title = (
        f"[bold]{escape(title)}[/bold], epsilon {mechanism.epsilon:.4g}, "
        f"{planned.devices:,} devices"
    )
    table.title_justify, table.title_style = "left", ""
    table.add_column(min_width=10, no_wrap=True)
    table.add_column()
    for name, text in _lines(planned):
        table.add_row(f"  {name}", text)
    return table


def _lines(planned: Plan) -> list[tuple[str, str]]:
    mechanism, refusal = planned.mechanism, planned.refusal
    lines = []
    if refusal is not None:
        ways = [f"{refusal.devices:,} devices"]
        if refusal.epsilon is not None:
            ways.append(f"epsilon {refusal.epsilon:g}")
        lines.append(("[red]refused[/red]", f"{refusal.reason}; nearest: {' or '.join(ways)}"))
    lines += [
        ("mechanism", f"{mechanism.title} ({name_of(mechanism)}); reports of {_bytes(mechanism)}"),
        ("considered", _considered(planned)),
        ("interval", _mean_intervals(planned) if planned.mean else _intervals(planned)),
    ]
    if not planned.mean:
        lines.append(("visible", _visible(planned)))
    if planned.width is not None:
        width = f"{planned.width:.4g}" if planned.mean else f"{planned.width:.4%}"
        what = "the mean" if planned.mean else "a rare item"
        lines.append((f"± {width}", f"for {what}: {planned.devices_for_width:,} devices"))
    if family_is_large(planned):
        lines.append(
            (
                "[yellow]note[/yellow]",
                f"hash collisions that more devices do not average out add {planned.family:.0%} "
                "of the noise if popular items hold much: a sketch has too few rows for so many",
            )
        )
    lines.append(("a year" if planned.collection.days == 365 else "in time", _cost(planned)))
    return lines


def _considered(planned: Plan) -> str:
    """Why this mechanism: what every other would cost."""
    if len(planned.candidates) == 1:
        return "no other"
    parts = [
        f"{name_of(each.mechanism)} {each.excess:.2f} in {_bytes(each.mechanism)}"
        for each in planned.candidates
    ]
    least = planned.metric.spec.type in ("category", "string")
    best = "least possible" if least else "best of these"
    return f"squared error over the {best}: {', '.join(parts)}"


def _intervals(planned: Plan) -> str:
    parts = [
        f"± {width:.2%} for {'a rare item' if share == 0 else f'an item of {share:.0%}'}"
        for share, width in planned.half_widths.items()
    ]
    if planned.metric.spec.type == "boolean":
        parts = parts[1:]
    return ", ".join(parts) + " (95%)"


def _mean_intervals(planned: Plan) -> str:
    """A mean's error bars in the metric's own unit."""
    low, high = (float(end) for end in planned.metric.spec.range or (0, 1))
    parts = [
        f"± {width:.4g} for a mean of {low + place * (high - low):.4g}"
        for place, width in planned.half_widths.items()
    ]
    rest = "; bins and quantiles get theirs by bootstrap, from the reports"
    return ", ".join(parts) + f" (95%){rest if planned.metric.spec.type != 'number' else ''}"


def _visible(planned: Plan) -> str:
    def share(value: float | None) -> str:
        return "none at all" if value is None else f"from {value:.2%} up"

    one = f"an item asked for by itself: {share(planned.visible)}"
    if planned.questions == 1:
        return one
    return f"{one}; {planned.questions:,} at once: {share(planned.visible_of_all)}"


def _cost(planned: Plan) -> str:
    collection: Collection = planned.collection
    count = "1 report" if collection.reports == 1 else f"{collection.reports:,} reports"
    text = f"{count} in {collection.days:,} days: epsilon {collection.epsilon:.4g} in all"
    if collection.epsilon_unchanged < collection.epsilon:
        text += f", {collection.epsilon_unchanged:.4g} while the value stays the same"
    sure = f"{posterior_from_even_odds(collection.epsilon_unchanged):.2%}"
    text += (
        f" (even odds become at most {sure} sure)" if sure != "100.00%" else " (nothing is hidden)"
    )
    if collection.budget_days is not None and collection.budget_days < collection.days:
        text += f"; the life's budget ends it after {collection.budget_days:,} days"
    return text


def _bytes(mechanism: Any) -> str:
    return "1 byte" if mechanism.report_bytes == 1 else f"{mechanism.report_bytes:,} bytes"


def _draw(plans: list[Plan], path: Path) -> None:
    try:
        from deniable_aggregator.charts import plans_chart, save
    except ImportError as error:
        raise click.ClickException(
            "pictures need an extra: pip install 'deniable[charts]'"
        ) from error
    save(plans_chart(plans), path)


def _short(value: float) -> str:
    """A power of ten in a few characters."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.0f}{name}"
    return f"{value:g}"


def _plot(planned: Plan) -> str:
    """Error against devices for the best candidates, the metric's own first."""
    drawn = sorted(planned.candidates, key=lambda each: not each.chosen)[:_DRAWN]
    picture = log_plot(
        [each.half_width for each in drawn],
        *planned.devices_shown,
        x_label=_short,
        y_label=lambda value: f"±{value:.4g}" if planned.mean else f"±{100 * value:g}%",
    )
    legend = [f"{mark} {name_of(each.mechanism)}" for mark, each in zip(MARKS, drawn, strict=False)]
    what = "the mean's" if planned.mean else "a rare item's"
    caption = f"{what} 95% interval over the number of devices: {', '.join(legend)}"
    indent = " " * 10
    wrapped = textwrap.fill(caption, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"{picture}\n{wrapped}"
