"""Means and distributions in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from deniable_aggregator.answers.estimates import Distribution
from deniable_aggregator.cli.render.output import mechanisms_of, repeated, shift_if_fake
from deniable_aggregator.cli.render.share_table import IntervalBar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.answers.common import Number, Quantile
    from deniable_aggregator.answers.estimates import Mean


def number_line(answer: Mean) -> str:
    """The mean and half of its interval: ``startup_seconds: mean 4.12 ± 0.08, ...``.

    Args:
        answer: the mean.
    """
    return (
        f"{answer.metric}: mean {between(answer.mean)} ({answer.interval.level:.0%} interval), "
        f"{_counted(answer)}"
    )


def distribution_table(answer: Distribution) -> Table:
    """One row per bin with its share, its interval and a bar.

    Args:
        answer: the distribution.
    """
    scale = max(1e-9, *(each.high for each in answer.bins))
    level = answer.interval.level
    table = Table(title=f"{answer.metric}: {_counted(answer)}", title_justify="left", expand=True)
    table.add_column("from", justify="right", no_wrap=True)
    table.add_column("to", justify="right", no_wrap=True)
    table.add_column(f"share ({answer.label}), {level:.0%} interval", justify="right")
    table.add_column(f"0 to {scale:.1%}", ratio=1)
    for each in answer.bins:
        table.add_row(
            f"{each.start:g}",
            f"{each.end:g}",
            f"{each.share:.2%}  [{each.low:.2%}, {each.high:.2%}]",
            IntervalBar(each.low, each.share, each.high, scale),
        )
    return table


def number_notes(answer: Mean | Distribution) -> Iterator[str]:
    """What the numbers mean, a line each; the quantiles of a distribution come first.

    Args:
        answer: as above.
    """
    if isinstance(answer, Distribution):
        yield f"mean {between(answer.mean)}, {answer.mean.meaning}"
        yield from map(_quantile_line, answer.quantiles)
        yield f"Histogram and quantiles: {answer.meaning}."
        if answer.reports_left_out:
            left_out = f"{answer.reports_left_out:,} reports"
            yield f"{left_out} of versions with other bins or another mechanism are left out."
    yield f"Intervals: {answer.interval.meaning}."
    yield shift_if_fake(answer.fakes, [answer.mean.shift_if_fake], "the mean", "{:.4g}")
    for version in answer.versions:
        if version.delta:
            yield f"{version.title}, delta {version.delta:.3g}: {version.privacy}."
    yield from repeated(answer.versions)


def _quantile_line(row: Quantile) -> str:
    """Where a quantile is, or why it has no estimate."""
    below, ends = f"{100 * row.quantile:g}% are below", f"[{row.low:.4g}, {row.high:.4g}]"
    if row.estimate is None:
        return f"{below} a value that can't be placed  {ends}: {row.reason}"
    return f"{below} {row.estimate:.4g}  {ends}"


def between(number: Number) -> str:
    """A value and half of the width of its interval, to as many digits as the width supports."""
    half_width = (number.high - number.low) / 2
    digits = max(0, 1 - _magnitude(half_width))
    return f"{number.estimate:.{digits}f} ± {half_width:.{digits}f}"


def _magnitude(value: float) -> int:
    """The power of ten of the first digit: 0 for 3.2, -2 for 0.05; 0 for 0."""
    return int(f"{value:e}".partition("e")[2])


def _counted(answer: Mean | Distribution) -> str:
    return f"{answer.reports:,} reports, {mechanisms_of(answer.versions)}"
