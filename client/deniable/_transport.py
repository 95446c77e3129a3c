"""How an upload reaches the aggregator: one small interface, and HTTP from the standard library."""

from __future__ import annotations

import io
import os
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from deniable_shared.errors import ParameterError
from deniable_shared.wire import CONTENT_TYPE

if TYPE_CHECKING:
    import socket
    from http.client import HTTPConnection, HTTPResponse

PATH: Final = "/v1/reports"
USER_AGENT: Final = "deniable/1"
IDLE_SECONDS: Final = 30.0
"""A connection that was idle for longer is not used again: the other side has likely left."""

_MAX_BODY_BYTES: Final = 65_536


class Response(NamedTuple):
    """What the aggregator answered; bodies are never looked at.

    Attributes:
        status: of HTTP; 204 acknowledges an upload.
        retry_after_seconds: how long it asks to be left alone, or None.
    """

    status: int
    retry_after_seconds: float | None = None


class Transport(Protocol):
    """Carries uploads. Called by one thread at a time, and perhaps in a forked child."""

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Delivers one upload.

        Args:
            body: the same bytes at every try.
            timeout_seconds: after this time it should have raised.

        Raises:
            Exception: of any kind if there was no answer; the upload is tried again later.
        """

    def close(self) -> None:
        """Gives up what is held open, for there is nothing to send now; `send` may follow."""


class HttpTransport:
    """POSTs uploads with http.client: no redirects, no proxies, certificates verified.

    Args:
        endpoint: the aggregator's base URL; ``https``, or ``http`` to this very machine.
        key: the application's write key.

    Raises:
        ParameterError: if the endpoint or the key cannot be used.
    """

    def __init__(self, endpoint: str, key: str) -> None:
        self._connection: HTTPConnection | None = None
        self._process = 0
        self._used_at = 0.0
        self._tls, self._host, self._port, self._path = _parse(endpoint)
        if not (isinstance(key, str) and key and key.isascii() and key.isprintable()):
            raise ParameterError("key", "printable ASCII text", "something else (not shown)")
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": CONTENT_TYPE,
            "User-Agent": USER_AGENT,
        }

    def __repr__(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"HttpTransport({scheme}://{self._host}:{self._port}{self._path})"

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Delivers one upload; the timeout bounds the whole exchange except name resolution.

        Raises:
            OSError: if there was no answer.
            http.client.HTTPException: if the answer was not HTTP.
        """
        deadline = time.monotonic() + timeout_seconds
        connection, reused = self._connect(timeout_seconds)
        try:
            return self._exchange(connection, body, deadline)
        except ConnectionError:
            # The other side may close an idle connection at any time; a duplicate is harmless.
            if not reused:
                raise
        connection, _ = self._connect(timeout_seconds)
        return self._exchange(connection, body, deadline)

    def close(self) -> None:
        """Closes the kept connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        self.close()

    def _connect(self, timeout_seconds: float) -> tuple[HTTPConnection, bool]:
        idle = time.monotonic() - self._used_at
        kept = self._connection
        if kept is not None and self._process == os.getpid() and idle < IDLE_SECONDS:
            return kept, True
        # In a forked child closing gives up the child's copy only; the parent's stays usable.
        self.close()
        import http.client  # 20 ms that a program without uploads never pays

        if self._tls:
            import ssl

            context = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(
                self._host, self._port, timeout=timeout_seconds, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(
                self._host, self._port, timeout=timeout_seconds
            )
        self._process = os.getpid()
        return self._connection, False

    def _exchange(self, connection: HTTPConnection, body: bytes, deadline: float) -> Response:
        from http.client import HTTPResponse

        def bounded(sock: socket.socket, **options: Any) -> HTTPResponse:
            return HTTPResponse(_Bounded(sock, deadline), **options)  # type: ignore[arg-type]

        connection.response_class = bounded  # type: ignore[assignment]
        try:
            if connection.sock is None:
                connection.timeout = _remaining(deadline)
                connection.connect()
            connection.sock.settimeout(_remaining(deadline))
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            answer = Response(response.status, _seconds(response.getheader("Retry-After")))
            reusable = not response.will_close
            if reusable:
                response.read(_MAX_BODY_BYTES)
                reusable = response.isclosed()
        except BaseException:
            self.close()
            raise
        if not reusable:
            self.close()
        self._used_at = time.monotonic()
        return answer


class _Bounded:
    """A socket for `HTTPResponse` to read from, whose reads share one deadline.

    A socket's own timeout starts again with every byte, so a server that dribbles could hold a
    thread for ever.
    """

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_BoundedReader(self._sock, self._deadline))


class _BoundedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(_remaining(self._deadline))
        return self._sock.recv_into(buffer)


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if not remaining > 0:
        raise TimeoutError("timed out")
    return remaining


def _seconds(retry_after: str | None) -> float | None:
    """The seconds in a Retry-After header; the aggregator does not use its other form, a date."""
    if retry_after is None or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    return float(retry_after[:9])


def _parse(endpoint: str) -> tuple[bool, str, int, str]:
    """Whether to use TLS, host, port and path of an endpoint."""
    constraint = "an https:// URL without user, query or fragment (http:// only to loopback)"
    if not (isinstance(endpoint, str) and endpoint.isascii() and endpoint.isprintable()):
        raise ParameterError("endpoint", constraint, endpoint)
    try:
        url = urlsplit(endpoint)
        port = url.port
    except ValueError:
        raise ParameterError("endpoint", constraint, endpoint) from None
    host = url.hostname or ""
    allowed = url.scheme == "https" or (url.scheme == "http" and _is_loopback(host))
    if not allowed or not host or url.query or url.fragment or "@" in url.netloc or " " in endpoint:
        shown = "one with a user" if "@" in url.netloc else endpoint
        raise ParameterError("endpoint", constraint, shown)
    tls = url.scheme == "https"
    return tls, host, port or (443 if tls else 80), url.path.rstrip("/") + PATH


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress  # not needed for https

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
