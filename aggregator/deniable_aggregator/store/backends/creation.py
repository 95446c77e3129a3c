"""Creates the tables of a new store, and checks the schema of any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, inspect, select

from deniable_aggregator.store.errors import StoreRefusedError
from deniable_aggregator.store.schema import REVISION, metadata, revision

if TYPE_CHECKING:
    from sqlalchemy import Connection


def create_or_check(connection: Connection, name: str) -> None:
    """Creates the tables in an empty database, and checks the revision of any other.

    Args:
        connection: in a transaction that excludes all others.
        name: of the database, for messages.

    Raises:
        StoreRefusedError: if the database holds something else, or a store of another revision.
    """
    if revision_of(connection, name) is None:
        metadata.create_all(connection)
        connection.execute(insert(revision).values(version_num=REVISION))
    check_revision(connection, name)


def check_revision(connection: Connection, name: str) -> None:
    """Checks the revision of a store.

    Args:
        connection: to a database of either kind.
        name: of the database, for messages.

    Raises:
        StoreRefusedError: if the database is not a store of this revision.
    """
    found = revision_of(connection, name) or "none"
    if found < REVISION:
        raise StoreRefusedError(
            f"{name}: has the older schema {found}, this program works with {REVISION}. Stop the "
            f"server, back the store up, and run: deniable store migrate --store {name}"
        )
    if found != REVISION:
        raise newer_schema_error(name, found)


def newer_schema_error(name: str, found: str) -> StoreRefusedError:
    """The error for a store that a later version wrote."""
    return StoreRefusedError(
        f"{name}: has schema {found}, this program works with {REVISION}. "
        "Install the version of deniable that wrote it, or a later one."
    )


def revision_of(connection: Connection, name: str) -> str | None:
    """The revision of a store; None of an empty database.

    Raises:
        StoreRefusedError: if the database is not a store.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    if revision.name in tables:
        found = connection.execute(select(revision.c.version_num)).scalars().all()
        return ", ".join(found) or "none"
    raise StoreRefusedError(f"{name}: is a database, but not a Deniable store. Name another one.")
