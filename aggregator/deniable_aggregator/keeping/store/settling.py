"""Settling a closed day: each of its slices becomes one part, in its smallest form."""

from __future__ import annotations

import logging
import secrets
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Select, select, update

from deniable_aggregator.keeping.store.batch import TakenError, replace_parts
from deniable_aggregator.keeping.store.encoding import holds_reports
from deniable_aggregator.keeping.store.merging import (
    MERGED_BYTES,
    ReportCounter,
    awaits_archive,
    merge,
)
from deniable_aggregator.keeping.store.parts import (
    PART_COLUMNS,
    NewPart,
    SliceNumbers,
    StoredPart,
    lock_days,
    read_bodies,
    stored_part,
)
from deniable_aggregator.keeping.store.schema import epochs, inbox, metrics, tallies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deniable_aggregator.keeping.store.base import Database

    FindCounter = Callable[[bytes], ReportCounter | None]
    """The tally of the spec with a digest; None if this server has none."""

    Work = Mapping[SliceNumbers, tuple[bytes, list[StoredPart]]]
    """Slices that are not settled, each with the digest of its spec and its parts."""

WRITTEN_BYTES: Final = 4 << 20
WRITTEN_SLICES: Final = 500
"""One transaction merges no more, so that nobody waits long."""

SAVED_SHARE: Final = 1.125
SAVED_BYTES: Final = 16
"""A lone part is written anew if the new one is so many times and bytes smaller."""

SETTLED_BITS: Final = 31
"""Days of which something came late get another number when they are settled again."""

log = logging.getLogger("deniable_aggregator")


class DaySettler:
    """Settles closed days, in transactions that are short.

    Args:
        find: finds what counts the reports of a spec; None where this server has nothing.
    """

    def __init__(self, database: Database, find: FindCounter) -> None:
        self._database = database
        self._find = find
        self._done: set[int] = set()  # parts that stay as they are
        self._kept: set[int] = set()  # parts that stay so until their reports are in an archive

    def unsettled_days(self, before: int) -> list[int]:
        """The closed days that are not settled, the earliest first.

        Args:
            before: the first day that is not asked about.
        """
        query = (
            select(epochs.c.epoch)
            .where(epochs.c.key.is_(None), epochs.c.settled.is_(None), epochs.c.epoch < before)
            .order_by(epochs.c.epoch)
        )
        with self._database.look_up() as connection:
            return list(connection.execute(query).scalars())

    def settle(
        self,
        epoch: int,
        stopped: Callable[[], bool] = lambda: False,
        *,
        keep_reports: bool = False,
    ) -> bool:
        """Settles one day, and writes into the store that it is settled.

        Reports that show permanent answers become counters, whatever is smaller.

        Args:
            epoch: a closed day.
            stopped: tells between two transactions whether to leave the rest to the next call.
            keep_reports: whether reports that no archive has stay reports.

        Returns:
            False if something is left: reports that wait, also for the archive, specs that this
            server cannot read, or what another server is changing.
        """
        while not stopped():
            with self._database.read() as connection:
                if connection.execute(_waiting(epoch)).first() is not None:
                    return False
                parts = list(parts_of_day(connection, epoch))
            work = self._work(parts, self._kept if keep_reports else self._done)
            if not work:
                if keep_reports and any(awaits_archive(part.form) for _, part in parts):
                    return False
                readable = all(self._find(digest) for digest in {digest for digest, _ in parts})
                return readable and self._remember(epoch, [part.part for _, part in parts])
            for portion in _portions(work):
                if stopped() or not self._merge(portion, keep_reports=keep_reports):
                    return False
        return False

    def _work(self, parts: Sequence[tuple[bytes, StoredPart]], settled: set[int]) -> Work:
        slices: defaultdict[SliceNumbers, list[StoredPart]] = defaultdict(list)
        digests = {}
        for digest, part in parts:
            slices[part.where].append(part)
            digests[part.where] = digest
        work = {}
        for where, stored_parts in slices.items():
            packed = any(holds_reports(part.form) for part in stored_parts)
            if (len(stored_parts) > 1 or packed) and not settled.issuperset(
                part.part for part in stored_parts
            ):
                work[where] = digests[where], _at_once(stored_parts)
        return work

    def _merge(self, work: Work, *, keep_reports: bool) -> bool:
        """Merges parts of slices in one transaction; False if another process was merging."""
        settled = self._kept if keep_reports else self._done
        with self._database.read() as connection:
            bodies = read_bodies(connection, [part for _, parts in work.values() for part in parts])
        old: list[StoredPart] = []
        new: list[tuple[SliceNumbers, NewPart]] = []
        unchanged: dict[SliceNumbers, list[StoredPart]] = {}
        for where, (digest, parts) in work.items():
            if any(part.part not in bodies for part in parts):
                return False
            unchanged[where] = parts
            counter = self._find(digest)
            if counter is None:
                continue
            before = [NewPart(part.reports, bodies[part.part], part.largest) for part in parts]
            try:
                after = merge(counter, before, final=True, keep_reports=keep_reports)
            except Exception as error:  # noqa: BLE001  damage must not keep other slices from it
                log.error("parts of a tally could not be merged: %s", type(error).__name__)
                continue
            if _worth_writing(counter, before, after):
                old += unchanged.pop(where)
                new += [(where, part) for part in after]
        try:
            with self._database.write() as connection:
                ids = replace_parts(connection, old, new)
        except TakenError:
            return False
        # Only what is committed is done: else a day whose merge failed would count as settled.
        settled.update(ids, *([part.part for part in parts] for parts in unchanged.values()))
        return True

    def _remember(self, epoch: int, part_ids: Sequence[int]) -> bool:
        """Writes that a day is settled, unless its parts have changed or reports of it wait."""
        conditions = epochs.c.epoch == epoch, epochs.c.key.is_(None)
        with self._database.write() as connection:
            lock_days(
                connection, conditions
            )  # a fold that moves reports of this day waits from now on
            if connection.execute(_waiting(epoch)).first() is not None:
                return False
            now = [part.part for _, part in parts_of_day(connection, epoch)]
            if sorted(now) != sorted(part_ids):
                return False
            settled = secrets.randbits(SETTLED_BITS)
            connection.execute(update(epochs).where(*conditions).values(settled=settled))
        self._done.difference_update(part_ids)
        self._kept.difference_update(part_ids)
        return True


