"""What a store holds, in sizes and counts for its operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, or_, select

from deniable_aggregator.store.backends.opening import open_database, require_existing
from deniable_aggregator.store.schema import REVISION, epochs, keys, metadata, revision, tallies
from deniable_aggregator.store.tables.usage import size_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection


def summary(target: str | Path, today: int) -> dict[str, Any]:
    """Counts what a store holds.

    Args:
        today: days since 1970-01-01.

    Returns:
        ``store``, ``database``, ``schema``, ``bytes``, ``rows`` by table, ``reports``, ``slices``,
        ``days`` (``first``, ``last``, ``open``, ``closed``; days since 1970-01-01), ``keys``
        (``valid``, ``revoked``, ``excluded``).

    Raises:
        StoreRefusedError: if it is not a store of this version.
        StoreUnavailableError: if it cannot be read.
    """
    require_existing(target)
    database = open_database(target)
    try:
        with database.read() as connection:
            return {
                "store": database.name,
                "database": connection.dialect.name,
                "schema": REVISION,
                "bytes": size_bytes(database, connection),
                "rows": {
                    table.name: connection.execute(
                        select(func.count()).select_from(table)
                    ).scalar_one()
                    for table in metadata.sorted_tables
                    if table is not revision
                },
                "reports": _reports(connection),
                "slices": _slices(connection),
                "days": _days(connection),
                "keys": _keys(connection, today),
            }
    finally:
        database.close()


def _reports(connection: Connection) -> int:
    return int(connection.execute(select(func.sum(tallies.c.reports))).scalar_one() or 0)


def _slices(connection: Connection) -> int:
    slices = select(tallies.c.metric, tallies.c.epoch, tallies.c.key).distinct().subquery()
    return connection.execute(select(func.count()).select_from(slices)).scalar_one()


def _days(connection: Connection) -> dict[str, Any]:
    first, last = connection.execute(
        select(func.min(tallies.c.epoch), func.max(tallies.c.epoch))
    ).one()
    count = select(func.count()).select_from(epochs)
    return {
        "first": first,
        "last": last,
        "open": connection.execute(count.where(epochs.c.key.is_not(None))).scalar_one(),
        "closed": connection.execute(count.where(epochs.c.key.is_(None))).scalar_one(),
    }


def _keys(connection: Connection, today: int) -> dict[str, int]:
    count = select(func.count()).select_from(keys)
    conditions = {
        "valid": keys.c.revoked.is_(None) & or_(keys.c.expires.is_(None), keys.c.expires >= today),
        "revoked": keys.c.revoked.is_not(None),
        "excluded": keys.c.excluded.is_not(None),
    }
    return {
        name: connection.execute(count.where(condition)).scalar_one()
        for name, condition in conditions.items()
    }
