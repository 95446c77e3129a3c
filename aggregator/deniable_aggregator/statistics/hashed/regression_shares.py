"""Estimated shares of strings in Bloom filters, from the regression of `bloom_regression`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from deniable_aggregator.statistics.influence import influence
from deniable_aggregator.statistics.item_shares import ItemShares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_aggregator.statistics.hashed.bloom_regression import BloomRegression
    from deniable_aggregator.statistics.repeated_reports import RepeatedReports

_CHUNK_CELLS: Final = 1 << 19


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionShares(ItemShares):
    """Shares of strings in Bloom filters; the law of their tests is that of the filters.

    Attributes:
        regression: where they come from.
        strings: int64, (items,): their numbers there.
        cell_variance: float64, (cells,): the variance of each cell.
        unlisted: the share of the most common string that is no candidate, where it is clear.
    """

    regression: BloomRegression
    strings: NDArray[np.int64]
    cell_variance: NDArray[np.float64]
    unlisted: float | None

    def take(self, chosen: NDArray[np.int64]) -> Self:
        """The estimates of some of the items, in the given order."""
        return replace(super().take(chosen), strings=self.strings[chosen])

    def sum_variance(self, repeats: RepeatedReports) -> float:  # noqa: ARG002
        """The variance of the sum of all estimates, from the cells that they share."""
        together = np.zeros(self.cell_variance.size)
        for part in _chunks(self.strings, self.cell_variance.size):
            together += self.regression.weights(part).sum(axis=1)
        return float(self.cell_variance @ together**2)


def regression_shares(
    regression: BloomRegression, scores: NDArray[np.float64], hashes: int, repeat_variance: float
) -> RegressionShares:
    """Estimates the shares of all strings of a regression.

    Args:
        regression: of the cells.
        scores: float64, (strings,): of the tests that nobody holds a string.
        hashes: how many cells of a cohort a string sets.
        repeat_variance: variance of a single report that is added because devices report again.
    """
    cells, strings = regression.cells, np.arange(scores.size)
    cell_variance = regression.cell_variance(repeat_variance)
    least, most = (cells.support.share(bit, 1) for bit in (0, 1))
    share, variance, low, high = (np.zeros(strings.size) for _ in range(4))
    for part in _chunks(strings, cells.shares.size):
        weights = regression.weights(part)
        share[part], variance[part] = cells.shares @ weights, cell_variance @ weights**2
        # The worst report of a cohort has ones where its bits count in favour, zeros elsewhere.
        # (Forged reports in few cohorts change the weights, and are seen as too many.)
        above, below = weights.clip(min=0).sum(axis=0), weights.clip(max=0).sum(axis=0)
        low[part], high[part] = above * least + below * most, above * most + below * least
    unknown = np.isnan(variance)
    share[unknown], variance[unknown] = 0.0, np.inf
    moved = influence(share, low, high, reports=regression.reports)
    return RegressionShares(
        share,
        variance,
        variance,
        influence=np.asarray(moved),
        law_scores=scores,
        regression=regression,
        strings=strings,
        cell_variance=cell_variance,
        unlisted=regression.unlisted(hashes),
    )


def _chunks(strings: NDArray[np.int64], cells: int) -> list[NDArray[np.int64]]:
    """Parts of which all weights can be held at once."""
    step = max(1, _CHUNK_CELLS // cells)
    return [strings[start : start + step] for start in range(0, strings.size, step)]
