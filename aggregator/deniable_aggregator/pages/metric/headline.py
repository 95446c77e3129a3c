"""The one number of a flag or a mean, large, with its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.answers.estimates import Mean, SegmentShares, Shares
from deniable_aggregator.answers.limits import limits_of
from deniable_aggregator.sentences import (
    number_in_words,
    number_range_in_words,
    range_in_words,
    share_in_words,
)
from deniable_aggregator.sentences.ranges import verb_of
from deniable_aggregator.sentences.shares import is_flag

if TYPE_CHECKING:
    from deniable_aggregator.answers.estimates import Estimate


@dataclass(frozen=True, kw_only=True)
class Headline:
    """A number.

    Attributes:
        range: its interval in words.
        of: what it is of, and the estimate.
    """

    range: str
    of: str


def headline(estimate: Estimate) -> Headline | None:
    """The one number of an answer; None if it has several.

    Args:
        estimate: the answer.
    """
    level = f"{estimate.interval.level:.0%} interval"
    if isinstance(estimate, Mean):
        mean, limits = estimate.mean, limits_of(estimate)
        within = number_range_in_words(mean.low, mean.high, limits)
        middle = number_in_words(mean.estimate, mean.low, mean.high, limits)
        said = f"{verb_of(within)} the mean; estimate {middle}, {level}"
        return Headline(range=within, of=said)
    if not isinstance(estimate, Shares | SegmentShares):
        return None
    if not is_flag([row.value for row in estimate.estimates]):
        return None
    row = estimate.estimates[0]
    within = range_in_words(row.low if row.detected else min(row.low, 0.0), row.high)
    if not row.detected:
        return Headline(range=within, of=f"of reports: can't tell from zero, {level}")
    middle = share_in_words(row.share, row.low, row.high)
    return Headline(range=within, of=f"of reports; estimate {middle}, {level}")
