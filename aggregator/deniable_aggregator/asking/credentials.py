"""A server's address and a token, checked once, and what a question without an answer raises."""

from __future__ import annotations

from typing import Final

from deniable_shared.addresses import DEFAULT_SERVER, SERVER_CONSTRAINT, Hidden, with_scheme
from deniable_shared.errors import DeniableError, ParameterError


class AskingError(DeniableError):
    """A question got no answer. The message says why, and what to do next; it has no token.

    Attributes:
        code: a short word for programs: that of the server's problem, such as "unknown_metric", or
            "unreachable", "unreadable_answer", "no_token", "unknown_profile" or "refused_profile".
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.code)


_SCHEMES: Final = ("http", "https")


class Token:
    """A key that deniable keys create has printed. Nothing that prints a token shows its text.

    Args:
        text: the token; white space around it, which files and variables add, is removed.

    Raises:
        ParameterError: if no token looks like this; the error does not quote it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        token = text.strip()
        if not (token and token.isascii() and token.isprintable() and " " not in token):
            raise ParameterError(
                "token",
                "a token as deniable keys create prints it: ASCII, in one piece",
                Hidden(),
            )
        self._text = token

    def __repr__(self) -> str:
        return f"Token({Hidden()!r})"

    def reveal(self) -> str:
        """The text, for a request's header and nothing else."""
        return self._text


def check_server(text: str) -> str:
    """A server's address without a slash at its end.

    Args:
        text: such as ``https://telemetry.example.org``; http:// may be left out for this machine.

    Raises:
        ParameterError: if it is not an address, or has a user or password, which would be sent
            instead of the token. The error does not quote it, as it may contain a password.
    """
    from urllib.parse import urlsplit  # not for the help of commands

    server = with_scheme(text.strip().rstrip("/"))
    try:
        parts = urlsplit(server)
        well_formed = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
        well_formed = well_formed and server.isprintable() and not set(server) & set(" \\")
    except ValueError:
        well_formed = False
    if not well_formed:
        raise ParameterError(
            "server",
            SERVER_CONSTRAINT,
            Hidden(),
        )
    if parts.username is not None or "@" in parts.netloc or parts.query or parts.fragment:
        raise ParameterError(
            "server",
            f"an address such as {DEFAULT_SERVER}, with no user, password, query or fragment "
            "(the token is all that is sent)",
            Hidden(),
        )
    return server
