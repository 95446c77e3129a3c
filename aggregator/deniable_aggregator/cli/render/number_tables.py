"""Means and distributions in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from deniable_aggregator.cli.render.output import fakes, repeated
from deniable_aggregator.cli.render.share_table import IntervalBar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def number_line(answer: Mapping[str, Any]) -> str:
    """The mean and half of its interval: ``startup_seconds: mean 4.12 ± 0.08, ...``.

    Args:
        answer: what the server answered, or `MeanEstimate.as_dict`.
    """
    return (
        f"{answer['metric']}: mean {_between(answer['mean'], answer['low'], answer['high'])} "
        f"({answer['interval']['level']:.0%} interval), {_counted(answer)}"
    )


def distribution_table(answer: Mapping[str, Any]) -> Table:
    """One row per bin with its share, its interval and a bar.

    Args:
        answer: what the server answered, or `DistributionEstimate.as_dict`.
    """
    rows = answer["bins"]
    scale = max(1e-9, *(row["high"] for row in rows))
    level = answer["interval"]["level"]
    table = Table(
        title=f"{answer['metric']}: {_counted(answer)}", title_justify="left", expand=True
    )
    table.add_column("from", justify="right", no_wrap=True)
    table.add_column("to", justify="right", no_wrap=True)
    table.add_column(f"share ({answer['label']}), {level:.0%} interval", justify="right")
    table.add_column(f"0 to {scale:.1%}", ratio=1)
    for row in rows:
        table.add_row(
            f"{row['from']:g}",
            f"{row['to']:g}",
            f"{row['share']:.2%}  [{row['low']:.2%}, {row['high']:.2%}]",
            IntervalBar(row["low"], row["share"], row["high"], scale),
        )
    return table


def number_notes(answer: Mapping[str, Any]) -> Iterator[str]:
    """What the numbers mean, a line each; the quantiles of a distribution come first.

    Args:
        answer: as above.
    """
    if answer["type"] == "distribution":
        mean = answer["mean"]
        yield f"mean {_between(mean['value'], mean['low'], mean['high'])}, {mean['meaning']}"
        for row in answer["quantiles"]:
            ends = f"[{row['low']:.4g}, {row['high']:.4g}]"
            yield f"{row['quantile']:.0%} are below {row['value']:.4g}  {ends}"
        yield f"Histogram and quantiles: {answer['meaning']}."
        if answer["reports_left_out"]:
            left_out = f"{answer['reports_left_out']:,} reports"
            yield f"{left_out} of specs with other bins or another mechanism are left out."
    yield f"Intervals: {answer['interval']['meaning']}."
    whose = answer["mean"] if answer["type"] == "distribution" else answer
    yield fakes(answer, [whose["poisoning_radius"]], "the mean", "{:.4g}")
    for spec in answer["specs"]:
        if "delta" in spec:
            yield f"{spec['title']}, delta {spec['delta']:.3g}: {spec['privacy']}."
    yield from repeated(answer)


def _between(value: float, low: float, high: float) -> str:
    """A value and half of the width of its interval, to as many digits as the width supports."""
    half_width = (high - low) / 2
    digits = max(0, 1 - _magnitude(half_width))
    return f"{value:.{digits}f} ± {half_width:.{digits}f}"


def _magnitude(value: float) -> int:
    """The power of ten of the first digit: 0 for 3.2, -2 for 0.05; 0 for 0."""
    return int(f"{value:e}".partition("e")[2])


def _counted(answer: Mapping[str, Any]) -> str:
    specs = ", ".join(
        f"{spec['title']} at epsilon {spec['epsilon']:.2f}" for spec in answer["specs"]
    )
    return f"{answer['reports']:,} reports, {specs}"
