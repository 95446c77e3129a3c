"""A connection to the aggregator, perhaps through a proxy, whose every step shares one deadline."""

from __future__ import annotations

import errno
import io
import socket
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from deniable import _import_lock
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from ssl import SSLContext

MAX_HEAD_BYTES: Final = 32_768
"""Status line and headers of an answer, those of 1xx answers before it included."""

_TUNNEL_OPEN: Final = range(200, 300)


class Proxy(NamedTuple):
    """Where CONNECT requests go.

    Attributes:
        host: name or address.
        port: of TCP.
        credentials: what Proxy-Authorization says, or None.
    """

    host: str
    port: int
    credentials: str | None


class DeadlineStream:
    """A connected socket whose reads and writes share one deadline and a cap on what is read.

    A socket's own timeout starts again with every byte, so a server that dribbles could hold a
    thread for ever. `http.client` writes and reads through this.

    Args:
        sock: connected.
        deadline: of the monotonic clock.
        limit_bytes: how much may be read.
    """

    def __init__(self, sock: socket.socket, deadline: float, limit_bytes: int) -> None:
        self._sock = sock
        self._deadline = deadline
        # One buffer, so that answers which follow each other (1xx) are read from the same place.
        self._reader = io.BufferedReader(_DeadlineReader(sock, deadline, limit_bytes))

    def makefile(self, mode: str) -> io.BufferedReader[_DeadlineReader]:
        """Where answers are read."""
        assert mode == "rb"
        return self._reader

    def sendall(self, data: bytes) -> None:
        """Writes everything or raises."""
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(seconds_until(self._deadline))
            rest = rest[self._sock.send(rest) :]

    def close(self) -> None:
        """Does nothing: whoever opened the socket closes it."""


class _DeadlineReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: float, limit_bytes: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self._left = limit_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._left <= 0:
            raise OSError(errno.EMSGSIZE, "the answer is too long")
        self._sock.settimeout(seconds_until(self._deadline))
        count = self._sock.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count


def seconds_until(deadline: float) -> float:
    """Seconds until a deadline of the monotonic clock.

    Raises:
        TimeoutError: if there are none.
    """
    left = deadline - time.monotonic()
    if not left > 0:
        raise TimeoutError(errno.ETIMEDOUT, "timed out")
    return left


def connect(
    host: str, port: int, deadline: float, *, proxy: Proxy | None, context: SSLContext | None
) -> socket.socket:
    """Connects, directly or through a proxy, and does the TLS handshake.

    Args:
        host: the aggregator's name or address; the name that its certificate must have.
        port: its TCP port.
        deadline: bounds everything but name resolution, which the system does not let us bound.
        proxy: asked for a tunnel; it learns host and port and nothing else. Only with TLS.
        context: of TLS, or None to speak without it.

    Raises:
        OSError: if any step fails; `ssl.SSLError` is one.
    """
    sock = _open_tcp(*((host, port) if proxy is None else proxy[:2]), deadline)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if proxy is not None:
            _open_tunnel(sock, host, port, proxy, deadline)
        if context is None:
            return sock
        sock.settimeout(seconds_until(deadline))  # of the handshake as a whole
        return context.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def read_final_response(stream: DeadlineStream, method: str) -> HTTPResponse:
    """The answer to the request that was just sent; those of status 1xx before it are skipped.

    Raises:
        http.client.HTTPException: if it is not HTTP.
        OSError: if it does not come, or is too long.
    """
    from http.client import HTTPResponse

    while True:
        response = HTTPResponse(stream, method=method)  # type: ignore[arg-type]
        try:
            response.begin()
        except BaseException:
            response.close()
            raise
        if not 100 <= response.status < 200:
            return response
        response.fp = None  # type: ignore[assignment]  # it must not close what the next one reads


def find_proxy(choice: str | Proxy | None, host: str, port: int) -> Proxy | None:
    """The proxy for a host, read from the environment now if that is the choice.

    Args:
        choice: a proxy, None, or "environment".
        host: the aggregator's.
        port: the aggregator's.

    Raises:
        OSError: if the environment names a proxy that cannot be used. Going round it is no option.
    """
    if not isinstance(choice, str):
        return choice
    with _import_lock.hold():
        from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    url = proxies.get("https") or proxies.get("all")
    if not url or proxy_bypass(f"{host}:{port}"):
        return None
    try:
        return parse_proxy(url if "://" in url else f"http://{url}")
    except ParameterError:
        raise OSError(errno.EINVAL, "the environment names a proxy that is not http://") from None


def parse_proxy(url: str) -> Proxy:
    """Reads the URL of a proxy.

    Raises:
        ParameterError: if it is not one; the value is not shown, for it may hold a password.
    """
    constraint = "'environment', None or http://[user:password@]host:port"
    refusal = ParameterError("proxy", constraint, "something else (not shown)")
    if not (isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url):
        raise refusal
    try:
        parts = urlsplit(url)
        port = 80 if parts.port is None else parts.port
    except ValueError:
        raise refusal from None
    if parts.scheme != "http" or not parts.hostname or port == 0 or parts.path.strip("/"):
        raise refusal
    if parts.query or parts.fragment:
        raise refusal
    credentials = None
    if parts.username is not None:
        from base64 import b64encode

        pair = b":".join(unquote_to_bytes(part or "") for part in (parts.username, parts.password))
        credentials = f"Basic {b64encode(pair).decode()}"
    return Proxy(parts.hostname, port, credentials)


def _open_tcp(host: str, port: int, deadline: float) -> socket.socket:
    """A TCP connection to the first address that answers; each gets its share of the time."""
    addresses = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
    failure: OSError = OSError(errno.EHOSTUNREACH, "the host has no address")
    for index, (family, kind, protocol, _, address) in enumerate(addresses):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(seconds_until(deadline) / (len(addresses) - index))
            sock.connect(address)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure


def _open_tunnel(sock: socket.socket, host: str, port: int, proxy: Proxy, deadline: float) -> None:
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.credentials is not None:
        lines.append(f"Proxy-Authorization: {proxy.credentials}")
    stream = DeadlineStream(sock, deadline, MAX_HEAD_BYTES)
    stream.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    status = read_final_response(stream, "CONNECT").status
    if status not in _TUNNEL_OPEN:
        raise OSError(errno.ECONNREFUSED, f"the proxy answered {status}")
