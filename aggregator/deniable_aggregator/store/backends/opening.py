"""Which database a store is in, by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.store.backends.creation import create_or_check
from deniable_aggregator.store.backends.postgresql import PostgresqlDatabase
from deniable_aggregator.store.backends.sqlite import SqliteDatabase
from deniable_aggregator.store.backends.urls import is_url, parse_url, without_password
from deniable_aggregator.store.errors import StoreRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from deniable_aggregator.store.backends.base import Database


def open_database(
    target: str | Path,
    prepare: Callable[[Connection, str], None] = create_or_check,
) -> Database:
    """Opens the database of a store.

    Args:
        target: the path of an SQLite file, or a ``postgresql://`` URL.
        prepare: checks or changes the tables, in a transaction that nobody else can be in; called
            with the connection and the store's name.

    Raises:
        StoreRefusedError: if it is not what `prepare` wants, or is damaged.
        StoreUnavailableError: if the database server cannot be reached, or the file not be written
            now.
    """
    if is_url(target):
        return PostgresqlDatabase(str(target), prepare)
    return SqliteDatabase(Path(target), prepare)


def require_existing(target: str | Path) -> None:
    """Refuses the path of a file that is not there, which opening would create.

    Raises:
        StoreRefusedError: naming the path.
    """
    if not is_url(target) and not Path(target).exists():
        raise StoreRefusedError(f"there is no store {target}")


def display_name(target: str | Path) -> str:
    """The name of a store for people: a path, or a URL without its password."""
    return without_password(parse_url(str(target))) if is_url(target) else str(target)
