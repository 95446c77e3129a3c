"""The tallies: sums of reports by spec and day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from sqlalchemy import func, insert, select, update

from deniable_aggregator.store.inbox import take
from deniable_aggregator.store.schema import tallies

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from deniable_aggregator.store.database import Database

CELL: Final = np.dtype("<i8")


class _TakenError(Exception):
    """Somebody else has counted some of these rows; undoes the transaction."""


class Sum(NamedTuple):
    """Tallies added over days.

    Attributes:
        reports: how many reports are in it.
        cells: int64, as long as the spec's tally.
    """

    reports: int
    cells: NDArray[np.int64]


class Tallies:
    """One row for each (digest, epoch): a commutative monoid, so that any order gives the same."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        digest: bytes,
        epoch: int,
        counted: Sum,
        row_ids: Sequence[int],
    ) -> bool:
        """Adds what inbox rows amount to and deletes these rows, in one transaction.

        Args:
            digest: the spec's digest.
            epoch: the day.
            counted: what the rows amount to.
            row_ids: the rows that were counted.

        Returns:
            False if somebody else took one of the rows in the meantime; then nothing has changed.
        """
        here = (tallies.c.digest == digest, tallies.c.epoch == epoch)
        try:
            with self._database.write() as connection:
                if take(connection, row_ids) != len(row_ids):
                    raise _TakenError
                old = connection.execute(select(tallies.c.reports, tallies.c.cells).where(*here))
                row = old.one_or_none()
                if row is None:
                    first = {"digest": digest, "epoch": epoch, **_columns(counted)}
                    connection.execute(insert(tallies).values(**first))
                else:
                    cells = counted.cells + np.frombuffer(row.cells, CELL)
                    both = _columns(Sum(counted.reports + row.reports, cells))
                    connection.execute(update(tallies).where(*here).values(**both))
        except _TakenError:
            return False
        return True

    def total(self, digest: bytes, cells: int, since: int, until: int) -> Sum:
        """The sum of one spec over days.

        Args:
            digest: the spec's digest.
            cells: how long its tally is.
            since: the first day.
            until: the last day, inclusive.
        """
        query = (
            select(tallies.c.reports, tallies.c.cells)
            .where(tallies.c.digest == digest, tallies.c.epoch.between(since, until))
            .execution_options(yield_per=1)
        )
        reports = 0
        total = np.zeros(cells, np.int64)
        with self._database.read() as connection:
            for row in connection.execute(query):
                reports += row.reports
                total += np.frombuffer(row.cells, CELL)
        return Sum(reports, total)

    def reports(self, digests: Collection[bytes]) -> dict[bytes, int]:
        """How many reports of each of these specs were counted, over all days."""
        query = (
            select(tallies.c.digest, func.sum(tallies.c.reports))
            .where(tallies.c.digest.in_(digests))
            .group_by(tallies.c.digest)
        )
        with self._database.read() as connection:
            return {digest: int(reports) for digest, reports in connection.execute(query)}


def _columns(sum_: Sum) -> dict[str, object]:
    return {"reports": sum_.reports, "cells": sum_.cells.astype(CELL, copy=False).tobytes()}
