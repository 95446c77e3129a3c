"""Asks a server, for commands.

httpx is imported when a server is asked, so that help and completion do without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

import click
import msgspec

from deniable_aggregator.answers.service import Problem
from deniable_shared import __version__
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import UnionType

DEFAULT_SERVER: Final = "http://127.0.0.1:8787"
TIMEOUT_SECONDS: Final = 120.0

Kind = TypeVar("Kind")

_SCHEMES: Final = ("http://", "https://")


def _parse_server(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    """Checks the server's address. Errors do not quote it, since it may contain a password.

    Raises:
        click.BadParameter: if it is not an address, or has a user, which httpx would send instead
            of the token.
    """
    import httpx

    server = text.strip().rstrip("/")
    try:
        url = httpx.URL(server)
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL()
    if not (server.startswith(_SCHEMES) and url.host):
        raise click.BadParameter(f"must be an address such as {DEFAULT_SERVER}")
    if url.userinfo or url.query or url.fragment:
        raise click.BadParameter(
            f"must be an address such as {DEFAULT_SERVER}, with no user, password, query or "
            "fragment: the token is all that is sent"
        )
    return server


def _parse_token(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> str | None:
    """Checks a token, and removes the white space that files and variables add to it.

    Raises:
        click.BadParameter: if no token looks like this; the error does not quote it.
    """
    if text is None:
        return None
    token = text.strip()
    if not (token and token.isascii() and token.isprintable() and " " not in token):
        raise click.BadParameter(
            "must be a token as deniable keys create prints it: ASCII, in one piece"
        )
    return token


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


class ServerAnswer(NamedTuple):
    """What a server answered.

    Attributes:
        content: its bytes, JSON.
    """

    content: bytes

    @overload
    def decode(self, kind: type[Kind]) -> Kind: ...
    @overload
    def decode(self, kind: UnionType) -> Any: ...
    def decode(self, kind: Any) -> Any:
        """The answer as a struct; fields that only a later version knows are left out.

        Args:
            kind: the struct, or a union of structs.

        Raises:
            click.ClickException: if the answer is none of these.
        """
        try:
            return msgspec.json.decode(self.content, type=kind)
        except msgspec.DecodeError as error:
            why = visible(str(error))
            raise click.ClickException(
                f"the server's answer cannot be read: {why}. It seems to run another version of "
                f"deniable than {__version__}, which runs here; use the command line of the "
                "server's version, or --json, which prints whatever is answered"
            ) from None


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
    """One request.

    Args:
        server: the aggregator's address.
        token: a key.
        method: an HTTP method.
        path: from the root, such as ``/v1/metrics``.
        params: the query.
        json: a body, sent as JSON without the fields that have their defaults.
        content: a body, sent as it is.

    Raises:
        click.ClickException: if the server cannot be reached, or answers with a problem.
    """
    import httpx

    kind = {} if json is None else {"Content-Type": "application/json"}
    try:
        answer = httpx.request(
            method,
            server + path,
            params=list(params),
            content=content if json is None else msgspec.json.encode(json),
            headers={"Authorization": f"Bearer {token}", **kind},
            timeout=TIMEOUT_SECONDS,
        )
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
        raise click.ClickException(_unreached(server, error)) from error
    if answer.is_success:
        return ServerAnswer(answer.content)
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise click.ClickException(
            f"{server} answered {answer.status_code}, not as an aggregator"
        ) from None
    lines = [f"{problem.title} ({problem.code}). {problem.detail}", *(problem.problems or ())]
    raise click.ClickException("\n".join(map(visible, lines)))


def _unreached(server: str, error: Exception) -> str:
    """Why there is no answer. Other errors are not quoted: headers in them may hold the token."""
    import httpx

    quotable = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
    if isinstance(error, quotable):
        return f"{server} cannot be reached: {error}. Is deniable serve running there?"
    return f"{server} cannot be asked this: {type(error).__name__}"
