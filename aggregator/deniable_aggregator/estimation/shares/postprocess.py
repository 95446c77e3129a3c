"""Adjusted estimates, for instance to add up to 100%: beside the raw ones, never instead of them.

All methods trade bias for variance. Which is best for what was measured by Wang et al. (Locally
Differentially Private Frequency Estimation with Consistency, NDSS 2020) and is tested here. To clip
at zero, with or without rescaling, is not offered: the bias adds up over items.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from deniable_aggregator.statistics.consistency import base_cut, ibu, norm_sub, power
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ItemOracle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deniable_aggregator.answers.words import Postprocess
    from deniable_aggregator.estimation.shares.combination import CombinedShares

MEANINGS: Final[Mapping[str, str]] = {
    "norm-sub": (
        "the closest shares that are not negative and have the right sum (Norm-Sub); better than "
        "raw for a whole distribution and for many values together, worse for the largest values"
    ),
    "base-cut": (
        "raw where a test for all values at once, at 5%, tells the value from zero, 0 elsewhere "
        "(Base-Cut); for frequent values with few false ones"
    ),
    "power": (
        "what is to be expected if shares follow a power law with the right mean, then Norm-Sub "
        "(Power); best for a whole distribution that has such a law, and misleading otherwise"
    ),
    "ibu": "the most likely shares (the limit of iterative Bayesian update, IBU)",
}
QUASI_LIKELIHOOD: Final = (
    "the limit of iterative Bayesian update (IBU) on the counts of supporting reports; a "
    "quasi-likelihood, consistent, but not the most likely shares"
)


def process(
    method: Postprocess, combined: CombinedShares, size: int, remainder: float | None = None
) -> NDArray[np.float64]:
    """Post-processes the raw shares of all items that were estimated.

    A whole known domain is made to sum to 1, together with the rest if there is any. A list of
    candidates keeps the sum that its raw estimates have, between 0 and 1: what is not listed takes
    the rest.

    Args:
        method: not "none".
        remainder: of a known domain, the share of all items together that are not known over all
            reports; None if it is not known either.

    Returns:
        float64, (items + 1,), the rest last; NaN for items that are not known over all reports, and
        for a rest that is not post-processed.

    Raises:
        ParameterError: if the method does not fit the metric.
    """
    share, scores = combined.share[:size], combined.scores[:size]
    spec = combined.parts[0].spec
    adjusted = np.full(size + 1, np.nan)
    common = np.flatnonzero(combined.reports[:size] == combined.total)
    if method == "base-cut":
        adjusted[common] = base_cut(share, scores)[common]
        return adjusted
    if spec.type == "attributes":
        raise ParameterError("postprocess", "none or base-cut for attributes", method)
    raw, is_domain_known = share[common], spec.type != "string"
    if is_domain_known and common.size < size:
        if remainder is None or not common.size:
            return adjusted
        raw = np.append(raw, remainder)
    total = 1.0 if is_domain_known else min(max(float(raw.sum()), 0.0), 1.0)
    if method == "norm-sub":
        processed = norm_sub(raw, total)
    elif method == "power":
        remaining = raw[common.size :].clip(0.0, total)
        processed = power(
            raw[: common.size],
            combined.null_variance[common],
            combined.total,
            total - float(remaining.sum()),
        )
        processed = np.append(processed, remaining)
    else:
        counted = combined.parts[0].shares.support_counts
        if len(combined.parts) > 1 or not is_domain_known or counted is None:
            fitting = "norm-sub, base-cut or power: ibu needs the counts of one domain"
            raise ParameterError("postprocess", fitting, method)
        processed = ibu(counted.supporting, counted.support)
    adjusted[common], adjusted[size] = processed[: common.size], processed[common.size :].sum()
    return adjusted


def meaning(method: Postprocess, combined: CombinedShares) -> str:
    """What a method does, in a sentence.

    Args:
        method: not "none".
        combined: the raw estimates.
    """
    likelihood = isinstance(combined.parts[0].spec.mechanism, ItemOracle)
    if method == "ibu" and not likelihood:
        return QUASI_LIKELIHOOD
    return MEANINGS[method]
