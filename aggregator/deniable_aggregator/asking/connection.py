"""Requests to a server.

httpx is imported with the first request, so that programs start, help and complete without it.
"""

from __future__ import annotations

import sys
import threading
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

import msgspec

from deniable_aggregator.answers.service import Problem
from deniable_aggregator.asking.credentials import AskingError, Token, check_server
from deniable_shared import __version__
from deniable_shared.characters import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import UnionType

    import httpx

TIMEOUT_SECONDS: Final = 120.0

Kind = TypeVar("Kind")


class ServerAnswer(NamedTuple):
    """What a server answered.

    Attributes:
        content: its bytes, JSON unless something else was asked for.
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
            AskingError: if the answer is none of these.
        """
        try:
            return msgspec.json.decode(self.content, type=kind)
        except msgspec.DecodeError as error:
            why = visible(str(error))
            raise AskingError(
                f"the server's answer cannot be read: {why}. It seems to run another version of "
                f"deniable than {__version__}, which runs here; install the server's version. On "
                "the command line, --json prints whatever is answered",
                "unreadable_answer",
            ) from None


class Connection:
    """A server, and the token that it is asked with. Thread-safe.

    Args:
        server: the aggregator's address.
        token: a key of deniable keys create.

    Attributes:
        server: the address, without a slash at its end.

    Raises:
        ParameterError: if the one is no address or the other no token.
    """

    def __init__(self, server: str, token: str | Token) -> None:
        self.server = check_server(server)
        self._token = token if isinstance(token, Token) else Token(token)
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._closing: weakref.finalize[..., Connection] | None = None

    def __repr__(self) -> str:
        return f"Connection({self.server!r})"

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Sequence[tuple[str, str]] = (),
        json: msgspec.Struct | None = None,
        content: bytes | None = None,
        content_type: str = "",
    ) -> ServerAnswer:
        """One request.

        Args:
            method: an HTTP method.
            path: from the root, such as ``/v1/metrics``.
            params: the query.
            json: a body, sent as JSON without the fields that have their defaults.
            content: a body, sent as it is.
            content_type: what it is.

        Raises:
            AskingError: if the server cannot be reached, or answers with a problem.
        """
        httpx = _import_httpx()
        content_type = content_type if json is None else "application/json"
        kind = {"Content-Type": content_type} if content_type else {}
        try:
            answer = self._opened().request(
                method,
                self.server + path,
                params=list(params),
                content=content if json is None else msgspec.json.encode(json),
                headers={"Authorization": f"Bearer {self._token.reveal()}", **kind},
            )
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeEncodeError) as error:
            # Other errors are not quoted, and none is chained: their headers may hold the token.
            raise AskingError(_unreached(self.server, error), "unreachable") from None
        if answer.is_success:
            return ServerAnswer(answer.content)
        raise _refusal(self.server, answer)

    def _opened(self) -> httpx.Client:
        """The client, which keeps its connection for the next request."""
        with self._lock:
            if self._client is None:
                self._client = _client(self.server)
                self._closing = weakref.finalize(self, self._client.close)
            return self._client

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        with self._lock:
            if self._closing is not None:
                self._closing()
            self._client = self._closing = None


def _import_httpx() -> Any:
    """Httpx without its own command line, whose import takes nearly as long as all the rest."""
    if "httpx" not in sys.modules:
        sys.modules["httpx._main"] = None  # type: ignore[assignment]  # cannot be imported
        try:
            return import_module("httpx")
        finally:
            sys.modules.pop("httpx._main", None)
    return import_module("httpx")


def _client(server: str) -> httpx.Client:
    """A client for one server; certificates are read only where there may be any."""
    import ssl

    verify = True if server.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found: httpx.Client = _import_httpx().Client(timeout=TIMEOUT_SECONDS, verify=verify)
    return found


def _refusal(server: str, answer: httpx.Response) -> AskingError:
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return AskingError(
            f"{server} answered {answer.status_code}, not as an aggregator", "not_an_aggregator"
        )
    lines = [f"{problem.title} ({problem.code}). {problem.detail}", *(problem.problems or ())]
    return AskingError("\n".join(map(visible, lines)), visible(problem.code))


def _unreached(server: str, error: Exception) -> str:
    httpx = _import_httpx()
    quotable = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
    if isinstance(error, quotable):
        return f"{server} cannot be reached: {error}. Is deniable serve running there?"
    return f"{server} cannot be asked this: {type(error).__name__}"
