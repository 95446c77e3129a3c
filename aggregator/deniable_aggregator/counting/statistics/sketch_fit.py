"""Shares of strings in a sketch of few buckets: the common ones are fitted to all rows together.

With few buckets a common string is in a cell of every row, and to leave such rows out would leave
few. So the strings that are found are explained by weighted least squares, over all rows and each
with a constant of its own row, and what is left of the cells tells of all others. Cells that still
stand out hold strings that nobody listed, and are left out. The cells of a string that nobody holds
are random, whatever is left in them, so its sum over them has the law of random draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from deniable_aggregator.counting.statistics.binomial import SupportCounts
from deniable_aggregator.counting.statistics.influence import influence
from deniable_aggregator.counting.statistics.shares import LEAST_VARIANCE, Allowance
from deniable_aggregator.counting.statistics.sketch_rows import (
    ROW_CAP,
    TEST_CAP,
    SketchRows,
)
from deniable_aggregator.counting.statistics.sketches import SketchShares
from deniable_aggregator.counting.statistics.sum_law import SumLaw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deniable_shared.mechanisms import Support

    Floats = NDArray[np.float64]

FITTED_REPORTS: Final = 50
"""With fewer reports a row, the counts that decide the weights are too small."""

_MOST_FITTED: Final = 0.25
"""At most so many strings are fitted for each degree of freedom."""

_FOUND: Final = 4.0
"""The z-score above which a string is fitted. A lower one would fit strings because of their noise,
and what is left would look quieter than it is."""

_CLEARLY_LESS: Final = 0.95
"""A variance is known to within 3%."""

_LEAST_KEPT: Final = 1e-3
"""At least this part of what a string's cells would weigh in empty rows."""

_LEAST_ROWS: Final = 0.75
"""At least this part of the rows must show a string for its share to be told."""

_MOST_COLLISIONS: Final = 0.5
"""How many pairs of strings of half the share may meet in a row, on average, for a share to be told
from several smaller ones."""

_NOTHING: Final = 1e-300

_LOWER_DEVIATION: Final = 0.1587
"""The part of a normal law that is more than one standard deviation below its centre."""

_REGULAR: Final = 1e-10
"""The least reciprocal condition number of normal equations whose inverse is taken from Cholesky's
factors: it then has six digits at least."""

_ROUNDS: Final = 8
_FITS: Final = 8
_FEWEST_FITS: Final = 3
"""The first one weighs all cells equally, and the second by what the first made of them."""


