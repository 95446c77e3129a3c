"""Opening the database that a store's name means: an SQLite file or PostgreSQL."""

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
        prepare: checks or changes the tables; called with a connection, in a transaction that
            excludes all others, and with the store's name for messages.

    Raises:
        StoreRefusedError: if `prepare` refuses it, or it is damaged.
        StoreUnavailableError: if the database server cannot be reached, or the file not be written
            now.
    """
    if is_url(target):
        return PostgresqlDatabase(str(target), prepare)
    return SqliteDatabase(Path(target), prepare)


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
