"""A plan in words, figures and a picture for the terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from rich.markup import escape
from rich.table import Table

from deniable_aggregator.cli.render.text_plot import MARKS, WIDTH, log_plot
from deniable_aggregator.planning import short_name
from deniable_shared.disclosure_figures import posterior_from_even_odds

if TYPE_CHECKING:
    from deniable_aggregator.planning import Plan
    from deniable_shared.mechanisms import Mechanism

_DRAWN: Final = 6


def plan_table(planned: Plan, *, named: bool) -> Table:
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
        (
            "mechanism",
            f"{mechanism.title} ({short_name(mechanism)}); reports of {_bytes(mechanism)}",
        ),
        ("considered", _considered(planned)),
        ("interval", _mean_intervals(planned) if planned.mean else _intervals(planned)),
    ]
    if not planned.mean:
        lines.append(("visible", _visible(planned)))
    if planned.width is not None:
        width = f"{planned.width:.4g}" if planned.mean else f"{planned.width:.4%}"
        what = "the mean" if planned.mean else "a rare item"
        lines.append((f"± {width}", f"for {what}: {planned.devices_for_width:,} devices"))
    if planned.family_is_large:
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
        f"{short_name(each.mechanism)} {each.excess:.2f} in {_bytes(each.mechanism)}"
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
    collection = planned.collection
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


def _bytes(mechanism: Mechanism) -> str:
    return "1 byte" if mechanism.report_bytes == 1 else f"{mechanism.report_bytes:,} bytes"


def _short(value: float) -> str:
    """A power of ten in a few characters."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.0f}{name}"
    return f"{value:g}"


def plan_plot(planned: Plan) -> str:
    """Error against devices for the best candidates, the metric's own first."""
    drawn = sorted(planned.candidates, key=lambda each: not each.chosen)[:_DRAWN]
    picture = log_plot(
        [each.half_width for each in drawn],
        *planned.devices_shown,
        x_label=_short,
        y_label=lambda value: f"±{value:.4g}" if planned.mean else f"±{100 * value:g}%",
    )
    legend = [
        f"{mark} {short_name(each.mechanism)}" for mark, each in zip(MARKS, drawn, strict=False)
    ]
    what = "the mean's" if planned.mean else "a rare item's"
    caption = f"{what} 95% interval over the number of devices: {', '.join(legend)}"
    indent = " " * 10
    wrapped = textwrap.fill(caption, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"{picture}\n{wrapped}"
