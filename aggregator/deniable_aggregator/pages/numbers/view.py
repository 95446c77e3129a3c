"""A distribution: its histogram, its quantiles, and what has changed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.charts.figure_of import figure_of
from deniable_aggregator.report.document import Table
from deniable_aggregator.report.numbers import ENDS, estimate_tables
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
    quantiles: Table
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
        numbers = [
            number_in_words(one, one - half, one + half) for one in (each.before, each.after)
        ]
        ends = difference_ends(each.low, each.high)
        rows.append(["mean", *numbers, *ends, _CLEAR[each.changed]])
    if not rows:
        return None
    caption = f"Change in the metric's own unit, {change.interval.level:.0%} interval"
    return Table(caption, ("", "before", "after", *ENDS, ""), rows)


_CLEAR = {True: "clear change", False: "no clear change"}


def _quantile(each: QuantileDifference) -> list[str]:
    half = (each.high - each.low) / 2
    before, after = (
        "can't place" if one is None else number_in_words(one, one - half, one + half)
        for one in (each.before, each.after)
    )
    ends = difference_ends(each.low, each.high)
    return [quantile_in_words(each.quantile), before, after, *ends, _CLEAR[each.changed]]
