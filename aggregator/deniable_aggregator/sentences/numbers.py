"""A mean or a distribution in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution
from deniable_aggregator.sentences.ranges import number_range_in_words
from deniable_aggregator.sentences.wording import counted, listed, quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def not_placed(answer: Distribution) -> Iterator[str]:
    """The quantiles without an estimate and why there is none, a line for each reason.

    Args:
        answer: the distribution.
    """
    found: dict[str, list[str]] = {}
    for row in answer.quantiles:
        if row.estimate is None and row.reason:
            found.setdefault(row.reason, []).append(quantile_in_words(row.quantile))
    for reason, names in found.items():
        yield f"Not placed: {', '.join(names)}: {reason}."


def bins_in_words(answer: Distribution) -> str:
    """How wide the bins of a histogram are, and what is said of values within one.

    Args:
        answer: the distribution.
    """
    widths = {round(each.end - each.start, 12) for each in answer.bins}
    wide = f" of {min(widths):.4g}" if len(widths) == 1 else ""
    return (
        f"{counted(len(answer.bins), 'bin')}{wide}. Where in a bin values lie is not known: a "
        "quantile is placed to within one bin at best."
    )


def _chosen(quantiles: Sequence[Quantile]) -> Sequence[Quantile]:
    if len(quantiles) <= MOST_QUANTILES:
        return quantiles
    by_share = {each.quantile: each for each in quantiles}
    named = [by_share.get(_MEDIAN), next((by_share[q] for q in _HIGH if q in by_share), None)]
    return [each for each in named if each is not None] or quantiles[:MOST_QUANTILES]
