"""Which strings are in Bloom filters, tested against the law that the filters themselves give.

A cell is one bit of one cohort. Strings that are found are explained: a regression subtracts them
from the cells that they set. The bits of a string that nobody holds are random, whatever is left
in the cells, so the sum over its cells has the law of random draws, as many from each cohort as
there are hash functions. Strings that nobody listed are in that law: their cells stand out. The
test cuts such cells, and estimates leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from scipy import linalg, sparse

from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.intervals import RepeatedReports, detect
from deniable_aggregator.counting.statistics.shares import ItemShares
from deniable_aggregator.counting.statistics.sum_law import SumLaw
from deniable_aggregator.counting.yield_points import yield_point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support


MOST_EXPLAINED: Final = 2 / 3
"""At most so many strings for each cell are explained."""

_CUT: Final = 3.0
"""Standard deviations at which the test cuts a cell, so that few collisions decide nothing."""

_STANDS_OUT: Final = 4.5
"""Standard deviations from which a cell holds a string that is not listed."""

_QUARTILES: Final = 1.349
"""Distance between the quartiles of a normal law, in standard deviations."""

_LEAST_COHORTS: Final = 0.75
"""At least this part of the cohorts must show a string for its share to be told."""

_LEAST_OWN: Final = 1e-9
"""Strings with a smaller part of their cells to themselves cannot be told from others."""

_FALSE: Final = 0.05
"""The part of the explained strings that may be held by nobody, on average."""

_ROUNDS: Final = 8
_FITS: Final = 6


class Cells(NamedTuple):
    """What the bits of the cohorts with reports say.

    Attributes:
        shares: float64, (cells,): debiased shares of the cohort's devices that set the bit.
        reports: float64, (cells,): how many reports the cohort has; at least 1.
        cohorts: number of cohorts. All have equally many cells, and their cells follow each other.
        support: with which probabilities a set and an unset bit are reported as 1.
    """

    shares: NDArray[np.float64]
    reports: NDArray[np.float64]
    cohorts: int
    support: Support


@dataclass(frozen=True, eq=False)
class BloomRegression:
    """The regression of all cells on the strings that were found.

    Attributes:
        cells: what was observed.
        filters: sparse float64, (cells, strings): which cells each string sets.
        detected: int64, (detected,): the strings that are explained.
        design: sparse float64, (cells, detected + 1): their filters, and ones for all others.
        inverse: float64, (detected + 1, detected + 1): of the weighted normal equations.
        shares: float64, (detected + 1,): of the strings found, and of all others in a cell.
        inliers: bool, (cells,): which cells do not stand out.
        fitted: float64, (cells,): the shares of devices that set each bit, as far as explained.
        spread: float64, (cells,): the standard deviation of what is left.
    """

    cells: Cells
    filters: Any
    detected: NDArray[np.int64]
    design: Any
    inverse: NDArray[np.float64]
    shares: NDArray[np.float64]
    inliers: NDArray[np.bool_]
    fitted: NDArray[np.float64]
    spread: NDArray[np.float64]

    @property
    def reports(self) -> int:
        """How many reports there are in all cohorts."""
        return int(self.cells.reports.sum()) // (self.cells.reports.size // self.cells.cohorts)

    @property
    def residuals(self) -> NDArray[np.float64]:
        """What is not explained of the cells: float64, (cells,)."""
        return self.cells.shares - self.fitted

    def unlisted(self, hashes: int) -> float | None:
        """The share of the most common string that is not listed, if there clearly is one.

        A string of share f adds f to as many cells of every cohort as there are hash functions.

        Returns:
            The median over the cohorts of the mean of so many largest cells. None where too few
            cohorts have as many that stand out, or where rarer strings may share cells so often.
        """
        bits = self.residuals.size // self.cells.cohorts
        standing = np.where(self.inliers, 0.0, self.residuals).reshape(self.cells.cohorts, bits)
        largest = np.sort(standing, axis=1)[:, -hashes:]
        if not (largest[:, 0] > 0).mean() >= _LEAST_COHORTS:
            return None
        share = float(np.median(largest.mean(axis=1)))
        if (2 * hashes / share) ** 2 / (2 * bits) > hashes:
            return None
        return min(share, 1.0)

    def cell_variance(self, extra: float) -> NDArray[np.float64]:
        """The variance of each cell about its expectation: float64, (cells,).

        The exact one of its bits, and larger where what is left is: that has collisions with
        strings that are not explained, too.

        Args:
            extra: variance of a single report that is added because devices report again.
        """
        share = np.clip(self.fitted, 0.0, 1.0)
        stated = (self.cells.support.variance(share, 1) + extra) / self.cells.reports
        freedom = max(int(self.inliers.sum()) - self.design.shape[1], 1)
        misfit = float((self.residuals**2 / stated)[self.inliers].sum()) / freedom
        return np.asarray(stated * max(1.0, misfit))

    def weights(self, strings: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much each cell counts in the estimates of some strings.

        A string that was not found is estimated by adding it to the regression alone.

        Args:
            strings: int64, (strings,).

        Returns:
            float64, (cells, strings): NaN where a string cannot be told from those found.
        """
        weights = np.where(self.inliers, self.cells.reports, 0.0)
        filters = self.filters[:, strings]
        shared = (self.design.T @ filters.multiply(weights[:, None])).toarray()
        explained, whole = self.inverse @ shared, filters.T @ weights
        own = whole - (shared * explained).sum(axis=0)
        with np.errstate(divide="ignore"):
            scale = np.where(own > _LEAST_OWN * whole, 1 / own, np.nan)
        explained *= scale
        place = np.full(self.filters.shape[1], -1)
        place[self.detected] = np.arange(self.detected.size)
        among = np.flatnonzero(place[strings] >= 0)
        explained[:, among] = -self.inverse[:, place[strings[among]]]
        scale[among] = 0.0
        counted = filters.multiply(scale).toarray()
        counted -= self.design @ explained
        counted *= weights[:, None]
        return np.asarray(counted)


