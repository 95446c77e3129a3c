"""Connections to the aggregator, all of whose steps together have one deadline."""

from __future__ import annotations

import errno
import io
import socket
import time
from typing import TYPE_CHECKING, Any, Final

from deniable._transport.proxy import Proxy, ProxyError

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from ssl import SSLContext


MAX_HEAD_BYTES: Final = 32_768
"""The limit for the headers of a response, those of 1xx responses before it included."""

_TUNNEL_OPEN: Final = range(200, 300)
_PASSWORD_WANTED: Final = 407


class DeadlineStream:
    """A connected socket with one deadline for all reads and writes, and a limit on what is read.

    Stands in for the socket in `http.client`. A socket's own timeout starts again with every byte,
    so a server that sends a byte at a time could hold a thread for ever.

    Args:
        sock: a connected socket.
        deadline: when reads and writes fail, by the monotonic clock.
        limit_bytes: how much may be read in all.
    """

    def __init__(self, sock: socket.socket, deadline: float, limit_bytes: int) -> None:
        self._sock = sock
        self._deadline = deadline
        # One buffer for all responses: after a 1xx response it may hold the start of the next.
        self._reader = io.BufferedReader(_DeadlineReader(sock, deadline, limit_bytes))

    def makefile(self, mode: str) -> io.BufferedReader[_DeadlineReader]:
        """The stream from which `http.client` reads responses."""
        assert mode == "rb"
        return self._reader

    def sendall(self, data: bytes) -> None:
        """Writes everything or raises."""
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(seconds_until(self._deadline))
            rest = rest[self._sock.send(rest) :]

    def close(self) -> None:
        """Does nothing: the caller of `connect` closes the socket."""


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
        TimeoutError: if it has passed.
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
        deadline: bounds all steps except name resolution, for which the system offers no timeout.
        proxy: the proxy to ask for a tunnel, so that it learns only host and port; needs TLS.
        context: for TLS, or None for a connection without TLS.

    Raises:
        ProxyError: if the proxy opens no tunnel.
        OSError: if any other step fails; `ssl.SSLError` is one.
    """
    sock = _open_tcp(host, port, deadline) if proxy is None else _open_proxy(proxy, deadline)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if proxy is not None:
            _open_tunnel(sock, host, port, proxy, deadline)
        if context is None:
            return sock
        sock.settimeout(seconds_until(deadline))  # the SSL module applies it to the whole handshake
        return context.wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


def read_final_response(stream: DeadlineStream, method: str) -> HTTPResponse:
    """Reads the response to the request that was just sent, and skips 1xx responses before it.

    Raises:
        http.client.HTTPException: if the answer is not HTTP.
        OSError: if there is none in time, or it is too long.
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
        response.fp = None  # type: ignore[assignment]  # keeps it from closing the stream


def _open_tcp(host: str, port: int, deadline: float) -> socket.socket:
    """Connects to the first address that answers; each gets an equal share of the time left."""
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
    try:
        raise failure
    finally:
        del failure  # or else this frame and the error would refer to each other


def _open_proxy(proxy: Proxy, deadline: float) -> socket.socket:
    try:
        return _open_tcp(proxy.host, proxy.port, deadline)
    except OSError as error:
        raise ProxyError("unreachable", "there is no connection to the proxy") from error


def _open_tunnel(sock: socket.socket, host: str, port: int, proxy: Proxy, deadline: float) -> None:
    from http.client import HTTPException

    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.credentials is not None:
        lines.append(f"Proxy-Authorization: {proxy.credentials}")
    stream = DeadlineStream(sock, deadline, MAX_HEAD_BYTES)
    try:
        stream.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        status = read_final_response(stream, "CONNECT").status
    except (OSError, HTTPException) as error:
        raise ProxyError("refused", "the proxy opened no tunnel") from error
    if status not in _TUNNEL_OPEN:
        cause = "password" if status == _PASSWORD_WANTED else "refused"
        raise ProxyError(cause, f"the proxy answered {status}")
