"""The reports of a level, as the devices that seem to be in each of its cells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import special

from deniable_aggregator.counting.statistics.binomial import log_probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms.base import Support


class Level:
    """The devices that seem to be in each cell, above what cells have by chance.

    A report supports the cell of its device with probability p, and any other with q. The excess of
    a cell, (supporting - reports q) / (p - q), has the number of devices in the cell as its mean
    and, where nobody is, the variance reports q (1 - q) / (p - q)^2.

    Args:
        number: of the level, from 0.
        support: p and q of the level.
        reports: int64, (rows,).
        supporting: int64, (rows, cells).

    Attributes:
        reports: float64, (rows,).
        total: all reports of the level.
        p: probability that a report supports the cell of its device.
        q: the probability that it supports any other.
        spread: by which factor the cells vary more than noise makes them, if notably; else 1.
        variance: of an estimated share where nobody is, times the reports.
        cells: in a row.
        excess: float32, (rows, cells): the devices that seem to be in each cell and are not
            explained yet.
    """

    def __init__(
        self,
        number: int,
        bits: int,
        support: Support,
        reports: NDArray[np.int64],
        supporting: NDArray[np.int64],
    ) -> None:
        self.number = number
        self.bits = bits
        self.cells = supporting.shape[1]
        self.reports = reports.astype(np.float64)
        self.total = float(reports.sum())
        self.p, self.q = support.p, support.q
        self.spread = _spread(reports, supporting, self.q)
        self.variance = self.spread**2 * self.q * (1 - self.q) / (self.p - self.q) ** 2
        self.excess = np.empty(supporting.shape, np.float32)
        for row, supported in enumerate(supporting):
            self.excess[row] = (supported - self.reports[row] * self.q) / (self.p - self.q)

    @property
    def weight(self) -> float:
        """The inverse variance of an estimated share where nobody is; 0 without reports."""
        return self.total / self.variance

    @property
    def deviation(self) -> float:
        """The standard error of an estimated share where nobody is; infinite without reports."""
        return self.weight**-0.5 if self.total else np.inf

    def estimates(self, cells: NDArray[np.integer]) -> NDArray[np.float64]:
        """Estimated shares of what is in these cells and not explained yet; 0 without reports.

        Args:
            cells: integers, (strings, rows).

        Returns:
            float64, (strings,).
        """
        sums = np.zeros(len(cells))
        for row, excess in enumerate(self.excess):  # a row stays in the cache
            sums += excess.take(cells[:, row])
        return np.asarray(sums / max(self.total, 1.0))

    def first_row(self) -> NDArray[np.float64]:
        """Estimated shares of all cells of a level of one row: float64, (cells,)."""
        return np.asarray(self.excess[0].astype(np.float64) / max(self.total, 1.0))

    def explain(self, cells: NDArray[np.integer], shares: NDArray[np.float64]) -> None:
        """Takes out what strings of these shares put into their cells.

        Args:
            cells: integers, (strings, rows).
            shares: float64, (strings,); negative ones put something back.
        """
        for row, reports in enumerate(self.reports.tolist()):
            devices: Any = (shares * reports).astype(np.float32)
            np.subtract.at(self.excess[row], cells[:, row], devices)


NOTABLE_SPREAD: Final = 1.02
"""A smaller factor is not told from that of honest reports."""
_ENOUGH_CELLS: Final = 20_000
"""Of fewer cells the spread is not known as well as that."""
_TAIL: Final = float(special.ndtr(-1))
_NEVER_BEYOND: Final = 12
"""A binomial count is no more standard deviations, and one, from its mean."""


def _spread(reports: NDArray[np.int64], supporting: NDArray[np.int64], q: float) -> float:
    """How much farther apart the cells of rows are than those that nobody is in, if notably; or 1.

    Between the quantiles that are one standard deviation from the mean of a normal law are two of
    them. Cells that devices are in are too few to move these; forged reports move all cells. Both
    are interpolated, the counts' and the binomial law's, so that the steps of either do not matter.

    Args:
        reports: int64, (rows,).
        supporting: int64, (rows, cells).
    """
    if supporting.size < _ENOUGH_CELLS:
        return 1.0
    seen, law = 0.0, 0.0
    for row, count in zip(supporting, reports.tolist(), strict=True):
        mean = count * q
        reach = _NEVER_BEYOND * (math.sqrt(mean) + 1)
        first, last = max(0, int(mean - reach)), min(count, int(mean + reach))
        counts = np.arange(first, last + 1)
        likely = np.exp(log_probabilities(counts, count, q))
        found = np.bincount(np.clip(row, first, last) - first, minlength=counts.size)
        law += _quantile_distance(likely) ** 2
        seen += _quantile_distance(found / found.sum()) ** 2
    spread = math.sqrt(seen / law)
    return spread if spread > NOTABLE_SPREAD else 1.0


def _quantile_distance(probabilities: NDArray[np.float64]) -> float:
    """Between the quantiles of `_TAIL` and 1 - `_TAIL` of consecutive integers."""
    cumulative = np.concatenate([[0.0], np.cumsum(probabilities)])
    low, high = np.interp([_TAIL, 1 - _TAIL], cumulative, np.arange(cumulative.size))
    return float(high - low)
