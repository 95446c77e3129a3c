"""Which parts of a tally are worth merging, and what they are together.

A slice of few reports is stored as its reports. Once its counters are smaller, it is stored as
these. A merge rewrites old parts too, so it waits until there are enough new reports to pay for
that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from deniable_aggregator.keeping.store.encoding import (
    CounterSum,
    count_cells,
    encode_counters,
    encode_reports,
    holds_reports,
    is_archived,
    join_reports,
    mark_archived,
    unpack_reports,
)
from deniable_aggregator.keeping.store.parts import NewPart, StoredPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


ROW_BYTES: Final = 40
"""What a part costs beside its body."""

WORTH_OF_COUNTERS: Final = 5
"""New parts are merged with counters of up to so many times their size."""

WORTH_OF_REPORTS: Final = 2
"""New parts are merged with reports of up to so many times their size: reports are the same size
merged or not, so this only decides how often to try whether their counters are smaller."""

MOST_PARTS: Final = 64
"""With so many parts, all but the largest are merged, whatever their size."""

MERGED_BYTES: Final = 64 << 20
"""A merge reads no more bytes of parts at once."""

CELLS_PER_BYTE: Final = 64
"""While a day is open, counters are not tried where there are more than so many for each byte of
reports: trying takes time, and they are hardly smaller."""

CELLS_PER_REPORT: Final = 2
"""Counters of a sparse tally are not tried where there are more than so many for each report: they
are then not smaller, as a sorted list of places and its counts are the same information."""

FEW_BYTES: Final = 128
"""Reports of fewer bytes than this are not much larger than any counters but the narrowest."""


class ReportCounter(Protocol):
    """What the store asks of the tally of a metric."""

    @property
    def digest(self) -> bytes:
        """The digest of the metric's spec."""

    @property
    def report_bytes(self) -> int:
        """How many bytes a report has."""

    @property
    def cells(self) -> int:
        """How many counters an estimate needs: the first ones of those that are stored."""

    @property
    def stored_cells(self) -> int:
        """How many counters are stored."""

    @property
    def noise_is_permanent(self) -> bool:
        """Whether reports show permanent answers, so that closed days keep counters only."""

    @property
    def is_sparse(self) -> bool:
        """Whether it has places, and so many counters that nearly all of a slice are 0."""

    @property
    def has_places(self) -> bool:
        """Whether each report adds 1 to one counter, which `places` tells."""

    def places(self, payload: bytes) -> NDArray[np.int64]:
        """The counter of each report of a payload, where there are places: int64, (reports,)."""

    def check(self, payload: bytes) -> None:
        """Raises WireError if a payload is not a whole number of possible reports."""

    def fold(self, payload: bytes) -> tuple[int, NDArray[np.int64]]:
        """How many reports a payload has, and their counters: int64, (stored_cells,)."""


def worth_merging(parts: Sequence[StoredPart], new_bytes: int = 0) -> list[StoredPart]:
    """Chooses the parts of a slice to merge, with each other and with new reports.

    Args:
        parts: all parts of the slice.
        new_bytes: the size of reports that are written anyway; 0 for none.

    Returns:
        As many of the smallest parts as are worth it; none or at least two, with the new reports.
    """
    ascending = sorted(parts, key=lambda part: part.size)
    smaller = new_bytes + ROW_BYTES if new_bytes else 0
    chosen = 0
    for number, part in enumerate(ascending, start=1):
        worth = WORTH_OF_REPORTS if holds_reports(part.form) else WORTH_OF_COUNTERS
        if part.size + ROW_BYTES <= worth * smaller:
            chosen = number
        smaller += part.size + ROW_BYTES
        if smaller > MERGED_BYTES:
            break
    if len(parts) >= MOST_PARTS:
        chosen = max(chosen, len(parts) - 1)
    return ascending[:chosen]


def awaits_archive(body: bytes) -> bool:
    """Whether a part holds reports that no archive has."""
    return holds_reports(body) and not is_archived(body)


