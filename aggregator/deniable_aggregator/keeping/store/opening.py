"""Opening the database that a store's name means, and making or checking its tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, inspect, select

from deniable_aggregator.keeping.store.base import (
    Database,
    StoreRefusedError,
    is_url,
    parse_url,
    without_password,
)
from deniable_aggregator.keeping.store.postgresql import PostgresqlDatabase
from deniable_aggregator.keeping.store.schema import REVISION, metadata, revision
from deniable_aggregator.keeping.store.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from collections.abc import Callable


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
    revision_found = revision_of(connection, name) or "none"
    if revision_found < REVISION:
        raise StoreRefusedError(
            f"{name}: has the older schema {revision_found}, this program works with {REVISION}. "
            f"Stop all servers, back the store up, and run: deniable store migrate --store {name}"
        )
    if revision_found != REVISION:
        raise newer_schema_error(name, revision_found)


def newer_schema_error(name: str, revision_found: str) -> StoreRefusedError:
    """The error for a store that a later version wrote."""
    return StoreRefusedError(
        f"{name}: has schema {revision_found}, this program works with {REVISION}. "
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
        revisions = connection.execute(select(revision.c.version_num)).scalars().all()
        return ", ".join(revisions) or "none"
    raise StoreRefusedError(f"{name}: is a database, but not a Deniable store. Name another one.")


def open_database(
    target: str | Path,
    prepare: Callable[[Connection, str], None] = create_or_check,
    *,
    alone: bool = False,
) -> Database:
    """Opens the database of a store.

    Args:
        target: the path of an SQLite file, or a ``postgresql://`` URL.
        prepare: checks or changes the tables; called with a connection, in a transaction that
            excludes all others, and with the store's name for messages.
        alone: whether no other program may have the store open until `prepare` is done.

    Raises:
        StoreRefusedError: if `prepare` refuses it, or it is damaged.
        StoreUnavailableError: if the database server cannot be reached, the file not be written
            now, or another program has open what is wanted `alone`.
    """
    if is_url(target):
        return PostgresqlDatabase(str(target), prepare, alone=alone)
    return SqliteDatabase(Path(target), prepare, alone=alone)


def require_existing(target: str | Path) -> None:
    """Checks that a store's file is there, as opening it would create an absent one.

    Raises:
        StoreRefusedError: if it is absent.
    """
    if not is_url(target) and not Path(target).exists():
        raise StoreRefusedError(f"there is no store {target}")


def display_name(target: str | Path) -> str:
    """The name of a store for messages: a path, or a URL without its password."""
    return without_password(parse_url(str(target))) if is_url(target) else str(target)
