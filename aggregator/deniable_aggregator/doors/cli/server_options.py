"""Options that name a server, and what is said while somebody waits for it."""

from __future__ import annotations

import functools
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import click

from deniable_shared.addresses import DEFAULT_SERVER
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.asking.connection import Connection
    from deniable_aggregator.asking.http_source import HttpSource


class ShowProgress(Protocol):
    """Shows how much of how much is done, and perhaps what is being done now."""

    def __call__(self, done: int, total: int, /, label: str = ...) -> None:
        """Moves the bar."""


@contextmanager
def progress_bar(label: str) -> Iterator[ShowProgress]:
    """A progress bar on the error output, if that is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total, label=label: bar.update(
            task, completed=done, total=total, description=label
        )


OPTIONS: Final = ("server", "token", "token_file", "profile")
"""The names of these options."""

_USAGE_ERRORS: Final = ("no_token", "unknown_profile")


def source_of(**options: Any) -> HttpSource:
    """What is asked about metrics.

    Args:
        options: by the names of `OPTIONS`.

    Raises:
        click.UsageError: if there is no token, or something is no address or no token.
        AskingError: if a file cannot be read, or may be read by others.
    """
    from deniable_aggregator.asking.http_source import HttpSource

    return HttpSource(*_access(**options))


def connection_of(**options: Any) -> Connection:
    """As `source_of`, for requests of any kind."""
    from deniable_aggregator.asking.connection import Connection

    return Connection(*_access(**options))


def _access(
    server: str | None, token: str | None, token_file: Path | None, profile: str | None
) -> tuple[str, Any]:
    """The address and the token."""
    from deniable_aggregator.asking.credentials import AskingError
    from deniable_aggregator.asking.profiles import find_access, require_token, token_in

    if token is not None and token_file is not None:
        raise click.UsageError("give --token or --token-file, not both")
    try:
        given = token_in(token_file) if token_file is not None else token
        access = find_access(profile, server, given, environment=os.environ)
        return access.server, require_token(access)
    except ParameterError as error:
        raise click.UsageError(str(error)) from None
    except AskingError as error:
        if error.code in _USAGE_ERRORS:
            raise click.UsageError(str(error)) from None
        raise


def _add_options(command: Callable[..., Any]) -> Callable[..., Any]:
    # Eager, so that an option that names a list of the server can ask for it.
    options = (
        click.option(
            "--server",
            is_eager=True,
            metavar="ADDRESS",
            help=f"The aggregator's address; {DEFAULT_SERVER} if nothing says another. Also from "
            "DENIABLE_SERVER.",
        ),
        click.option(
            "--token",
            is_eager=True,
            help="A key of deniable keys create. Better from DENIABLE_TOKEN, a file or a profile: "
            "other users of a machine can see options.",
        ),
        click.option(
            "--token-file",
            is_eager=True,
            type=click.Path(path_type=Path, dir_okay=False),
            help="A file with the token, which only you may read. Also from DENIABLE_TOKEN_FILE.",
        ),
        click.option(
            "--profile",
            is_eager=True,
            metavar="NAME",
            shell_complete=_complete_profiles,
            help="A server and token of ~/.config/deniable/profiles.toml, see deniable profiles. "
            "Also from DENIABLE_PROFILE.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _complete_profiles(
    _context: click.Context, _parameter: click.Parameter, current: str
) -> list[str]:
    from deniable_aggregator.asking.profiles import profile_names

    return [name for name in profile_names() if name.startswith(current)]


def _server_options(
    name: str, make: Callable[..., Any], *, later: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds ``--server``, ``--token``, ``--token-file`` and ``--profile`` to a command.

    Args:
        name: under which the command gets what is made of them.
        make: makes it.
        later: whether the command gets a function that makes it, as it also works without a server.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            made = functools.partial(make, **{each: given.pop(each) for each in OPTIONS})
            return command(**{name: made if later else made()}, **given)

        return _add_options(wrapped)

    return decorate


source_options = _server_options("source", source_of)
"""The command gets `source`, an `HttpSource`, which asks about metrics."""

connection_options = _server_options("connection", connection_of)
"""The command gets `connection`, for requests of any kind."""

optional_source_options = _server_options("ask", source_of, later=True)
"""The command gets `ask`, a function that makes the source."""

optional_connection_options = _server_options("connect", connection_of, later=True)
"""The command gets `connect`, a function that makes the connection."""
