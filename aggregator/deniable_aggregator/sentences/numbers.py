"""A mean or a distribution in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.estimates import Distribution
from deniable_aggregator.answers.limits import limits_of
from deniable_aggregator.sentences.ranges import number_range_in_words, verb_of
from deniable_aggregator.sentences.wording import counted, listed, quantile_in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.answers.common import Number, Quantile
    from deniable_aggregator.answers.estimates import Mean
    from deniable_aggregator.limits import Limits

MOST_QUANTILES: Final = 3
_MEDIAN: Final = 0.5
_HIGH: Final = (0.9, 0.95, 0.99)
"""Which quantile is named beside the median, if more were asked for than fit a sentence."""


def number_finding(answer: Mean | Distribution) -> str:
    """Where the mean is, and the quantiles of a distribution.

    Args:
        answer: as above.
    """
    limits = limits_of(answer)
    mean = placed("mean", answer.mean, limits)
    if not isinstance(answer, Distribution) or not answer.quantiles:
        return mean
    quantiles = [
        placed(quantile_in_words(each.quantile), each, limits) for each in _chosen(answer.quantiles)
    ]
    return f"{listed(quantiles)}; {mean}"


def placed(name: str, number: Number | Quantile, limits: Limits | None) -> str:
    """Where a number is, such as "the median is 1.74 to 1.82".

    Args:
        name: of the number, such as "median".
        number: a mean or a quantile.
        limits: the range of its metric, if that is known.
    """
    where = number_range_in_words(number.low, number.high, limits)
    verb = verb_of(where)
    anywhere = "anywhere in " if number.estimate is None and verb == "is" else ""
    return f"the {name} {verb} {anywhere}{where}"


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
