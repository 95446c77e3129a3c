"""A batch: rows of the inbox on their way into tallies, counted once or left where they were."""

from __future__ import annotations

import secrets
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from sqlalchemy import delete, insert, select

from deniable_aggregator.store.chunks import in_chunks
from deniable_aggregator.store.schema import inbox, set_aside, tallies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import InboxRow

CELL: Final = np.dtype("<i8")
PART_BITS: Final = 63


class TallyTotal(NamedTuple):
    """Tallies added up.

    Attributes:
        reports: how many reports are in it.
        cells: int64, as long as the spec's tally.
    """

    reports: int
    cells: NDArray[np.int64]


class TallyKey(NamedTuple):
    """Where reports belong: to a spec, a day and a write key."""

    digest: bytes
    epoch: int
    key: str


class _TakenError(Exception):
    """Somebody else has settled some of these rows; undoes the transaction."""


class Batch:
    """Rows of the inbox that are being counted.

    Args:
        rows: the rows.
        writing: begins a transaction, or joins the one that the rows are locked in.

    Attributes:
        rows: the rows.
    """

    def __init__(
        self, rows: list[InboxRow], writing: Callable[[], AbstractContextManager[Connection]]
    ) -> None:
        self.rows = rows
        self._transaction = writing

    def groups(self) -> Mapping[TallyKey, list[InboxRow]]:
        """The rows by where they belong."""
        groups: defaultdict[TallyKey, list[InboxRow]] = defaultdict(list)
        for row in self.rows:
            groups[TallyKey(row.digest, row.epoch, row.key)].append(row)
        return groups

    def move_to_tally(self, where: TallyKey, counted: TallyTotal, rows: Sequence[InboxRow]) -> bool:
        """Adds what rows amount to and deletes them, in one transaction.

        Args:
            where: where all of the rows belong.
            counted: what they amount to.
            rows: some of this batch.

        Returns:
            False if somebody else was first with one of the rows; then nothing has changed.
        """
        try:
            with self._transaction() as connection:
                if delete_rows(connection, [row.id for row in rows]) != len(rows):
                    raise _TakenError
                add_part(connection, where, counted)
        except _TakenError:
            return False
        return True

    def set_aside(self, rows: Sequence[InboxRow]) -> None:
        """Takes rows that cannot be counted out of the way; they are kept and shown as such."""
        columns = [column.name for column in set_aside.c]
        with self._transaction() as connection:
            for ids in in_chunks([row.id for row in rows]):
                chosen = select(*(inbox.c[name] for name in columns)).where(inbox.c.id.in_(ids))
                connection.execute(insert(set_aside).from_select(columns, chosen))
                delete_rows(connection, ids)


def delete_rows(connection: Connection, row_ids: Sequence[int]) -> int:
    """Deletes rows of the inbox inside a transaction and says how many were still there."""
    return sum(
        connection.execute(delete(inbox).where(inbox.c.id.in_(ids))).rowcount
        for ids in in_chunks(row_ids)
    )


def add_part(connection: Connection, where: TallyKey, counted: TallyTotal) -> None:
    """Adds to a tally inside a transaction, without waiting for others who add to it."""
    connection.execute(
        insert(tallies).values(
            **where._asdict(),
            part=secrets.randbits(PART_BITS),
            reports=counted.reports,
            cells=counted.cells.astype(CELL, copy=False).tobytes(),
        )
    )


def sum_parts(parts: Iterable[tuple[int, bytes]], cells: int) -> TallyTotal:
    """The sum of parts, each with its number of reports and its cells as they are stored.

    Cells that a part does not have are zero there; those beyond `cells` are left out.
    """
    reports = 0
    total = np.zeros(cells, np.int64)
    for part_reports, part_cells in parts:
        reports += part_reports
        part = np.frombuffer(part_cells, CELL)[:cells]
        total[: len(part)] += part
    return TallyTotal(reports, total)
