"""The option that names a store, and opening it."""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from deniable_aggregator.asking.profiles import PROFILE, TOKEN, TOKEN_FILE
from deniable_aggregator.doors.cli.server_options import OPTIONS
from deniable_aggregator.keeping.settings_files import FILE_VARIABLE, load, must_be_set
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.keeping.store import Store


_FORM: Final = (
    "The SQLite file, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE. Also from DENIABLE_STORE, "
    "which is better for passwords: other users of a machine can see options."
)


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--store``, passed on as `store`: a path, or the URL of a database."""
    meaning = f"{_FORM} Else the one of the settings file that DENIABLE_CONFIG names."
    return _add_store_option(command, meaning, _named_or_configured)


def store_instead_of_server_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--store`` to a command that otherwise asks a server: `store` may be None."""
    meaning = f"Work on a store itself, without a server and a token. {_FORM}"
    return _add_store_option(command, meaning)


def _add_store_option(
    command: Callable[..., Any],
    meaning: str,
    callback: Callable[[click.Context, click.Parameter, str | None], str | None] | None = None,
) -> Callable[..., Any]:
    return click.option(
        "--store", metavar="STORE", callback=callback, envvar="DENIABLE_STORE", help=meaning
    )(command)


def _named_or_configured(
    context: click.Context, _parameter: click.Parameter, named: str | None
) -> str | None:
    """The store that was named, else that of the settings file.

    Raises:
        click.UsageError: if there is neither.
    """
    store = named or _configured_store()
    if not store and not context.resilient_parsing:
        raise click.UsageError(must_be_set("store"))
    return store


def _configured_store() -> str | None:
    """The store of the server's settings file; None if no file is named, or it names no store.

    Raises:
        ConfigurationError: if the file cannot be read, or has problems.
    """
    file = os.environ.get(FILE_VARIABLE)
    return load({}, {}, Path(file)).settings.store or None if file else None


def named_sources(context: click.Context) -> set[str]:
    """Which of the options that say where answers come from stand on the command line."""
    return {
        name
        for name in ("store", *OPTIONS)
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }


def store_is_meant(context: click.Context) -> bool:
    """Whether a command is to work on a store itself, or to ask a server.

    What stands on the command line comes before the environment, and there a token before a store.

    Raises:
        click.UsageError: if both stand on the command line.
    """
    named = named_sources(context)
    if "store" in named and len(named) > 1:
        raise click.UsageError("give --store, or --server and --token, not both", context)
    if named or not context.params["store"]:
        return "store" in named
    return not any(os.environ.get(name) for name in (TOKEN, TOKEN_FILE, PROFILE))


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
    from deniable_aggregator.keeping.store import Store
    from deniable_aggregator.keeping.store.opening import require_existing

    if not create:
        require_existing(name)
    with closing(Store(name)) as store:
        yield store


def today() -> int:
    """The current day, in days since 1970-01-01 in UTC."""
    return epoch_at(time.time())
