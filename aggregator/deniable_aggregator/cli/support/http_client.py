"""The options of commands that ask a server, and asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.asking.connection import Connection, ServerAnswer
from deniable_aggregator.asking.credentials import DEFAULT_SERVER, Token, check_server
from deniable_aggregator.asking.errors import AskingError
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import msgspec


def _parse_server(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    try:
        return check_server(text)
    except ParameterError as error:
        raise click.BadParameter(f"must be {error.constraint}") from None


def _parse_token(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> str | None:
    try:
        return None if text is None else Token(text).reveal()
    except ParameterError as error:
        raise click.BadParameter(f"must be {error.constraint}") from None


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--server`` and ``--token``, passed on as `server` and `token`."""
    return _add_server_options(command, token_required=True)


def optional_server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `server_options`, for a command that also works without a server: `token` may be None."""
    return _add_server_options(command, token_required=False)


def _add_server_options(command: Callable[..., Any], *, token_required: bool) -> Callable[..., Any]:
    server = click.option(
        "--server",
        default=DEFAULT_SERVER,
        show_default=True,
        envvar="DENIABLE_SERVER",
        callback=_parse_server,
        help="The aggregator's address. Also from DENIABLE_SERVER.",
    )
    token = click.option(
        "--token",
        required=token_required,
        envvar="DENIABLE_TOKEN",
        callback=_parse_token,
        help="A key of deniable keys create. Better from DENIABLE_TOKEN: other users of a machine "
        "can see options.",
    )
    return server(token(command))


def call(
    server: str,
    token: str,
    method: str,
    path: str,
    *,
    params: Sequence[tuple[str, str]] = (),
    json: msgspec.Struct | None = None,
    content: bytes | None = None,
) -> ServerAnswer:
    """One request, see `Connection.request`.

    Raises:
        click.ClickException: if the server cannot be reached, or answers with a problem.
    """
    connection = Connection(server, token)
    try:
        return connection.request(method, path, params=params, json=json, content=content)
    except AskingError as error:
        raise click.ClickException(str(error)) from None
    finally:
        connection.close()
