"""The table of tallies: sums of reports by spec, day and key."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, select, tuple_

from deniable_aggregator.store.schema import keys, set_aside, tallies
from deniable_aggregator.store.tables.batch import CELL, TallyKey, TallyTotal, add_part, sum_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Select

    from deniable_aggregator.store.backends.base import Database

FETCHED_BYTES: Final = 4 << 20
FETCHED_ROWS: Final = 256
MERGED_BYTES: Final = 64 << 20
MERGED_PARTS: Final = 256
FORGOTTEN_PARTS: Final = 100
STAMP_MODULUS: Final = (1 << 43) - 57

_part_length: Final = func.length(tallies.c.cells)


ReportsBySlice = dict[bytes, dict[int, dict[str, int]]]
"""Numbers of reports by the digest of their spec, their day and the id of their key."""


class Slice(NamedTuple):
    """The reports that one key brought for one day.

    Attributes:
        epoch: the day.
        key: the id of the write key.
        sum: the sum of the reports.
    """

    epoch: int
    key: str
    sum: TallyTotal


class DayStamp(NamedTuple):
    """What changes whenever something is added, merged or deleted of one spec and day.

    Attributes:
        parts: how many parts there are; at least as many as slices.
        sum: of their random names.
    """

    parts: int
    sum: int


class Tallies:
    """A tally for each (digest, epoch, key), stored in parts that add up to it.

    A part is added without touching another one, so that no writer waits for another; `compact`
    merges parts. The reports of a key that an administrator has excluded are kept, and left out of
    every answer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def total(
        self, digest: bytes, cells: int, since: int, until: int, without: Collection[str] = ()
    ) -> TallyTotal:
        """The tally of one spec over several days, without excluded keys.

        Args:
            digest: the spec's digest.
            cells: how long its tally is.
            since: the first day.
            until: the last day, inclusive.
            without: ids of more keys whose reports are left out.
        """
        query = _parts(digest, cells, since, until).where(_not_excluded(without))
        with self._database.read() as connection, connection.execute(query) as rows:
            return sum_parts(((row.reports, row.cells) for row in rows), cells)

    def stamps(self, digest: bytes, since: int, until: int) -> dict[int, DayStamp]:
        """What changes whenever something of a day changes, for each day that has anything.

        Args:
            digest: the spec's digest.
            since: the first day.
            until: the last day, inclusive.
        """
        query = (
            # The sum of 2^20 numbers of 63 bits would not fit.
            select(tallies.c.epoch, func.count(), func.sum(tallies.c.part % STAMP_MODULUS))
            .where(tallies.c.digest == digest, tallies.c.epoch.between(since, until))
            .group_by(tallies.c.epoch)
        )
        with self._database.read() as connection:
            return {
                epoch: DayStamp(parts, int(sum_))
                for epoch, parts, sum_ in connection.execute(query)
            }

    def slices(
        self,
        digest: bytes,
        cells: int,
        since: int,
        until: int,
        without: Collection[str] = (),
        *,
        excluded: bool = False,
    ) -> Iterator[Slice]:
        """Yields the tallies of one spec by day and key, in this order, without excluded keys.

        Args:
            digest: the spec's digest.
            cells: how long its tally is.
            since: the first day.
            until: the last day, inclusive.
            without: ids of more keys whose reports are left out.
            excluded: whether those of excluded keys are wanted, too.
        """
        query = _parts(digest, cells, since, until)
        if not excluded:
            query = query.where(_not_excluded(without))
        query = query.order_by(tallies.c.epoch, tallies.c.key)
        with self._database.read() as connection, connection.execute(query) as rows:
            for (epoch, key), parts in groupby(rows, lambda row: (row.epoch, row.key)):
                yield Slice(
                    epoch, key, sum_parts(((row.reports, row.cells) for row in parts), cells)
                )

    def reports(self, digests: Collection[bytes], *, excluded: bool = False) -> dict[bytes, int]:
        """How many reports of each of these specs were counted.

        Args:
            digests: the specs' digests.
            excluded: whether to count the reports of excluded keys, or those of all others.
        """
        chosen = ~_not_excluded() if excluded else _not_excluded()
        query = (
            select(tallies.c.digest, func.sum(tallies.c.reports))
            .where(tallies.c.digest.in_(digests), chosen)
            .group_by(tallies.c.digest)
        )
        with self._database.read() as connection:
            return {digest: int(reports) for digest, reports in connection.execute(query)}

    def reports_by_slice(
        self, digests: Collection[bytes], since: int, until: int
    ) -> ReportsBySlice:
        """How many reports each key brought for each day, excluded keys too.

        Args:
            digests: the specs' digests.
            since: the first day.
            until: the last day, inclusive.

        Returns:
            By digest, day and id of the key.
        """
        where = (tallies.c.digest, tallies.c.epoch, tallies.c.key)
        query = (
            select(*where, func.sum(tallies.c.reports))
            .where(tallies.c.digest.in_(digests), tallies.c.epoch.between(since, until))
            .group_by(*where)
        )
        found: dict[bytes, dict[int, dict[str, int]]] = {}
        with self._database.read() as connection:
            for digest, epoch, key, reports in connection.execute(query):
                found.setdefault(digest, {}).setdefault(epoch, {})[key] = int(reports)
        return found

    def first_days(
        self, digests: Collection[bytes], without: Collection[str] = ()
    ) -> dict[bytes, int]:
        """The first day of each spec that has reports, without excluded keys.

        Args:
            digests: the specs' digests; those without reports are left out of the answer.
            without: ids of more keys whose reports do not matter.
        """
        found = {}
        with self._database.read() as connection:
            for digest in digests:  # each reads the beginning of the index
                query = select(func.min(tallies.c.epoch)).where(
                    tallies.c.digest == digest, _not_excluded(without)
                )
                first = connection.execute(query).scalar_one()
                if first is not None:
                    found[digest] = first
        return found

    def compact(self, *, since: int, until: int, parts: int = 2, most: int = 1_000) -> int:
        """Merges the parts of tallies, each tally in a transaction of its own.

        Parts of different lengths are not merged, as the cells that a shorter one lacks were never
        counted.

        Args:
            since: the first day.
            until: the last day, inclusive.
            parts: tallies in fewer parts are left as they are; at least 2.
            most: how many tallies to merge at most.

        Returns:
            How many tallies have fewer parts now.
        """
        slice_ = (tallies.c.digest, tallies.c.epoch, tallies.c.key, _part_length)
        query = (
            select(*slice_)
            .where(tallies.c.epoch.between(since, until))
            .group_by(*slice_)
            .having(func.count() >= parts)
            .limit(most)
        )
        with self._database.read() as connection:
            found = connection.execute(query).all()
        return sum(self._merge(TallyKey(*where), length) for *where, length in found)

    def _merge(self, where: TallyKey, length: int) -> bool:
        """Merges some parts of a tally; returns False if another process was doing the same."""
        here = and_(
            *(tallies.c[name] == value for name, value in where._asdict().items()),
            _part_length == length,
        )
        query = (
            select(tallies.c.part, tallies.c.reports, tallies.c.cells)
            .where(here)
            .limit(min(MERGED_PARTS, max(2, MERGED_BYTES // length)))
            .execution_options(yield_per=_fetch_rows(length))
        )
        ids: list[int] = []
        with self._database.read() as connection, connection.execute(query) as rows:

            def noted() -> Iterator[tuple[int, bytes]]:
                for part, reports, cells in rows:
                    ids.append(part)
                    yield reports, cells

            merged = sum_parts(noted(), length // CELL.itemsize)
        # A part never changes, so those that are still there are as they were read.
        try:
            with self._database.write() as connection:
                gone = connection.execute(delete(tallies).where(here, tallies.c.part.in_(ids)))
                if gone.rowcount != len(ids):
                    raise _MergedError
                add_part(connection, where, merged)
        except _MergedError:
            return False
        return True

    def delete_before(self, before: int, *, most: int = FORGOTTEN_PARTS) -> int:
        """Deletes some tallies of old days, and the rows set aside of these days, in a transaction.

        Args:
            before: the first day that is kept.
            most: how many parts to delete at most, so that nobody waits long.

        Returns:
            How many parts were deleted; call again until it is none.
        """
        name = tuple(tallies.c[name] for name in ("digest", "epoch", "key", "part"))
        some = select(*name).where(tallies.c.epoch < before).limit(most)
        with self._database.write() as connection:
            connection.execute(delete(set_aside).where(set_aside.c.epoch < before))
            return connection.execute(delete(tallies).where(tuple_(*name).in_(some))).rowcount


class _MergedError(Exception):
    """Another process has merged or deleted these parts; undoes the transaction."""


def _parts(
    digest: bytes, cells: int, since: int, until: int
) -> Select[tuple[int, str, int, bytes]]:
    return (
        select(tallies.c.epoch, tallies.c.key, tallies.c.reports, tallies.c.cells)
        .where(tallies.c.digest == digest, tallies.c.epoch.between(since, until))
        .execution_options(yield_per=_fetch_rows(cells * CELL.itemsize))
    )


def _fetch_rows(length: int) -> int:
    """How many parts of a length in bytes to fetch at a time."""
    return max(1, min(FETCHED_ROWS, FETCHED_BYTES // max(1, length)))


def _not_excluded(without: Collection[str] = ()) -> ColumnElement[bool]:
    excluded = select(keys.c.id).where(keys.c.excluded.is_not(None))
    kept = tallies.c.key.not_in(excluded)
    return and_(kept, tallies.c.key.not_in(without)) if without else kept
