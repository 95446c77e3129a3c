"""Estimates over a known domain, for tallies with one counter per item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.tallies.base import Shares
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


def positions(items: Sequence[str], domain: Sequence[str], metric: str) -> NDArray[np.int64]:
    """Where items stand in a domain: int64, (items,).

    Raises:
        ParameterError: if an item is not in the domain.
    """
    index = {item: position for position, item in enumerate(domain)}
    unknown = [item for item in items if item not in index]
    if unknown:
        raise ParameterError("candidates", f"items of {metric}: {', '.join(domain)}", unknown[0])
    return np.fromiter((index[item] for item in items), np.int64, len(items))


def supported_shares(supporting: NDArray[np.int64], reports: int, support: Support) -> Shares:
    """The support lemma for arrays.

    Args:
        supporting: int64, (items,): how many reports support each item.
        reports: how many there are; at least 1.
        support: the mechanism's probabilities.
    """
    share = np.asarray(support.share(supporting.astype(np.float64), reports))
    variance = np.asarray(support.variance(np.clip(share, 0.0, 1.0), reports))
    null_variance = np.full(share.shape, support.variance(0.0, reports))
    return Shares(share, variance, null_variance)
