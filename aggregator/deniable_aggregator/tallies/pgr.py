"""Projective geometry response: sums the counts over all hyperplanes at once."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
from scipy import fft

from deniable_aggregator.kernels.projective_space import singer_cycle
from deniable_aggregator.tallies.base import tallies
from deniable_aggregator.tallies.oracle import IndexTally
from deniable_shared.mechanisms import ProjectiveGeometryResponse

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHUNK_CELLS: Final = 1 << 20
_PART_BITS: Final = 24
"""Counts up to this many bits are transformed at once: in float64 the sums of the largest space
then come out within a few hundredths of the integers that they are (tested)."""

_REMEMBERED_SPACES: Final = 8

_MAX_SUPPORTED_POINTS: Final = 65_536
"""In larger spaces it is not worked out how many of some items each point supports."""


class _Space(NamedTuple):
    """A space along its cycle.

    Attributes:
        numbers: int32, (points,): the number of each point along the cycle.
        places: int32, (size,): the place of each item.
        length: of the transform.
        spectrum: complex128, (length // 2 + 1,): the transform of the set Z, continued to twice
            its length so that a correlation padded with zeros is the cyclic one.
    """

    numbers: NDArray[np.int32]
    places: NDArray[np.int32]
    length: int
    spectrum: NDArray[np.complex128]


@tallies(ProjectiveGeometryResponse)
class ProjectiveGeometryResponseTally(IndexTally):
    """One counter per point; an item's support is the sum over its hyperplane."""

    def supporting(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sums over the items' hyperplanes, exact."""
        mechanism = cast("ProjectiveGeometryResponse", self.oracle)
        space = _space(mechanism.q, mechanism.t, mechanism.size)
        sums = np.empty((len(counts), mechanism.size), np.int64)
        rows = max(1, _CHUNK_CELLS // self.cells)
        for start in range(0, len(counts), rows):
            chunk = slice(start, start + rows)
            sums[chunk] = _sums(counts[chunk][:, space.numbers], space)
        return sums

    def support_range(self, chosen: NDArray[np.int64]) -> tuple[int, int]:
        """The fewest and the most of them on one hyperplane."""
        supported = self._support_per_point(chosen)
        if supported is None:
            return super().support_range(chosen)
        return int(supported.min()), int(supported.max())

    def sum_variance(
        self, counts: NDArray[np.int64], chosen: NDArray[np.int64], share: float
    ) -> float | None:
        """The sample variance of how many of the items each report supports.

        Items are points, and sets of neighbours have many on a line: their variance was up to 2.7
        times that of a random set. But the tally says how many of the chosen items every single
        report supports. The sample variance of that number estimates the variance about the
        population without bias; about these devices it is less by f (1 - f) / n, since a device
        that holds one of the items supports p - q of them more.
        """
        supported = self._support_per_point(chosen)
        if supported is None:
            return None
        reports, numbers = int(counts.sum()), supported.astype(np.float64)
        deviation = numbers - counts @ numbers / reports
        sample = float(counts @ deviation**2) / max(reports - 1, 1)
        support = self.oracle.support
        return max(sample / (support.p - support.q) ** 2 - share * (1 - share), 0.0) / reports

    def _support_per_point(self, chosen: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """How many of some items a report of each point supports: int64, (points,).

        None if the space is too large.
        """
        if self.oracle.outcomes > _MAX_SUPPORTED_POINTS:
            return None
        # A point is on the hyperplane of another if and only if that is on its own.
        oracle = cast("ProjectiveGeometryResponse", self.oracle)
        everything = type(self)(replace(oracle, size=oracle.outcomes))
        present = np.zeros((1, self.oracle.outcomes), np.int64)
        present[0, chosen] = 1
        return np.asarray(everything.supporting(present)[0])


def _sums(counts: NDArray[np.int64], space: _Space) -> NDArray[np.int64]:
    """The same for counts along the cycle, split where they are too large for float64."""
    if int(counts.max()) >> _PART_BITS:
        low = counts & (1 << _PART_BITS) - 1
        return (_sums(counts >> _PART_BITS, space) << _PART_BITS) + _sums(low, space)
    transformed = fft.rfft(counts.astype(np.float64), space.length)
    np.conjugate(transformed, out=transformed)
    transformed *= space.spectrum
    sums = fft.irfft(transformed, space.length, overwrite_x=True)[:, space.places]
    return np.asarray(np.rint(sums), np.int64)


@lru_cache(_REMEMBERED_SPACES)
def _space(q: int, t: int, size: int) -> _Space:
    numbers, places, zeros = singer_cycle(q, t, size)
    length = int(fft.next_fast_len(2 * zeros.size - 1, real=True))
    continued: NDArray[Any] = np.concatenate([zeros, zeros[:-1]]).astype(np.float64)
    return _Space(numbers, places, length, np.asarray(fft.rfft(continued, length)))
