"""The one number of a flag or a mean, large, with its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.answers.estimates import Mean, SegmentShares, Shares
from deniable_aggregator.sentences import (
    difference_in_words,
    number_in_words,
    number_range_in_words,
    points_in_words,
    range_in_words,
    share_in_words,
)
from deniable_aggregator.sentences.shares import is_flag

if TYPE_CHECKING:
    from deniable_aggregator.answers.estimates import Estimate
    from deniable_aggregator.answers.trends import Change


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A number.

    Attributes:
        number: the estimate, to the digits that its range supports; of a share that can't be told
            from zero, its upper end.
        range: its interval, and what it is of.
        change: how far it can have changed; empty if nothing is compared.
        clear: whether that is a clear change.
    """

    number: str
    range: str
    change: str = ""
    clear: bool = False


def headline(estimate: Estimate, change: Change | None) -> Headline | None:
    """The one number of an answer; None if it has several.

    Args:
        estimate: the answer.
        change: against the days before, or None.
    """
    rows = change.changes if change is not None else []
    moved = rows[0] if len(rows) == 1 else None
    clear = moved is not None and moved.changed
    level = f"{estimate.interval.level:.0%} interval"
    if isinstance(estimate, Mean):
        mean = estimate.mean
        return Headline(
            number=number_in_words(mean.estimate, mean.low, mean.high),
            range=f"mean, {number_range_in_words(mean.low, mean.high)} ({level})",
            change=difference_in_words(moved.low, moved.high) if moved is not None else "",
            clear=clear,
        )
    if not isinstance(estimate, Shares | SegmentShares):
        return None
    if not is_flag([row.value for row in estimate.estimates]):
        return None
    row = estimate.estimates[0]
    low = row.low if row.detected else min(row.low, 0.0)
    within = range_in_words(low, row.high)
    return Headline(
        number=share_in_words(row.share, row.low, row.high) if row.detected else within,
        range=f"{within} of reports ({level})",
        change=points_in_words(moved.low, moved.high) if moved is not None else "",
        clear=clear,
    )
