"""Reading slices: what was counted by day and key, at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, ScalarSelect, select

from deniable_aggregator.keeping.store.encoding import CounterSum, holds_reports, unpack_reports
from deniable_aggregator.keeping.store.merging import ReportCounter, add_reports
from deniable_aggregator.keeping.store.parts import key_ids, read_rests
from deniable_aggregator.keeping.store.schema import metrics, tallies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray


FETCHED_BYTES: Final = 4 << 20
FETCHED_ROWS: Final = 256
COUNTED_BYTES: Final = 8 << 20


class StoredSlice(NamedTuple):
    """The reports that one key brought for one day; `counters` and `packed` together are their sum.

    Attributes:
        epoch: the day.
        key: the id of the write key.
        packed: those that are not counted yet, one after the other; `Tally.fold` counts them.
        counters: the counters of all others, in parts; `keeping.store.encoding` decodes these.
        largest: the most of them that one upload brought; 0 if that is not known.
    """

    epoch: int
    key: str
    reports: int
    packed: bytes
    counters: tuple[bytes, ...]
    largest: int = 0


class TallyTotal(NamedTuple):
    """A sum of reports.

    Attributes:
        reports: how many reports it counts.
        cells: int64: their counters.
    """

    reports: int
    cells: NDArray[np.int64]


def count_slice(counter: ReportCounter, stored: StoredSlice) -> NDArray[np.int64]:
    """The counters of a slice: int64, (stored_cells,)."""
    total = CounterSum(counter.stored_cells)
    add_slices(total, counter, [stored])
    return total.array()


def add_slices(total: CounterSum, counter: ReportCounter, slices: Iterable[StoredSlice]) -> int:
    """Adds the counters of slices to a sum. Reports of many slices are counted at once.

    Args:
        total: of the tally's counters, or of all that are stored.

    Returns:
        How many reports they have.
    """
    reports, size = 0, 0
    packed: list[bytes] = []
    for stored_slice in slices:
        reports += stored_slice.reports
        for body in stored_slice.counters:
            total.add_part(body)
        packed.append(stored_slice.packed)
        size += len(stored_slice.packed)
        if size >= COUNTED_BYTES:
            add_reports(total, counter, b"".join(packed))
            packed, size = [], 0
    if size:
        add_reports(total, counter, b"".join(packed))
    return reports


def read_slices(
    connection: Connection, counter: ReportCounter, since: int, until: int
) -> Iterator[StoredSlice]:
    """Yields the slices of one spec by day and then by number of the key.

    Args:
        until: the last day, inclusive.
    """
    names = key_ids(connection)
    day, owner, reports, most = 0, 0, 0, 0
    packed: list[bytes] = []
    counters: list[bytes] = []
    for portion in _portions(connection, counter, since, until):
        # Hundreds of thousands of slices are read for one answer: there is no call for each part
        # but those that it needs.
        for epoch, key, counted, body, largest in portion:
            if (key != owner or epoch != day) and (packed or counters):
                yield StoredSlice(
                    day, names[owner], reports, b"".join(packed), tuple(counters), most
                )
                packed, counters, reports, most = [], [], 0, 0
            day, owner = epoch, key
            reports += counted
            most = max(most, largest)
            if holds_reports(body):
                packed.append(unpack_reports(body))
            else:
                counters.append(body)
    if packed or counters:
        yield StoredSlice(day, names[owner], reports, b"".join(packed), tuple(counters), most)


def metric_number(digest: bytes) -> ScalarSelect[int]:
    """The number of a spec, in a query."""
    return select(metrics.c.number).where(metrics.c.digest == digest).scalar_subquery()


_Part = tuple[int, int, int, bytes, int]
"""Day, number of the key, number of reports, body, and largest upload."""


def _portions(
    connection: Connection, counter: ReportCounter, since: int, until: int
) -> Iterator[list[_Part]]:
    """Parts by day and key, as many at once as fit into memory together, or one that is larger."""
    query = (
        select(
            tallies.c.epoch,
            tallies.c.key,
            tallies.c.part,
            tallies.c.reports,
            tallies.c.size,
            tallies.c.body,
            tallies.c.largest,
        )
        .where(
            tallies.c.metric == metric_number(counter.digest),
            tallies.c.epoch.between(since, until),
        )
        .order_by(tallies.c.epoch, tallies.c.key)
        .execution_options(yield_per=FETCHED_ROWS)
    )
    with connection.execute(query) as result:
        for rows in result.partitions():
            for some in _fitting(rows):
                rests = read_rests(
                    connection, [part for _, _, part, _, size, body, _ in some if len(body) < size]
                )
                yield [
                    (epoch, key, reports, bytes(body) + rests.get(part, b""), largest)
                    for epoch, key, part, reports, _, body, largest in some
                ]


def _fitting(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Rows whose whole parts fit into memory together, or one that is larger."""
    sizes = [size for _, _, _, _, size, _, _ in rows]
    if sum(sizes) <= FETCHED_BYTES:
        yield rows
        return
    first, together = 0, 0
    for place, size in enumerate(sizes):
        if place > first and together + size > FETCHED_BYTES:
            yield rows[first:place]
            first, together = place, 0
        together += size
    yield rows[first:]