class StringCells(Protocol):
    """Where strings are in the rows of a sketch."""

    def sums(self, tables: Sequence[Floats]) -> list[Floats]:
        """Sums over the cells of each string, one in each row.

        Args:
            tables: float64, (rows, buckets), each.

        Returns:
            float64, (items,), of each table.
        """

    def buckets(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        """The buckets of some strings: int64, (chosen, rows).

        Args:
            chosen: int64, (chosen,): the strings' places in the list.
        """


@dataclass(frozen=True, eq=False)
class RowFit:
    """The cells of all rows, explained by some strings.

    Attributes:
        items: int64, (fitted,): the places of these strings in the list.
        share: float64, (fitted,): their shares.
        inverse: float64, (fitted,): the diagonal of the inverse of the normal equations.
        residual: float64, (rows, buckets): what is left of each cell's share.
        weight: float64, (rows, buckets): 1 / the stated variance of a cell's share; 0 if left out.
        stated: float64, (rows, buckets): that variance, of cells that are left out, too.
        deviation: float64, (rows, buckets): the standard deviation that cells are judged by.
        fitted: float64, (rows, buckets): the share that is explained, with the row's constant.
    """

    items: NDArray[np.int64]
    share: Floats
    inverse: Floats
    residual: Floats
    weight: Floats
    stated: Floats
    deviation: Floats
    fitted: Floats

    @cached_property
    def own_weight(self) -> Floats:
        """What a cell weighs in the estimate of a string, beside the others of its row."""
        whole = np.maximum(self.weight.sum(axis=1, keepdims=True), _NOTHING)
        return np.asarray(self.weight * (1 - self.weight / whole))

    @cached_property
    def freedom(self) -> int:
        """How many cells there are beyond the constants of rows."""
        inside = self.weight > 0
        return max(int(inside.sum()) - int(inside.any(axis=1).sum()), 1)

    @property
    def left(self) -> float:
        """Which part of the degrees of freedom the fitted strings leave."""
        return max(1 - self.items.size / self.freedom, 1 - _MOST_FITTED)

    @cached_property
    def misfit(self) -> float:
        """The variance of what is left, in units of the stated one."""
        squares = float((self.weight * self.residual**2).sum())
        return squares / (self.freedom * self.left)

    @property
    def blur(self) -> float:
        """The variance of an estimate, in units of that of noise alone."""
        return self.misfit / self.left


class FittedRows(SketchRows):
    """The counts of a sketch of few buckets, and the strings that explain them.

    Args:
        reports: int64, (rows,): each at least 1.
        supporting: int64, (rows, buckets): how many reports of a row support a bucket.
        support: of the oracle inside: with which probabilities a report supports a bucket.
    """

    def __init__(
        self, reports: NDArray[np.int64], supporting: NDArray[np.int64], support: Support
    ) -> None:
        super().__init__(reports, supporting, support)
        self.said = np.asarray(self.share(supporting, reports[:, None]))
        self.fit = self._explain(np.zeros(0, np.int64), np.zeros((0, self.rows), np.int64))

    def deviations(self, score: float) -> float:
        """Of the sum of `pulls` over the rows, for a string that nobody holds.

        See `SumLaw.deviations`.
        """
        return self._kept_law.deviations(score)

    @cached_property
    def _kept_law(self) -> SumLaw:
        return SumLaw.of_cells(self.pulls, step=0.0)

    @property
    def pulls(self) -> Floats:
        """How far each cell moves the estimate of a string that is in it, unscaled."""
        return np.asarray(self.fit.weight * self.fit.residual)

    @property
    def most_beside(self) -> float:
        """Strings of a smaller share stay in the cells of others: four standard errors."""
        return float(_FOUND * self.cell_deviation / np.sqrt(self.rows))

    @property
    def unlisted(self) -> float | None:
        """The share of the most common string that is not fitted, if it is clear that there is one.

        The median over the rows of the largest cell that stands out. None where too few rows have
        one, or where several strings of half of it may share cells.
        """
        largest = np.where(self.fit.weight > 0, 0.0, self.fit.residual).max(axis=1)
        if not (largest > 0).mean() >= _LEAST_ROWS:
            return None
        least = max(float(np.quantile(largest, 1 - _LEAST_ROWS)), 1e-9)
        halves = math.floor(2 / least)
        if halves * (halves - 1) / 2 > _MOST_COLLISIONS * self.buckets:
            return None
        return min(float(np.median(largest)), 1.0)

    def explain(self, size: int, cells: StringCells) -> Floats:
        """Finds the strings that somebody holds, and fits them, until no more are found.

        Args:
            size: how many strings are looked for.
            cells: where they are.

        Returns:
            float64, (items,): the scores of the tests that nobody holds a string.
        """
        most = int(_MOST_FITTED * self.rows * (self.buckets - 1))
        found, tried = self.fit.items, set[bytes]()
        while found.tobytes() not in tried and len(tried) < _ROUNDS:
            tried.add(found.tobytes())
            self.fit = self._explain(found, cells.buckets(found))
            scores = self._scores(cells)
            found = np.flatnonzero(scores > _FOUND)
            if found.size > most:
                found = np.sort(np.argsort(-scores, kind="stable")[:most])
        if self.fit.items.size < size <= most:
            # Many strings, none of them clear, may blur the cells more than it costs to fit all.
            every = np.arange(size)
            whole = self._explain(every, cells.buckets(every))
            if whole.blur < _CLEARLY_LESS * self.fit.blur:
                self.fit = whole
                return self._scores(cells)
        return scores

    def _explain(self, items: NDArray[np.int64], places: NDArray[np.int64]) -> RowFit:
        """Least squares, again and again by the fitted variances and without cells that stand out.

        Args:
            items: int64, (fitted,).
            places: int64, (fitted, rows): their buckets.
        """
        shape, rows = self.said.shape, np.arange(self.rows)
        flat = (rows * self.buckets + places).ravel()
        design = sparse.csr_array(
            (np.ones(flat.size), flat, np.arange(0, flat.size + 1, self.rows)),
            shape=(items.size, self.said.size),
        )
        usual = np.median(self.said, axis=1, keepdims=True)
        stated = self.stated(np.broadcast_to(np.clip(usual, 0.0, 1.0), shape))
        inliers = np.ones(shape, bool)
        for fits in range(1, _FITS + 1):
            weight = np.where(inliers, 1 / stated, 0.0)
            whole = np.maximum(weight.sum(axis=1), _NOTHING)
            own = weight[rows, places]  # (fitted, rows)
            together = (design * weight.ravel()) @ design.T
            inverse = _inverse(together.toarray() - (own / whole) @ own.T)
            mean = (weight * self.said).sum(axis=1) / whole
            pulled = (own * (self.said[rows, places] - mean)).sum(axis=1)
            share = inverse @ pulled
            explained = (design.T @ share).reshape(shape)
            constant = mean - (weight * explained).sum(axis=1) / whole
            fitted = explained + constant[:, None]
            residual = self.said - fitted
            stated = self.stated(np.clip(fitted, 0.0, 1.0))
            judged = residual / np.sqrt(stated)
            lower = -float(np.quantile(judged[inliers], _LOWER_DEVIATION))
            deviation = np.sqrt(stated) * max(1.0, lower)
            before = inliers
            inliers = residual <= ROW_CAP * deviation + self._skew(fitted, ROW_CAP)
            if fits >= _FEWEST_FITS and (inliers == before).all():
                break
        return RowFit(items, share, np.diag(inverse), residual, weight, stated, deviation, fitted)

    def _scores(self, cells: StringCells) -> Floats:
        """The tests that nobody holds a string: of each, with all others that were found fitted."""
        fit, rows = self.fit, np.arange(self.rows)
        cut = TEST_CAP * fit.deviation + self._skew(fit.fitted, TEST_CAP)
        weight = 1 / fit.stated
        values = weight * np.minimum(fit.residual, cut)
        (found,) = cells.sums([values])
        if fit.items.size:
            # Were a string not fitted, the others would explain some of its cells: what is left to
            # it is the part that its own variance tells.
            where = rows, cells.buckets(fit.items)
            alone = np.maximum(fit.own_weight[where].sum(axis=1), _NOTHING)
            part = np.minimum(1 / (fit.inverse * alone), 1.0)
            left = fit.residual[where] + (fit.share * part)[:, None]
            found[fit.items] = (weight[where] * np.minimum(left, cut[where])).sum(axis=1)
        # Counts are integers, so a sum counts from the middle between it and the next lower one.
        step = float(np.median(weight / (self.reports[:, None] * self.gap)))
        return SumLaw.of_cells(values, step=0.0).scores(found - step / 2)

    def stated(self, share: Floats) -> Floats:
        """The variance of what a cell says, at the share of the devices that it holds."""
        noise = np.asarray(self.support.variance(share, 1)) + share * (1 - share)
        return np.asarray(noise / self.reports[:, None])

    def _skew(self, share: Floats, deviations: float) -> Floats:
        """What the skewness of small counts adds to a limit (Cornish and Fisher 1938)."""
        ones = self.support.q + np.clip(share, 0.0, 1.0) * self.gap
        counts = self.reports[:, None] * self.gap
        return np.asarray((deviations**2 - 1) / 6 * (1 - 2 * ones) / counts)


def _inverse(normal: Floats) -> Floats:
    """The pseudo-inverse of normal equations: of regular ones quickly, by Cholesky's factors."""
    if normal.size:
        factor, failed = lapack.dpotrf(normal, lower=True, clean=False)
        if not failed:
            size = float(np.abs(normal).sum(axis=0).max())
            regular, _ = lapack.dpocon(factor, size, uplo="L")
            if regular >= _REGULAR:
                lower, _ = lapack.dpotri(factor, lower=True)
                below = np.tril(lower, -1)
                return np.asarray(below + below.T + np.diag(np.diag(lower)))
    return np.asarray(linalg.pinvh(normal))


class _Estimates(NamedTuple):
    """Estimates of strings from fitted rows.

    Attributes:
        share: float64, (items,).
        null_variance: float64, (items,): of the estimate, if nobody holds the item.
        kept: float64, (items,): how many reports in equal rows would tell as much of its devices.
    """

    share: Floats
    null_variance: Floats
    kept: Floats


def fitted_shares(
    rows: FittedRows,
    supporting: NDArray[np.int64],
    lemma: Support,
    cells: StringCells,
    supported: tuple[int, int],
) -> SketchShares:
    """The shares of strings: of those that are found, and of each other if it were fitted, too.

    Args:
        supporting: int64, (items,): how many reports support each.
        lemma: with which probabilities a report supports a string, over all hash functions.
        cells: where the strings are.
        supported: how many buckets a report supports, at least and at most.
    """
    scores = rows.explain(supporting.size, cells)
    found, total = _estimates(rows, cells), rows.total
    variance = np.maximum(found.null_variance, LEAST_VARIANCE)
    # A report that supports a string does not support all others, and the other way round.
    other_cells = rows.buckets - 1
    ends = -min(supported[1], other_cells) / other_cells, 1 - max(supported[0] - 1, 0) / other_cells
    moved = influence(
        found.share, ends[0] / rows.gap, ends[1] / rows.gap, reports=total, about=found.kept
    )
    usual = float(rows.support.variance(0.0, total)) * rows.buckets / other_cells
    family = max(rows.fit.misfit - 1, 0.0) * usual
    shares = SketchShares(
        share=found.share,
        variance=variance,
        null_variance=variance,
        support_counts=SupportCounts(supporting, total, lemma, family),
        influence=np.asarray(moved),
        law_scores=scores,
        kept=found.kept,
        rows=rows,
        deviations=rows.deviations,
        unlisted=rows.unlisted,
    )
    clipped = np.clip(found.share, 0.0, 1.0)
    return replace(shares, variance=shares.variance_with(clipped, Allowance(total)))


def _estimates(rows: FittedRows, cells: StringCells) -> _Estimates:
    fit, total = rows.fit, rows.total
    pulled, own = cells.sums([rows.pulls, fit.own_weight])
    empty = float(np.median(fit.own_weight, axis=1).sum())
    own = np.maximum(own, _LEAST_KEPT * empty)
    share = pulled / (own * fit.left)
    unit = float(np.var(rows.pulls, axis=1).sum() / fit.own_weight.mean(axis=1).sum())
    null_variance, kept = unit / (own * fit.left**2), total * np.clip(own / empty, 0.0, 1.0)
    if fit.items.size:
        where = np.arange(rows.rows), cells.buckets(fit.items)
        mine = fit.own_weight[where]
        whole = np.maximum(mine.sum(axis=1), _LEAST_KEPT * empty)
        parts = mine / whole[:, None]
        others = np.clip(fit.fitted[where] - fit.share[:, None], 0.0, 1.0)
        noise = (parts**2 * rows.stated(others.T).T).sum(axis=1) * rows.buckets / (rows.buckets - 1)
        share[fit.items] = fit.share
        null_variance[fit.items] = fit.misfit * fit.inverse * whole * noise
        kept[fit.items] = 1 / np.maximum((parts**2 / rows.reports).sum(axis=1), 1 / total)
    return _Estimates(share, null_variance, kept)
