"""``deniable metrics check``: what a registry file means for privacy, before anything ships."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from deniable_aggregator.cli.render.output import json_option, print_json
from deniable_aggregator.planning.candidates import EXTREME_PLACES, family_variance
from deniable_shared.disclosure_figures import (
    Z,
    bits_revealed,
    devices_for_width,
    devices_to_detect,
    posterior_from_even_odds,
)
from deniable_shared.mechanisms import (
    GroupedBins,
    NumericMechanism,
    SampledAttribute,
    Sketch,
    SquareWave,
)
from deniable_shared.mechanisms.sketch import FAMILY_TO_NOISE
from deniable_shared.registry import Metric, Registry, load

if TYPE_CHECKING:
    from deniable_shared.mechanisms import Mechanism
    from deniable_shared.spec import Spec

SEEN_SHARE: Final = 0.01
MEAN_WIDTH: Final = 0.01
"""Half the width of a mean's interval, as a part of the range, that devices are counted for."""

MAX_DAYS: Final = 10_000_000
"""Longer than any budget of epsilons that a registry may name can last."""

_OFTEN: Final = {
    "day": "at most one report a device and day",
    "week": "at most one report a device and week",
    "month": "at most one report a device and month",
    "once": "at most one report a device, ever",
}
_DAYS: Final = {"day": 1, "week": 7, "month": 30}
_COMES_AND_GOES: Final = (
    "values come and go where absence is reported, so changes, which memory does not hide, are the "
    'rule: consider repeat = "fresh"'
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def check(file: Path, as_json: bool) -> None:
    """Checks FILE and says what each metric can reveal.

    For each metric: its mechanism; the exact epsilon of one report, in nats, and of all reports of
    one unchanged value, and of all reports ever where a device has only so many permanent answers;
    how certain one report can make somebody who thought two values equally likely, and how many
    bits it can reveal about anything; the size of a report; and how many devices make an item
    visible that 1% of them hold (80% power, 5% false alarms), or bring a mean to within 1% of its
    range (95% interval). Gaussian noise also has a delta, the probability that a report reveals
    more than its epsilon.

    All problems of the file are listed at once, and the exit status is then 1.
    """
    registry = load(file)
    if as_json:
        print_json(describe(registry))
        return
    console = Console(highlight=False)
    console.print(
        f"{escape(str(file))}: application [bold]{registry.application}[/bold], no problems\n"
    )
    for metric in registry.metrics.values():
        console.print(_block(metric))
    for line in _budget_lines(registry):
        console.print(line)


def describe(registry: Registry) -> dict[str, Any]:
    """The same as JSON data."""
    return {
        "application": registry.application,
        "budget": {
            "epsilon_per_day": registry.budget.epsilon_per_day,
            "epsilon_lifetime": registry.budget.epsilon_lifetime,
            "epsilon_on_the_busiest_day": _busiest_day(registry),
            "days_until_lifetime_is_spent": _lifetime_days(registry),
        },
        "metrics": [
            {
                "name": metric.spec.name,
                "type": metric.spec.type,
                "every": metric.spec.every,
                "absent": metric.spec.absent,
                "attributes": [each.canonical() for each in metric.spec.attributes],
                "segments": metric.spec.segments and metric.spec.segments.canonical(),
                "digest": metric.spec.digest.hex(),
                "mechanism": metric.spec.mechanism.description(),
                "epsilon": metric.spec.mechanism.epsilon,
                "epsilon_permanent": metric.spec.mechanism.epsilon_permanent,
                "epsilon_total": metric.spec.mechanism.epsilon_total,
                "memoized_values": metric.spec.mechanism.memoized_values,
                "posterior_from_even_odds": posterior_from_even_odds(metric.spec.mechanism.epsilon),
                "bits": bits_revealed(metric.spec.mechanism.epsilon),
                "report_bytes": metric.spec.mechanism.report_bytes,
                **_privacy_and_need(metric.spec),
            }
            for metric in registry.metrics.values()
        ],
    }


def _block(metric: Metric) -> Table:
    """What one metric means, a line for each thing that a reviewer asks."""
    spec, mechanism = metric.spec, metric.spec.mechanism
    kind = f"{spec.type} of {len(spec.values)}" if spec.values else spec.type
    if spec.attributes:
        kind = f"{len(spec.attributes)} {spec.type}"
    size = "1 byte" if mechanism.report_bytes == 1 else f"{mechanism.report_bytes} bytes"
    table = Table.grid(padding=(0, 2, 0, 0))
    table.title = f"[bold]{spec.name}[/bold]: {kind}, {_OFTEN[spec.every]}"
    table.title_justify = "left"
    table.title_style = ""
    table.add_column(min_width=10)
    table.add_column()
    if metric.description:
        table.add_row("  what", Text(metric.description))
    if spec.range is not None:
        low, high = (float(end) for end in spec.range)
        bins = (
            f" in {mechanism.size} bins" if isinstance(mechanism, SquareWave | GroupedBins) else ""
        )
        table.add_row("  range", f"{low:g} to {high:g}{bins}; values outside count as its ends")
    if spec.attributes:
        table.add_row("  attributes", _attributes(spec))
    if spec.segments is not None:
        by = spec.segments.by
        listed = f"{by.name}: {', '.join(by.values)}; sent with the value, as one item of all pairs"
        table.add_row("  segments", Text(listed))
    if spec.absent is not None:
        table.add_row("  absent", Text(f"{spec.absent!r} is reported where nothing was recorded"))
    table.add_row("  mechanism", f"{_shape(mechanism)}; reports of {size}")
    table.add_row("  epsilon", f"{mechanism.epsilon:.4f} for one report; {_lifetime(mechanism)}")
    table.add_row(
        "  one report",
        f"makes even odds at most {posterior_from_even_odds(mechanism.epsilon):.1%} sure; "
        f"reveals at most {bits_revealed(mechanism.epsilon):.2f} bits",
    )
    if mechanism.delta:
        table.add_row(
            "  delta",
            f"{mechanism.delta:.3g}: the probability that a report reveals more than that",
        )
    if mechanism.epsilon_permanent is not None:
        table.add_row("  not hidden", _not_hidden(mechanism))
        if spec.absent is not None and spec.every != "once":
            table.add_row("  [yellow]warning[/yellow]", _COMES_AND_GOES)
    if isinstance(mechanism, NumericMechanism):
        needed = _devices_for_mean(mechanism)
        table.add_row("  mean", f"within ± {MEAN_WIDTH:.0%} of the range with {needed:,} devices")
    else:
        seen = "1% bin" if spec.range else "1% item"
        needed = devices_to_detect(mechanism, SEEN_SHARE)
        table.add_row(f"  {seen}", f"visible with {needed:,} devices")
    family = family_variance(mechanism)
    if family > 1.5 * FAMILY_TO_NOISE * mechanism.variance(0.0, metric.expected_devices):
        width = Z * math.sqrt(family)
        text = f"add ± {width:.2%}, however many devices report, if popular items hold much"
        table.add_row("  collisions", text)
    table.add_row("", "")
    return table


def _lifetime(mechanism: Mechanism) -> str:
    """What further reports add, in nats."""
    permanent, total = mechanism.epsilon_permanent, mechanism.epsilon_total
    if permanent is None:
        return "every further report adds as much"
    text = f"{permanent:.4f} for all reports of one unchanged value"
    if total is not None:
        text += f"; {total:.4f} for all reports ever, of {mechanism.memoized_values} such answers"
    return text


def _not_hidden(mechanism: Mechanism) -> str:
    """What no epsilon of a mechanism that memoises is about."""
    text = "when the value changes, from whoever can link a device's reports"
    if isinstance(mechanism, Sketch) and mechanism.rows > 1:
        bits_of_row = f"{math.log2(mechanism.rows):.2g} bits"
        text += f"; which of {mechanism.rows} rows is the device's, {bits_of_row}"
    return text


def _privacy_and_need(spec: Spec) -> dict[str, Any]:
    """What only some mechanisms have: delta, a range, and devices for an item or for a mean."""
    mechanism = spec.mechanism
    mean = isinstance(mechanism, NumericMechanism)
    return {
        "delta": mechanism.delta,
        "range": None if spec.range is None else [float(end) for end in spec.range],
        "devices_to_see_1_percent": None if mean else devices_to_detect(mechanism, SEEN_SHARE),
        "devices_for_mean_within_1_percent": _devices_for_mean(mechanism) if mean else None,
    }


def _devices_for_mean(mechanism: Mechanism) -> int:
    """Wherever in its range the mean may lie: ends and middle have the extremes of the variance."""
    return max(devices_for_width(mechanism, place, MEAN_WIDTH) for place in EXTREME_PLACES)


def _attributes(spec: Spec) -> str:
    """The attributes of a record; where one is sampled, each with what randomizes it."""
    if not isinstance(spec.mechanism, SampledAttribute):
        names = ", ".join(attribute.name for attribute in spec.attributes)
        return f"{names}: flags, each by itself and every two together"
    return "\n".join(
        f"{attribute.name}: {f'{attribute.size} values' if attribute.values else 'a flag'}, "
        f"by {oracle.title}"
        for attribute, oracle in zip(spec.attributes, spec.mechanism.inner, strict=True)
    )


def _shape(mechanism: Mechanism) -> str:
    numbers = {
        name: getattr(mechanism, name)
        for name in ("steps", "rows", "buckets", "bits", "hashes", "cohorts")
        if hasattr(mechanism, name)
    }
    one = {"steps": "step", "hashes": "hash"}
    shape = [
        f"{number:,} {one.get(name, name[:-1]) if number == 1 else name}"
        for name, number in numbers.items()
    ]
    return ", ".join([f"{mechanism.title} ({mechanism.name})", *shape])


def _budget_lines(registry: Registry) -> list[str]:
    busiest, budget = _busiest_day(registry), registry.budget
    lines = [
        f"A device spends at most {busiest:.2f} nats on the busiest day "
        f"(its budget: {budget.epsilon_per_day:g} a day, {budget.epsilon_lifetime:g} for life)."
    ]
    if busiest > budget.epsilon_per_day:
        lines.append(
            "[yellow]On such a day some metrics will not be recorded: raise "
            "budget.epsilon_per_day, or report less often or with a smaller epsilon.[/yellow]"
        )
    days = _lifetime_days(registry)
    if days is not None:
        lines.append(
            f"If every metric reports whenever it may, the life's budget lasts {days:,} days."
        )
    return lines


def _busiest_day(registry: Registry) -> float:
    """What a day can cost: after a silent period, its absence is reported beside a value."""
    return sum(
        metric.spec.mechanism.epsilon
        * (1 if metric.spec.absent is None or metric.spec.every == "once" else 2)
        for metric in registry.metrics.values()
    )


def _lifetime_days(registry: Registry) -> int | None:
    """Days until the life's budget is spent; None if it never is."""
    low, high = 0, MAX_DAYS
    if _spent(registry, high) <= registry.budget.epsilon_lifetime:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if _spent(registry, middle) <= registry.budget.epsilon_lifetime:
            low = middle
        else:
            high = middle
    return low


def _spent(registry: Registry, days: int) -> float:
    """What all metrics cost a device in so many days, in nats: each no more than its total."""
    return sum(
        min(
            metric.spec.mechanism.epsilon * days / _DAYS.get(metric.spec.every, days or 1),
            metric.spec.mechanism.epsilon_total or math.inf,
        )
        for metric in registry.metrics.values()
    )
