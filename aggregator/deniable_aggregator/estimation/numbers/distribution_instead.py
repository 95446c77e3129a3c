"""Whether a metric whose mean is asked for would have told more as a distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.statistics.histograms.reconstruction import raw_shares
from deniable_shared.mechanisms import SquareWave

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.estimation.numbers.means import MeanPart
    from deniable_shared.mechanisms import NumericMechanism

BINS: Final = 32
"""Of the distribution that a number is compared with."""

WORTH: Final = 1.1
"""It is worth saying if the error of the mean would be at most so many times what it is."""

PLACED: Final = 0.05
"""And if the share below the middle of the range would have at most this standard error."""


def distribution_notices(parts: Sequence[MeanPart], error: float) -> tuple[Notice, ...]:
    """A note if a distribution of the same epsilon would have told quantiles at hardly any cost.

    Nothing is said of memoised metrics, which would cost a device otherwise, of approximate ones,
    and where there are too few reports for quantiles.

    Args:
        error: the standard error of the mean.
    """
    part = max(parts, key=lambda counted: counted.reports)
    mechanism = cast("NumericMechanism", part.spec.mechanism)
    if mechanism.epsilon_permanent is not None or mechanism.delta:
        return ()
    wave = SquareWave.for_epsilon(BINS, Fraction(mechanism.epsilon).limit_denominator(1_000))
    reports = sum(part.reports for part in parts)
    if _middle_error(wave) > PLACED * reports**0.5:
        return ()
    at, width = min(max(part.scaled_mean.mean, 0.0), 1.0), part.weight * reports / part.reports
    more = width**2 * (wave.variance(at, reports) - mechanism.variance(at, reports))
    instead = max(error**2 + more, 0.0) ** 0.5
    if not instead <= WORTH * error:
        return ()
    would, now = f"{instead:.2g}", f"{error:.2g}"
    message = (
        "As a distribution with the same epsilon, this metric would also tell its quantiles and "
        "its shape. The standard error of its mean would "
        + (f"stay about {now}." if would == now else f"be about {would} instead of {now}.")
    )
    return (Notice("distribution_instead", "note", message),)


@lru_cache(64)
def _middle_error(wave: SquareWave) -> float:
    """The standard error of the share below the middle, from one report of an even population."""
    even = np.full(wave.size, 1 / wave.size)
    _, covariance = raw_shares(wave, np.ones(wave.outcomes, np.int64), even)
    below = np.arange(wave.size) < wave.size // 2
    once = wave.outcomes * float(covariance[np.ix_(below, below)].sum()) - 0.25
    return math.sqrt(max(once, 0.0))