def regress(cells: Cells, places: NDArray[np.int64]) -> tuple[BloomRegression, NDArray[np.float64]]:
    """Finds the strings that somebody holds, and explains them, until no more are found.

    Args:
        cells: what was observed.
        places: int64, (strings, draws): the cells that each string sets, as many of each cohort;
            two of them may be the same.

    Returns:
        The regression, and float64, (strings,): the scores of the tests that nobody holds a string.
    """
    size = cells.shares.size
    columns = np.repeat(np.arange(places.shape[0]), places.shape[1])
    filters = sparse.coo_array(
        (np.ones(places.size), (places.ravel(), columns)), shape=(size, places.shape[0])
    ).tocsc()
    filters.data[:] = 1.0  # two hash functions may set the same bit
    most = int(MOST_EXPLAINED * size)
    detected, tried = np.zeros(0, np.int64), set[bytes]()
    while True:
        tried.add(detected.tobytes())
        regression = _fit(cells, filters, detected)
        scores = _scores(regression, places)
        detected = np.flatnonzero(detect(scores, alpha=_FALSE))
        if detected.size > most:
            detected = np.sort(np.argsort(-scores)[:most])
        if detected.tobytes() in tried or len(tried) == _ROUNDS:
            return regression, scores


def _fit(cells: Cells, filters: Any, detected: NDArray[np.int64]) -> BloomRegression:
    """Least squares, again and again without the cells that stand out above it."""
    p, q = cells.support.p, cells.support.q
    ones = np.ones((cells.shares.size, 1))
    design = sparse.hstack([filters[:, detected], ones], format="csc")
    inliers = np.ones(cells.shares.size, bool)
    for _ in range(_FITS):
        weighted = design.multiply(np.where(inliers, cells.reports, 0.0)[:, None]).tocsc()
        inverse = linalg.pinvh((design.T @ weighted).toarray())
        shares = inverse @ (weighted.T @ cells.shares)
        fitted = design @ shares
        ones_expected = q + np.clip(fitted, 0.0, 1.0) * (p - q)
        stated = np.sqrt(ones_expected * (1 - ones_expected) / cells.reports) / (p - q)
        residuals = (cells.shares - fitted) / stated
        # Devices that report again, and strings that nobody lists, spread all cells further.
        low, high = np.percentile(residuals[inliers], [25, 75])
        spread = stated * max(1.0, float(high - low) / _QUARTILES)
        before, inliers = inliers, residuals * stated <= _STANDS_OUT * spread
        if (inliers == before).all():
            break
    return BloomRegression(
        cells, filters, detected, design, inverse, shares, before, fitted, spread
    )


def _scores(regression: BloomRegression, places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The tests that nobody holds a string: of each, with all others that were found explained."""
    cells, residuals, detected = regression.cells, regression.residuals, regression.detected
    gap = cells.support.p - cells.support.q
    ones = cells.support.q + np.clip(regression.fitted, 0.0, 1.0) * gap
    skew = (_CUT**2 - 1) / 6 * (1 - 2 * ones) / (cells.reports * gap)
    cut, counts = _CUT * regression.spread + skew, cells.reports * gap

    def counted(residuals: NDArray[np.float64], where: Any) -> NDArray[np.int64]:
        return np.asarray(np.rint(np.minimum(residuals, cut[where]) * counts[where]), np.int64)

    values = counted(residuals, slice(None))
    sums = values[places].sum(axis=1)
    if detected.size:
        # Were a string not in the regression, the others would explain some of its cells: what is
        # left to it is the part that its own variance tells.
        weights = np.where(regression.inliers, cells.reports, 0.0)
        size = np.maximum(regression.filters[:, detected].T @ weights, 1.0)
        part = np.minimum(1 / (np.diag(regression.inverse)[:-1] * size), 1.0)
        mine = places[detected]
        own = (regression.shares[:-1] * part)[:, None]
        sums[detected] = counted(residuals[mine] + own, mine).sum(axis=1)
    draws = places.shape[1] // cells.cohorts
    return SumLaw.of_cells(np.repeat(values.reshape(cells.cohorts, -1), draws, axis=0)).scores(sums)


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
            yield_point()
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
        yield_point()
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
