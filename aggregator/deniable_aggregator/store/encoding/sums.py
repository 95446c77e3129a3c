"""A sum of counters that takes no more memory and time than what is added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.store.encoding.counters import (
    EMPTY_CELLS,
    NEARLY_EMPTY_CELLS,
    add_counters,
    encode_counters,
    encode_places,
    read_places,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CounterSum:
    """Counters that are added up.

    While there are fewer counts than one for `EMPTY_CELLS` counters, only the places of the counts
    are held, and from then on an array.
    """

    def __init__(self, cells: int) -> None:
        self.cells = cells
        self._places: list[NDArray[np.int64]] = []
        self._few = 0
        self._array: NDArray[np.int64] | None = None

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return 8 * self._few if self._array is None else self._array.nbytes

    def add_places(self, places: NDArray[np.int64]) -> None:
        """Adds 1 to counters.

        Args:
            places: int64, in any order: a counter as often as 1 is added to it.
        """
        if self._array is None and EMPTY_CELLS * (self._few + places.size) <= self.cells:
            self._places.append(places)
            self._few += places.size
        else:
            np.add.at(self._whole(), places, 1)

    def add(self, counters: NDArray[np.int64]) -> None:
        """Adds counters; those beyond its own are left out.

        Args:
            counters: int64, of one dimension.
        """
        shortened = counters[: self.cells]
        self._whole()[: shortened.size] += shortened

    def add_part(self, body: bytes) -> None:
        """Adds the counters of a part; those that it lacks are 0, and those beyond are left out.

        Raises:
            ValueError: if the part is damaged.
        """
        places = read_places(body)
        if places is None:
            add_counters(self._whole(), body)
        else:
            self.add_places(places[places < self.cells])

    def add_sum(self, other: CounterSum) -> None:
        """Adds another sum. Counters beyond the last of this sum are left out."""
        if other._array is not None:
            self.add(other._array)
        for places in other._places:
            self.add_places(places if other.cells <= self.cells else places[places < self.cells])

    def places(self) -> NDArray[np.int64] | None:
        """Each counter as often as its count, ascending; None if it is held as an array."""
        if self._array is not None:
            return None
        # Not in place: arrays of other sums may be among them.
        self._places = [np.sort(np.concatenate([np.zeros(0, np.int64), *self._places]))]
        return self._places[0]

    def counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The counters that are not 0, ascending, and their counts: int64, twice."""
        places = self.places()
        if places is not None:
            return np.unique(places, return_counts=True)
        (nonzero,) = np.nonzero(self._whole())
        return nonzero, self._whole()[nonzero]

    def array(self) -> NDArray[np.int64]:
        """All counters: int64, (cells,); the sum itself, not to be changed."""
        return self._whole()

    def count(self) -> int:
        """The sum of all counters."""
        return self._few if self._array is None else int(self._array.sum())

    def least(self) -> int:
        """The smallest counter."""
        return 0 if self._array is None else int(self._array.min())

    def equals(self, other: CounterSum) -> bool:
        """Whether another sum has the same counters."""
        own, two = self.places(), other.places()
        if own is None or two is None:
            return np.array_equal(self._whole(), other._whole())
        return self.cells == other.cells and np.array_equal(own, two)

    def encode(self, first_section: int) -> bytes:
        """The part that holds these counters.

        Args:
            first_section: how many of them are those of the tally; those of its diagnostics follow.
        """
        places = self.places()
        one_section = first_section >= self.cells
        if (
            one_section
            and places is not None
            and 0 < places.size * NEARLY_EMPTY_CELLS <= self.cells
        ):
            return encode_places(places, self.cells)
        return encode_counters(self._count_places(), first_section)

    def _whole(self) -> NDArray[np.int64]:
        self._array = self._count_places()
        self._places, self._few = [], 0
        return self._array

    def _count_places(self) -> NDArray[np.int64]:
        if self._array is not None:
            return self._array
        counters = np.zeros(self.cells, np.int64)
        for places in self._places:
            np.add.at(counters, places, 1)
        return counters
