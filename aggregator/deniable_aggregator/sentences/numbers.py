"""A mean or a distribution in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution
from deniable_aggregator.sentences.ranges import number_range_in_words
from deniable_aggregator.sentences.wording import listed, quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.answers.common import Number, Quantile
    from deniable_aggregator.answers.estimates import Mean

MOST_QUANTILES: Final = 3
_MEDIAN: Final = 0.5
_HIGH: Final = (0.9, 0.95, 0.99)
"""Which quantile is named beside the median, if more were asked for than fit a sentence."""


def number_finding(answer: Mean | Distribution) -> str:
    """Where the mean is, and the quantiles of a distribution.

    Args:
        answer: as above.
    """
    mean = f"the mean is {mean_in_words(answer.mean)}"
    if not isinstance(answer, Distribution) or not answer.quantiles:
        return mean
    return f"{listed([placed(each) for each in _chosen(answer.quantiles)])}; {mean}"


def mean_in_words(mean: Number) -> str:
    """The interval of a mean.

    Args:
        mean: the estimate.
    """
    return number_range_in_words(mean.low, mean.high)


def placed(each: Quantile) -> str:
    """Where a quantile is, such as "the median is 1.74 to 1.82".

    Args:
        each: the quantile.
    """
    where = number_range_in_words(each.low, each.high)
    name = quantile_in_words(each.quantile)
    if each.estimate is None:
        return f"the {name} is anywhere in {where}"
    return f"the {name} is {where}"


def _chosen(quantiles: Sequence[Quantile]) -> Sequence[Quantile]:
    if len(quantiles) <= MOST_QUANTILES:
        return quantiles
    by_share = {each.quantile: each for each in quantiles}
    named = [by_share.get(_MEDIAN), next((by_share[q] for q in _HIGH if q in by_share), None)]
    return [each for each in named if each is not None] or quantiles[:MOST_QUANTILES]
