"""The bytes of a tally's parts, in one of two forms: its reports, or its counters.

The first byte says which form, so that a part describes itself:

| byte | what follows |
|---|---|
| 1 to 8 | counters, each little-endian in so many bytes |
| 16 | counters in sections, see `counters` |
| 128 | reports, sorted, one after the other |
| 129 | a byte with their width, and their columns compressed, see `reports` |
| 130 | the same of the differences between reports that are read as numbers |
| 192 to 194 | as 128 to 130, of reports that an archive has |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.keeping.store.counters import (
    EMPTY_CELLS,
    NEARLY_EMPTY_CELLS,
    add_counters,
    compress,
    count_cells,
    decode_many,
    decompress,
    encode_counters,
    encode_places,
    read_places,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "CounterSum",
    "add_counters",
    "count_cells",
    "decode_many",
    "encode_counters",
    "encode_reports",
    "holds_reports",
    "is_archived",
    "join_reports",
    "mark_archived",
    "unpack_reports",
]


PLAIN: Final = 128
COLUMNS: Final = 129
DIFFERENCES: Final = 130
WIDEST_NUMBER: Final = 8
ARCHIVED: Final = 64
"""Is added to one of them for reports that an archive has."""

WORTH_COMPRESSING: Final = 64
"""Fewer bytes than this stay as they are: a frame alone has about ten."""

MOST_COLUMNS: Final = 255
FEW_REPORTS: Final = 32


def holds_reports(body: bytes) -> bool:
    """Whether a part is in the form of reports; otherwise it is in the form of counters."""
    return body[0] >= PLAIN


def is_archived(body: bytes) -> bool:
    """Whether an archive has the reports of a part in the form of reports."""
    return bool(body[0] & ARCHIVED)


def mark_archived(body: bytes) -> bytes:
    """A part in the form of reports, marked as one that an archive has."""
    return bytes((body[0] | ARCHIVED,)) + body[1:]


def join_reports(payloads: Iterable[bytes], width: int) -> bytes:
    """Puts payloads of one spec together, with their reports sorted.

    Args:
        payloads: whole reports.
        width: how many bytes a report has.
    """
    joined = b"".join(payloads)
    if width == 1 or len(joined) > FEW_REPORTS * width:
        return _sort_reports(joined, width).tobytes()
    return b"".join(sorted(joined[at : at + width] for at in range(0, len(joined), width)))


def encode_reports(reports: bytes, width: int) -> bytes:
    """The part that holds reports.

    Sorted reports have columns that repeat and columns of noise, so they are compressed column by
    column. Narrow reports are numbers, and their differences are smaller numbers. Where nothing is
    smaller, reports are left as they are.

    Args:
        reports: as `join_reports` returns them.
        width: how many bytes a report has.
    """
    plain = bytes((PLAIN,)) + reports
    if len(reports) < WORTH_COMPRESSING or width > MOST_COLUMNS:
        return plain
    rows = np.frombuffer(reports, np.uint8).reshape(-1, width)
    forms = [plain, bytes((COLUMNS, width)) + compress(rows.T.tobytes())]
    if 1 < width <= WIDEST_NUMBER:
        differences = _rows(np.diff(_numbers(rows), prepend=np.uint64(0)), width)
        forms.append(bytes((DIFFERENCES, width)) + compress(differences.T.tobytes()))
    return min(forms, key=len)


def unpack_reports(body: bytes) -> bytes:
    """The reports of a part in the form of reports, one after the other.

    Raises:
        ValueError: if the part is damaged.
    """
    form = body[0] & ~ARCHIVED
    if form == PLAIN:
        return body[1:]
    if form not in (COLUMNS, DIFFERENCES):
        raise ValueError(f"a part of reports must begin with 128 to 130, got {form}")
    rows = np.frombuffer(decompress(body[2:]), np.uint8).reshape(body[1], -1).T
    if form == DIFFERENCES:
        rows = _rows(np.cumsum(_numbers(rows), dtype=np.uint64), body[1])
    return rows.tobytes()


def _numbers(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Reports of up to 8 bytes as numbers, the first byte the highest: uint64, (reports,)."""
    wide = np.zeros((len(rows), WIDEST_NUMBER), np.uint8)
    wide[:, WIDEST_NUMBER - rows.shape[1] :] = rows
    return wide.view(">u8").ravel().astype(np.uint64)


def _rows(numbers: NDArray[np.uint64], width: int) -> NDArray[np.uint8]:
    """Numbers as reports: uint8, (reports, width)."""
    wide = numbers.astype(">u8").view(np.uint8).reshape(-1, WIDEST_NUMBER)
    return wide[:, WIDEST_NUMBER - width :]


def _sort_reports(joined: bytes, width: int) -> NDArray[Any]:
    # The stable kind is a radix sort of narrow numbers, and at once done with what is in order.
    if width in (1, 2, 4, 8):
        numbers = np.frombuffer(joined, f">u{width}").astype(f"=u{width}", copy=False)
        return np.sort(numbers, kind="stable").astype(f">u{width}", copy=False)
    return np.sort(np.frombuffer(joined, f"S{width}"), kind="stable")


class CounterSum:
    """Counters that are added up.

    While there are fewer counts than one for `EMPTY_CELLS` counters, only the places of the counts
    are held, and from then on an array.
    """

    def __init__(self, cells: int) -> None:
        self.cells = cells
        self._places: list[NDArray[np.int64]] = []
        self._few = 0
        self._array: NDArray[Any] | None = None

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return 8 * self._few if self._array is None else self._array.nbytes

    def shrink(self) -> None:
        """Holds its counters in integers as narrow as they can be: what is added may not fit."""
        if self._array is not None:
            ends = int(self._array.min(initial=0)), int(self._array.max(initial=0))
            self._array = self._array.astype(np.result_type(*map(np.min_scalar_type, ends)))

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

    def add(self, counters: NDArray[np.int64], *, fresh: bool = False) -> None:
        """Adds counters; those beyond its own are left out.

        Args:
            counters: int64, of one dimension.
            fresh: whether nobody else has them, so that they may become the sum.
        """
        shortened = counters[: self.cells]
        if self._array is None and not self._few and shortened.size == self.cells:
            self._array = shortened.astype(np.int64, copy=not fresh)
        else:
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