def merge(
    counter: ReportCounter,
    parts: Sequence[NewPart],
    *,
    final: bool = False,
    keep_reports: bool = False,
) -> list[NewPart]:
    """The fewest and smallest parts that hold what these hold, and know their largest upload.

    Counters of different lengths stay apart, as those that a shorter part lacks were never counted.

    Args:
        final: whether the day is closed: the smaller form is found whatever time that takes, and
            reports that show permanent answers become counters.
        keep_reports: whether reports that no archive has stay reports, in a part of their own.

    Returns:
        One part, or one for each length of counters.

    Raises:
        ValueError: if a part is damaged.
        WireError: if reports cannot be counted.
    """
    if keep_reports and (waiting := [part for part in parts if awaits_archive(part.body)]):
        joined = join_reports((unpack_reports(part.body) for part in waiting), counter.report_bytes)
        joined_part = NewPart(
            sum(part.reports for part in waiting),
            encode_reports(joined, counter.report_bytes),
            max(part.largest for part in waiting),
        )
        others = [part for part in parts if not awaits_archive(part.body)]
        return [joined_part, *merge(counter, others, final=final)]
    archived = any(holds_reports(part.body) and is_archived(part.body) for part in parts)
    payloads = [unpack_reports(part.body) for part in parts if holds_reports(part.body)]
    packed = join_reports(payloads, counter.report_bytes)
    sums: dict[int, tuple[int, CounterSum]] = {}
    for reports, body, _ in parts:
        if not holds_reports(body):
            before, total = _sum_of(sums, count_cells(body))
            total.add_part(body)
            sums[total.cells] = before + reports, total
    merged: list[NewPart] = []
    if packed and counter.stored_cells in sums:
        before, total = sums[counter.stored_cells]
        sums[counter.stored_cells] = before + add_reports(total, counter, packed), total
    elif packed and final and counter.noise_is_permanent:
        reports, counted = _counted_for_good(counter, packed)
        before, total = _sum_of(sums, counted.size)
        total.add(counted)
        sums[counted.size] = before + reports, total
    elif packed:
        smallest = _smallest(counter, packed, final=final)
        if archived and holds_reports(smallest.body):
            smallest = smallest._replace(body=mark_archived(smallest.body))
        merged.append(smallest)
    merged += [NewPart(reports, total.encode(counter.cells)) for reports, total in sums.values()]
    # Which of several parts the largest upload is in does not matter: readers take the largest.
    largest = max((part.largest for part in parts), default=0)
    return [part._replace(largest=largest) for part in merged]


def add_reports(total: CounterSum, counter: ReportCounter, payload: bytes) -> int:
    """Counts reports into a sum, and returns how many they are.

    Args:
        total: of the tally's counters, or of all that are stored.
        payload: whole reports, one after the other; at least one.

    Raises:
        WireError: if they cannot be counted.
    """
    if counter.has_places:
        places = counter.places(payload)
        total.add_places(places)
        return int(places.size)
    reports, counters = counter.fold(payload)
    total.add(counters, fresh=True)
    return reports


def _sum_of(sums: dict[int, tuple[int, CounterSum]], cells: int) -> tuple[int, CounterSum]:
    return sums.get(cells) or (0, CounterSum(cells))


def _smallest(counter: ReportCounter, packed: bytes, *, final: bool) -> NewPart:
    """Reports as they are or as counters, whichever is smaller."""
    as_reports = encode_reports(packed, counter.report_bytes)
    reports = len(packed) // counter.report_bytes
    size = len(as_reports)
    few = size < FEW_BYTES and size < counter.stored_cells
    if counter.is_sparse and reports * CELLS_PER_REPORT < counter.stored_cells:
        few = True
    if few or (not final and size * CELLS_PER_BYTE < counter.stored_cells):
        return NewPart(reports, as_reports)
    _, counted = counter.fold(packed)
    return NewPart(reports, min(as_reports, encode_counters(counted, counter.cells), key=len))


def _counted_for_good(counter: ReportCounter, packed: bytes) -> tuple[int, NDArray[np.int64]]:
    """Reports as counters, without those of diagnostics where the reports themselves are smaller.

    Permanent answers link the reports of a device, so they are not kept, whatever is smaller.
    """
    reports, counted = counter.fold(packed)
    whole = len(encode_counters(counted, counter.cells))
    if whole > len(encode_reports(packed, counter.report_bytes)):
        return reports, counted[: counter.cells]
    return reports, counted