def _worth_writing(
    counter: ReportCounter, before: Sequence[NewPart], after: Sequence[NewPart]
) -> bool:
    """Whether parts are written anew.

    A single part that would hardly become smaller is left, because writing it costs pages.
    """
    if len(before) == len(after) == 1 and not counter.noise_is_permanent:
        return SAVED_SHARE * (len(after[0].body) + SAVED_BYTES) < len(before[0].body)
    return sorted(after) != sorted(before)


def _waiting(epoch: int) -> Select[int]:
    return select(inbox.c.id).where(inbox.c.epoch == epoch).limit(1)


def parts_of_day(connection: Connection, epoch: int) -> Iterator[tuple[bytes, StoredPart]]:
    """All parts of a day, each with the digest of its spec: one range for each metric."""
    query = (
        select(metrics.c.digest, *PART_COLUMNS)
        .join_from(metrics, tallies, tallies.c.metric == metrics.c.number)
        .where(tallies.c.epoch == epoch)
    )
    for digest, *part in connection.execute(query):
        yield bytes(digest), stored_part(part)


def _at_once(parts: list[StoredPart]) -> list[StoredPart]:
    """As many of the smallest parts as are merged at once: all, or at least two."""
    chosen: list[StoredPart] = []
    size = 0
    for part in sorted(parts, key=lambda part: part.size):
        size += part.size
        if size > MERGED_BYTES and len(chosen) >= 2:
            break
        chosen.append(part)
    return chosen


def _portions(work: Work) -> Iterator[Work]:
    """Slices to merge in one transaction."""
    portion: dict[SliceNumbers, tuple[bytes, list[StoredPart]]] = {}
    size = 0
    for where, (digest, parts) in work.items():
        more = sum(part.size for part in parts)
        if portion and (size + more > WRITTEN_BYTES or len(portion) == WRITTEN_SLICES):
            yield portion
            portion, size = {}, 0
        portion[where] = digest, parts
        size += more
    if portion:
        yield portion
