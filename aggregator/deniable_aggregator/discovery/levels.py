"""What one level of a trie's tally says about its cells, and what is already explained of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.mechanisms.base import Support


_UNITS: Final = 100
"""So many units of `Level.rounded` are a standard error: the rounding of 16 rows adds one."""


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
        variance: of an estimated share where nobody is, times the reports.
        cells: in a row.
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
        self.variance = self.q * (1 - self.q) / (self.p - self.q) ** 2
        # The first cells once more at the end, so that no slice of children has to wrap around.
        wrapped = 1 << bits if number else 0
        self._excess = np.empty((len(reports), self.cells + wrapped), np.float32)
        for row, supported in enumerate(supporting):
            own = (supported - self.reports[row] * self.q) / (self.p - self.q)
            self._excess[row, : self.cells] = own
            self._excess[row, self.cells :] = own[:wrapped]

    @property
    def weight(self) -> float:
        """The inverse variance of an estimated share where nobody is; 0 without reports."""
        return self.total / self.variance

    @property
    def deviation(self) -> float:
        """The standard error of an estimated share where nobody is; infinite without reports."""
        return self.weight**-0.5 if self.total else np.inf

    def estimates(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Estimated shares of what is in these cells and not explained yet; 0 without reports.

        Args:
            cells: int64, (strings, rows).

        Returns:
            float64, (strings,).
        """
        rows, width = self._excess.shape
        places = cells + np.arange(0, rows * width, width)
        sums = self._excess.ravel().take(places).sum(axis=1, dtype=np.float64)
        return np.asarray(sums / max(self.total, 1.0))

    def rounded(self) -> tuple[NDArray[np.int16], float]:
        """The excess of all cells in small integers, to scan many cells quickly.

        Returns:
            int16, (rows, cells and the first ones again): what is beyond the range of a sum over
            the rows is clipped. The unit in devices, a hundredth of the standard error of a sum.
        """
        unit = self.deviation * self.total / _UNITS
        most = np.iinfo(np.int16).max // len(self._excess)
        rounded = np.empty(self._excess.shape, np.int16)
        for row, excess in enumerate(self._excess):
            rounded[row] = np.clip(np.rint(excess / np.float32(unit)), -most, most)
        return rounded, unit

    def first_row(self) -> NDArray[np.float64]:
        """Estimated shares of all cells of a level of one row: float64, (cells,)."""
        return np.asarray(self._excess[0].astype(np.float64) / max(self.total, 1.0))

    def explain(self, cells: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
        """Takes out what strings of these shares put into their cells.

        Args:
            cells: int64, (strings, rows).
            shares: float64, (strings,); negative ones put something back.
        """
        for row, reports in enumerate(self.reports.tolist()):
            column = cells[:, row]
            devices: Any = (shares * reports).astype(np.float32)
            np.subtract.at(self._excess[row], column, devices)
            overlapping = column < self._excess.shape[1] - self.cells
            np.subtract.at(
                self._excess[row], column[overlapping] + self.cells, devices[overlapping]
            )
