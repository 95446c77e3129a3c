"""From when to when there are reports of each version, read from the ends of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import func, select

from deniable_aggregator.store.schema import inbox, keys, metrics, rolled_periods, tallies

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import ScalarSelect

    from deniable_aggregator.store.backends.base import Database

_AT_ONCE: Final = 500
"""So many versions are asked about in one query."""


class ReportedDays(NamedTuple):
    """The days between which a version has reports.

    Attributes:
        first: the first day, in days since 1970-01-01.
        last: the last; of days that became one, the last day of their period.
    """

    first: int
    last: int


def reported_days(database: Database, digests: Collection[bytes]) -> dict[bytes, ReportedDays]:
    """The first and the last day with reports of each spec, those that wait to be counted too.

    Reports of excluded keys do not matter. Each spec costs two look-ups in an index, however many
    reports it has.

    Args:
        digests: the specs' digests; those without reports are left out of the answer.
    """
    days_by_version: dict[bytes, ReportedDays] = {}
    names = list(digests)
    for start in range(0, len(names), _AT_ONCE):
        for digest, *days in _read(database, names[start : start + _AT_ONCE]):
            known_days = [
                day for day in (*days, *days_by_version.get(bytes(digest), ())) if day is not None
            ]
            if known_days:
                days_by_version[bytes(digest)] = ReportedDays(min(known_days), max(known_days))
    return days_by_version


def _read(database: Database, digests: list[bytes]) -> Iterator[tuple[Any, ...]]:
    """Rows of a digest and days."""
    excluded = select(keys.c.number).where(keys.c.excluded.is_not(None))
    mine = tallies.c.metric == metrics.c.number, tallies.c.key.not_in(excluded)

    def end(order: Any) -> ScalarSelect[int]:
        query = select(tallies.c.epoch).where(*mine).order_by(order).limit(1)
        return query.correlate(metrics).scalar_subquery()

    counted = select(
        metrics.c.digest, end(tallies.c.epoch.asc()), end(tallies.c.epoch.desc())
    ).where(metrics.c.digest.in_(digests))
    rolled = (
        select(metrics.c.digest, func.min(rolled_periods.c.first), func.max(rolled_periods.c.until))
        .join_from(metrics, rolled_periods, rolled_periods.c.metric == metrics.c.number)
        .where(metrics.c.digest.in_(digests), rolled_periods.c.key.not_in(excluded))
        .group_by(metrics.c.digest)
    )
    waiting = (
        select(inbox.c.digest, func.min(inbox.c.epoch), func.max(inbox.c.epoch))
        .join_from(inbox, keys, inbox.c.key == keys.c.id)
        .where(inbox.c.digest.in_(digests), keys.c.excluded.is_(None))
        .group_by(inbox.c.digest)
    )
    with database.read() as connection:
        for query in (counted, rolled, waiting):
            for row in connection.execute(query):
                yield tuple(row)
