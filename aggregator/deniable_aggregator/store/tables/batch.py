"""A batch: inbox rows that are added to tallies, each once."""

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
    """A sum of tallies.

    Attributes:
        reports: how many reports it counts.
        cells: int64, as long as the tally of the spec.
    """

    reports: int
    cells: NDArray[np.int64]


class TallyKey(NamedTuple):
    """What identifies a tally: a spec, a day and a write key."""

    digest: bytes
    epoch: int
    key: str


class _TakenError(Exception):
    """Another process has counted one of these rows; undoes the transaction."""


class Batch:
    """Rows of the inbox that are being counted.

    Args:
        rows: the rows.
        writing: begins a transaction, or a savepoint in the one that holds the rows' locks.

    Attributes:
        rows: the rows.
    """

    def __init__(
        self, rows: list[InboxRow], writing: Callable[[], AbstractContextManager[Connection]]
    ) -> None:
        self.rows = rows
        self._transaction = writing

    def groups(self) -> Mapping[TallyKey, list[InboxRow]]:
        """The rows by the tally that they belong to."""
        groups: defaultdict[TallyKey, list[InboxRow]] = defaultdict(list)
        for row in self.rows:
            groups[TallyKey(row.digest, row.epoch, row.key)].append(row)
        return groups

    def move_to_tally(self, where: TallyKey, counted: TallyTotal, rows: Sequence[InboxRow]) -> bool:
        """Adds the sum of rows to a tally and deletes the rows, in one transaction.

        Args:
            where: the tally that the rows belong to.
            counted: the sum of the rows.
            rows: some of this batch.

        Returns:
            False if another process has counted one of the rows; then nothing has changed.
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
        """Moves rows that cannot be counted to the table set_aside."""
        columns = [column.name for column in set_aside.c]
        with self._transaction() as connection:
            for ids in in_chunks([row.id for row in rows]):
                chosen = select(*(inbox.c[name] for name in columns)).where(inbox.c.id.in_(ids))
                connection.execute(insert(set_aside).from_select(columns, chosen))
                delete_rows(connection, ids)


def delete_rows(connection: Connection, row_ids: Sequence[int]) -> int:
    """Deletes rows of the inbox inside a transaction; returns how many were still there."""
    return sum(
        connection.execute(delete(inbox).where(inbox.c.id.in_(ids))).rowcount
        for ids in in_chunks(row_ids)
    )


def add_part(connection: Connection, where: TallyKey, counted: TallyTotal) -> None:
    """Adds a part to a tally inside a transaction, without waiting for others who add parts."""
    connection.execute(
        insert(tallies).values(
            **where._asdict(),
            part=secrets.randbits(PART_BITS),
            reports=counted.reports,
            cells=counted.cells.astype(CELL, copy=False).tobytes(),
        )
    )


def sum_parts(parts: Iterable[tuple[int, bytes]], cells: int) -> TallyTotal:
    """Adds up parts of a tally, each given as its reports and its stored cells.

    The cells that a shorter part lacks count as zero; those beyond `cells` are left out.
    """
    reports = 0
    total = np.zeros(cells, np.int64)
    for part_reports, part_cells in parts:
        reports += part_reports
        part = np.frombuffer(part_cells, CELL)[:cells]
        total[: len(part)] += part
    return TallyTotal(reports, total)
