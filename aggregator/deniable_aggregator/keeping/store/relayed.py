"""Groups of uploads that came through a relay and look alike, and how large they are.

What hides an upload from the aggregator is not its batch but those in it that look alike: of the
same version, day, write key and relay key. Uploads are counted in the transaction that stores them,
so a batch that is brought twice, or in parts, is counted once.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from deniable_aggregator.keeping.store.base import in_chunks
from deniable_aggregator.keeping.store.schema import metrics, relayed, relayed_sizes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement

    from deniable_aggregator.keeping.store.base import Database


class RelayedReports(NamedTuple):
    """Reports that stood in groups of about the same size.

    Attributes:
        digest: of their version.
        epoch: their day, since 1970-01-01.
        key: the id of their write key.
        least: how many uploads each of the groups had at least: the size of one group of an open
            day, and a power of two of a closed one.
        reports: how many there are, at least `least`.
    """

    digest: bytes
    epoch: int
    key: str
    least: int
    reports: int


class RelayedGroups:
    """The sizes of all groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_days(self, digests: Collection[bytes], first: int, last: int) -> list[RelayedReports]:
        """What came through a relay of some versions in some days.

        Args:
            first: in days since 1970-01-01.
            last: inclusive.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        found: list[RelayedReports] = []
        names = "digest", "epoch", "key", "reports", "reports"
        with self._database.read() as connection:
            for chunk in in_chunks(sorted(digests)):
                for table, columns in (
                    (relayed, names),
                    (relayed_sizes, RelayedReports._fields),
                ):
                    query = select(*(table.c[name].label(None) for name in columns)).where(
                        table.c.digest.in_(chunk), table.c.epoch.between(first, last)
                    )
                    found += [
                        RelayedReports(bytes(digest), epoch, key, int(least), int(reports))
                        for digest, epoch, key, least, reports in connection.execute(query)
                    ]
        return found

    def last_days(self) -> dict[bytes, int]:
        """The last day of open ones that has reports sealed to a key, by its id.

        Raises:
            StoreUnavailableError: if the store cannot be read.
        """
        last_days: dict[bytes, int] = {}
        with self._database.read() as connection:
            for key_id, day in connection.execute(select(relayed.c.relay_key, relayed.c.epoch)):
                last_days[bytes(key_id)] = max(int(day), last_days.get(bytes(key_id), 0))
        return last_days


def forget_batches(connection: Connection, oldest_open: int) -> None:
    """Keeps of the groups of closed days how large they were, rounded down to a power of two.

    Args:
        connection: in the transaction that closes these days.
        oldest_open: days before it are closed, in days since 1970-01-01.
    """
    # What another server has taken is not returned here, so that each group is added once.
    taken = (
        delete(relayed)
        .where(relayed.c.epoch < oldest_open)
        .returning(relayed.c.digest, relayed.c.epoch, relayed.c.key, relayed.c.reports)
    )
    sums: Counter[tuple[bytes, int, str, int]] = Counter()
    for digest, epoch, key, reports in connection.execute(taken):
        sums[bytes(digest), epoch, key, 1 << int(reports).bit_length() - 1] += int(reports)
    if sums:
        rows = [
            dict(zip(RelayedReports._fields, (*where, reports), strict=True))
            for where, reports in sorted(sums.items())
        ]
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        adding = dialect.insert(relayed_sizes)
        more = {"reports": relayed_sizes.c.reports + adding.excluded.reports}
        where_known = list(relayed_sizes.primary_key)
        connection.execute(
            adding.on_conflict_do_update(index_elements=where_known, set_=more), rows
        )


def delete_relayed_of(connection: Connection, digests: Iterable[bytes]) -> None:
    """Deletes the groups of versions that are removed.

    Args:
        connection: in the transaction that removes them.
    """
    for table in (relayed, relayed_sizes):
        connection.execute(delete(table).where(table.c.digest.in_(list(digests))))


def delete_unkept_relayed(connection: Connection, first_kept: ColumnElement[int]) -> None:
    """Deletes the groups of days whose reports are not kept any longer.

    Args:
        connection: in the transaction that deletes what was kept for long enough.
        first_kept: the first day of which reports are kept, over `metrics`.
    """
    of_metric = select(first_kept).where(metrics.c.digest == relayed_sizes.c.digest)
    expired = relayed_sizes.c.epoch < of_metric.scalar_subquery()
    connection.execute(delete(relayed_sizes).where(expired))
