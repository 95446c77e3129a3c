"""The option that names a store, and opening it."""

from __future__ import annotations

import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click

from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.store import Store


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--store``, passed on as `store`: a path, or the URL of a database."""
    return click.option(
        "--store",
        metavar="STORE",
        required=True,
        envvar="DENIABLE_STORE",
        help="The SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE. Also from "
        "DENIABLE_STORE, which is better for passwords: other users of a machine can see options.",
    )(command)


@contextmanager
def open_store(name: str, *, create: bool = False) -> Iterator[Store]:
    """Opens a store while a command works on it.

    The store's modules are imported here, not at the top: help and completion do without them.

    Args:
        name: a path, or the URL of a database.
        create: whether to create a file that is not there, instead of refusing it.

    Raises:
        StoreRefusedError: if there is no such store, or it is not one of this version.
        StoreUnavailableError: if it cannot be reached or read now.
    """
    from deniable_aggregator.store import Store
    from deniable_aggregator.store.backends.opening import require_existing

    if not create:
        require_existing(name)
    with closing(Store(name)) as store:
        yield store


def today() -> int:
    """The current day, in days since 1970-01-01 in UTC."""
    return epoch_at(time.time())
