"""Counters of few reports, without an array of all that are 0."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, Union

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FewCounts:
    """What a tally counts of few reports, each of which adds 1 to one counter.

    Attributes:
        places: int64, (reports,), ascending: the counter of each report.
        cells: how many counters the tally has.
    """

    places: NDArray[np.int64]
    cells: int

    @property
    def reports(self) -> int:
        """How many reports are counted."""
        return int(self.places.size)

    @cached_property
    def array(self) -> NDArray[np.int64]:
        """All counters: int64, (cells,)."""
        counters = np.zeros(self.cells, np.int64)
        np.add.at(counters, self.places, 1)
        return counters


Counts = Union["NDArray[np.int64]", FewCounts]
"""What a tally counts of reports: all of its counters, int64, (cells,), or those that are not 0."""

AnyCounts = TypeVar("AnyCounts", bound=Counts)


def all_counters(counts: Counts) -> NDArray[np.int64]:
    """All counters, however they are held: int64, (cells,)."""
    return counts.array if isinstance(counts, FewCounts) else counts
