"""Counting reports that are a group number and a vector of bits: sketches and Bloom filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.tallies.base import Tally
from deniable_aggregator.tallies.bitsums import bit_sums
from deniable_shared.errors import WireError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

_CHUNK_REPORTS = 1 << 18


class BitsTally(Tally):
    """Per group: the number of reports, then how often each bit was 1.

    Args:
        spec: the metric.
        groups: number of rows or cohorts.
        bits: length of the vector.
    """

    def __init__(self, spec: Spec, groups: int, bits: int) -> None:
        super().__init__(spec)
        self._groups = groups
        self._bits = bits
        self._dtype = np.dtype([("group", ">u2"), ("bits", f"V{bits // 8}")])

    @property
    def cells(self) -> int:
        """Groups x (1 + bits)."""
        return self._groups * (1 + self._bits)

    def check(self, payload: bytes) -> None:
        """Every group number exists; any bits are possible."""
        self._check_width(payload)
        highest = int(self._parse(payload)["group"].max())
        if highest >= self._groups:
            raise WireError(
                f"the group of a report of {self.spec.name} must be below {self._groups}, "
                f"got {highest}"
            )

    def count(self, payload: bytes) -> NDArray[np.int64]:
        """Sums the bits by group, a bounded number of reports at a time."""
        self.check(payload)
        reports = self._parse(payload)
        sums = np.zeros((self._groups, 1 + self._bits), np.int64)
        for start in range(0, reports.size, _CHUNK_REPORTS):
            chunk = reports[start : start + _CHUNK_REPORTS]
            sums += bit_sums(chunk["group"].astype(np.uint16), chunk["bits"], self._groups)
        return sums.ravel()

    def reports(self, counts: NDArray[np.int64]) -> int:
        """The sum of the groups' report counts."""
        return int(counts[:: 1 + self._bits].sum())

    def _grouped(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Reports per group, int64 (groups,), and ones per group and bit, int64 (groups, bits)."""
        table = counts.reshape(self._groups, 1 + self._bits)
        return table[:, 0], table[:, 1:]

    def _parse(self, payload: bytes) -> NDArray[Any]:
        return np.frombuffer(payload, self._dtype)
