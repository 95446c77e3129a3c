"""A distribution: its histogram, its quantiles, and what has changed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.pages.parts import Badge, Column, Table
from deniable_aggregator.report.numbers import estimate_tables
from deniable_aggregator.sentences import (
    difference_ends,
    number_in_words,
    quantile_in_words,
)
from deniable_aggregator.sentences.numbers import bins_in_words, not_placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.estimates import Distribution
    from deniable_aggregator.answers.trends import Change, QuantileDifference
    from deniable_aggregator.charts.figure import Figure
    from deniable_aggregator.pages.parts import Cell
    from deniable_aggregator.report.document import Table as TextTable


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionView:
    """What the page shows of a distribution.

    Attributes:
        figure: the histogram with mean and quantiles.
        bins: how wide the bins are, and what the shares of bins are.
        quantiles: where quantiles and the mean are.
        not_placed: which quantiles the reports cannot place, and why, a line each.
        changes: how they differ from an earlier period; None if nothing is compared.
    """

    figure: Figure
    bins: str
    quantiles: TextTable
    not_placed: Sequence[str]
    changes: Table | None


def distribution_view(answer: Distribution, change: Change | None = None) -> DistributionView:
    """What the page shows.

    Args:
        answer: the distribution.
        change: what has changed of it.
    """
    (quantiles,) = estimate_tables(answer)
    return DistributionView(
        figure=figure_of(answer),
        bins=bins_in_words(answer),
        quantiles=quantiles,
        not_placed=tuple(not_placed(answer)),
        changes=None if change is None else _changes(change),
    )


def _changes(change: Change) -> Table | None:
    """The differences of quantiles and of the mean, or None if none was compared."""
    rows = [_quantile(each) for each in change.quantiles or ()]
    for each in change.changes:
        half = (each.high - each.low) / 2
        both = [number_in_words(one, one - half, one + half) for one in (each.before, each.after)]
        rows.append(_row("mean", both, each.low, each.high, changed=each.changed))
    if not rows:
        return None
    level = f"{change.interval.level:.0%} interval"
    columns = [
        Column("", words=True),
        Column("before"),
        Column("after"),
        Column(f"difference, {level}"),
        Column("", words=True),
    ]
    caption = "What has changed, in the metric's own unit"
    return Table(name="changed-numbers", caption=caption, columns=columns, rows=rows)


def _quantile(each: QuantileDifference) -> list[Cell]:
    half = (each.high - each.low) / 2
    both = [
        "can't place" if one is None else number_in_words(one, one - half, one + half)
        for one in (each.before, each.after)
    ]
    name = quantile_in_words(each.quantile)
    return _row(name, both, each.low, each.high, changed=each.changed)


def _row(name: str, both: list[str], low: float, high: float, *, changed: bool) -> list[Cell]:
    """A number before and after, the ends of its difference, and whether that is clear."""
    said = Badge("changed", "clear change") if changed else Badge("unchanged", "no clear change")
    return [name, *both, " to ".join(difference_ends(low, high)), said]
