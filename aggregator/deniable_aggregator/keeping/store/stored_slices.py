"""Reading slices: what was counted by day and key, at one moment."""

from __future__ import annotations

from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import Connection, ScalarSelect, select

from deniable_aggregator.keeping.store.encoding import CounterSum, holds_reports, unpack_reports
from deniable_aggregator.keeping.store.merging import ReportCounter, add_reports
from deniable_aggregator.keeping.store.parts import key_ids, read_rests
from deniable_aggregator.keeping.store.schema import metrics, tallies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
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
    for (epoch, key), parts in groupby(_parts(connection, counter, since, until), itemgetter(0, 1)):
        packed, counters, reports, largest = [], [], 0, 0
        for _, _, counted, body, most in parts:
            reports += counted
            largest = max(largest, most)
            if holds_reports(body):
                packed.append(unpack_reports(body))
            else:
                counters.append(body)
        yield StoredSlice(epoch, names[key], reports, b"".join(packed), tuple(counters), largest)


def metric_number(digest: bytes) -> ScalarSelect[int]:
    """The number of a spec, in a query."""
    return select(metrics.c.number).where(metrics.c.digest == digest).scalar_subquery()


_Part = tuple[int, int, int, bytes, int]
"""Day, number of the key, number of reports, body, and largest upload."""


def _parts(
    connection: Connection, counter: ReportCounter, since: int, until: int
) -> Iterator[_Part]:
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
    with connection.execute(query) as rows:
        for portion in _portions(chain.from_iterable(rows.partitions())):
            rests = read_rests(
                connection, [row.part for row in portion if len(row.body) < row.size]
            )
            for epoch, key, part, reports, _, body, largest in portion:
                yield epoch, key, reports, bytes(body) + rests.get(part, b""), largest


def _portions(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Rows whose whole parts fit into memory together, or one that is larger."""
    portion: list[Any] = []
    size = 0
    for row in rows:
        if portion and (size + row.size > FETCHED_BYTES or len(portion) == FETCHED_ROWS):
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += row.size
    if portion:
        yield portion
