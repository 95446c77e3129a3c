"""Between which numbers means and quantiles of an answer lie for certain: the metric's range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from deniable_aggregator.answers.estimates import Distribution
from deniable_aggregator.limits import widest

if TYPE_CHECKING:
    from deniable_aggregator.answers.estimates import Mean
    from deniable_aggregator.answers.trends import Series
    from deniable_aggregator.limits import Limits


def limits_of(answer: Mean | Distribution | Series) -> Limits | None:
    """The range of the answer's metric; of several versions, the widest; None if it has none.

    Args:
        answer: of a number or a distribution; a series of shares has no range.
    """
    ranges = [each.range for each in answer.versions if each.range is not UNSET]
    if not ranges and isinstance(answer, Distribution):
        ranges = [(each.start, each.end) for each in answer.bins]
    return widest(ranges)
