"""How full a store is, in figures that are cheap enough to be read all the time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import cast, func, select
from sqlalchemy.dialects.postgresql import REGCLASS

from deniable_aggregator.store.schema import (
    inbox,
    metadata,
    set_aside,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import Database


class StoreUsage(NamedTuple):
    """How full a store is.

    Attributes:
        inbox_rows: rows that wait to be counted.
        inbox_bytes: bytes of reports in them.
        set_aside_rows: rows that could not be counted.
        size_bytes: the size of the store on disk.
    """

    inbox_rows: int
    inbox_bytes: int
    set_aside_rows: int
    size_bytes: int


def store_usage(database: Database) -> StoreUsage:
    """Reads how full a store is.

    Raises:
        StoreUnavailableError: if the store cannot be read.
    """
    waiting = select(func.count(), func.coalesce(func.sum(func.length(inbox.c.payload)), 0))
    with database.read() as connection:
        rows, payloads = connection.execute(waiting.select_from(inbox)).one()
        aside = connection.execute(select(func.count()).select_from(set_aside)).scalar_one()
        return StoreUsage(rows, int(payloads), aside, size_bytes(database, connection))


def size_bytes(database: Database, connection: Connection) -> int:
    """The size of the store on disk, in bytes."""
    if connection.dialect.name == "postgresql":
        tables = (func.pg_total_relation_size(cast(name, REGCLASS)) for name in metadata.tables)
        return sum(connection.execute(select(*tables)).one())
    files = (Path(f"{database.name}{ending}") for ending in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
