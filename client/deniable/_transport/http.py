"""Transports of uploads: the interface, and HTTP with the standard library."""

from __future__ import annotations

import codecs
import errno
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from deniable import _import_lock
from deniable._platform import files
from deniable_shared.errors import ParameterError
from deniable_shared.wire import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http.client import HTTPResponse
    from ssl import SSLContext

    from deniable._transport.proxy import Proxy

OK: Final = 200
PATH: Final = "/v1/reports"
USER_AGENT: Final = "deniable/1"
MAX_RETRY_AFTER_SECONDS: Final = 3_600.0


class Response(NamedTuple):
    """The aggregator's answer to an upload; its body is never read.

    Attributes:
        status: the HTTP status; 204 acknowledges the upload.
        retry_after_seconds: how long the aggregator asks clients to wait, at most an hour; or None.
    """

    status: int
    retry_after_seconds: float | None = None


class SealingError(Exception):
    """An upload cannot be sealed to the key of the registry's relay on this device."""


class Transport(Protocol):
    """Carries uploads. Called by one thread at a time, possibly in a forked child.

    A class whose transports can be called by several threads at a time may say by how many in a
    class attribute ``parallel_uploads``; a flush then ends sooner. A subclass does not inherit the
    permission and has to set the attribute again. A transport may also have a method
    ``fetch(path, timeout_seconds, limit_bytes)``, which returns the status and the body of a GET,
    as `HttpTransport.fetch` does. Without it remote configuration is not used. Its attribute
    ``public_endpoint``, if any, is the server's address without any secret: messages show it. A
    method ``prepare()``, if any, imports what `send` needs; it is called before there is a thread.
    Where the registry has a relay, ``sealed = True`` says that nothing leaves in the clear.
    """

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Delivers one upload.

        Args:
            body: the same bytes at every try.
            timeout_seconds: how long to try before raising.

        Raises:
            Exception: any exception means that there was no answer; the upload is tried again.
        """

    def close(self) -> None:
        """Closes what is open, because there is nothing to send now; `send` may follow later."""


class HttpServer:
    """One server, which is asked with http.client, each time over a new connection.

    Two uploads on one connection would reveal that they come from one device. Redirects are not
    followed. Certificates are always verified, against the system's authorities or those in
    `ca_file`.

    Args:
        endpoint: its base URL; ``https``, or ``http`` to this machine.
        headers: those of every request.
        proxy: ``"environment"`` to read HTTPS_PROXY, ALL_PROXY and NO_PROXY at every upload; None
            to connect directly; or ``http://[user:password@]host:port``. The proxy is asked for a
            tunnel, and learns only host and port. Connections without TLS, to this machine, never
            use a proxy.
        ca_file: PEM certificates of the authorities to trust instead of the system's.

    Raises:
        ParameterError: if an argument cannot be used.
    """

    connected_at = 0.0
    """When the latest connection was made, by the monotonic clock."""

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        proxy: str | None,
        ca_file: str | os.PathLike[str] | None,
    ) -> None:
        self._tls, self._host, self._port, self._base = _parse_endpoint(endpoint)
        self._headers = {**headers, "User-Agent": USER_AGENT, "Connection": "close"}
        self._proxy: Proxy | str | None = proxy
        if proxy is not None and proxy != "environment":
            from deniable._transport.proxy import parse_proxy

            self._proxy = parse_proxy(proxy)
            if not self._tls:
                raise ParameterError("proxy", "left out for an endpoint without TLS", "one")
        if ca_file is not None and not (
            self._tls and isinstance(ca_file, str | os.PathLike) and Path(ca_file).is_file()
        ):
            raise ParameterError("ca_file", "a file, for an endpoint with TLS", ca_file)
        # Absolute: the host application may change its working directory later.
        self._ca_file = None if ca_file is None else Path(ca_file).absolute()
        self._context: SSLContext | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both send to the same place in the same way: clients may then share one."""
        if type(other) is not type(self):
            return NotImplemented
        return self._settings() == other._settings()

    def __hash__(self) -> int:
        # With the key: who is sent away with one key may be let in with another. Python's hashes of
        # text are keyed anew in each process.
        return hash((self._host, self._port, self._base, *self._headers.values()))

    def _settings(self) -> dict[str, object]:
        return {**vars(self), "_context": None, "connected_at": None}

    @property
    def public_endpoint(self) -> str:
        """The server's base URL, which has no user part."""
        scheme, usual = ("https", 443) if self._tls else ("http", 80)
        host = f"[{self._host}]" if ":" in self._host else self._host
        port = "" if self._port == usual else f":{self._port}"
        return f"{scheme}://{host}{port}{self._base}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public_endpoint})"

    def prepare(self) -> None:
        """Imports what uploads need: 20 ms, which programs without uploads need not wait."""
        with _import_lock.hold():
            import http.client  # noqa: F401

            import deniable._transport.connection
            import deniable._transport.proxy

            codecs.lookup("idna")  # imports modules, which sockets would do with a host's name
            if self._tls:
                import ssl  # noqa: F401

                import deniable._platform.certificates  # noqa: F401

                if self._proxy == "environment":
                    import urllib.request  # noqa: F401

    def post(self, path: str, body: bytes, content_type: str, timeout_seconds: float) -> Response:
        """POSTs a body.

        Args:
            path: below the endpoint, with a slash in front.
            body: as it travels.
            content_type: what it is.
            timeout_seconds: bounds the whole exchange, proxy and TLS included, except name
                resolution, for which the system offers no timeout.

        Raises:
            OSError: if there was no answer, or its headers are longer than 32 KiB.
            http.client.HTTPException: if the answer was not HTTP.
        """
        headers = {**self._headers, "Content-Type": content_type}
        with self._exchange("POST", path, body, headers, timeout_seconds, 0) as response:
            return Response(response.status, _parse_retry_after(response.getheader("Retry-After")))

    def fetch(self, path: str, timeout_seconds: float, limit_bytes: int) -> tuple[int, bytes]:
        """GETs a small document.

        Args:
            path: below the endpoint, with a slash in front.
            timeout_seconds: as in `post`.
            limit_bytes: how long the body may be.

        Returns:
            The status and, if that is 200, the body.

        Raises:
            OSError: if there was no answer, or it is too long or incomplete.
            http.client.HTTPException: if the answer was not HTTP.
        """
        with self._exchange(
            "GET", path, None, self._headers, timeout_seconds, limit_bytes
        ) as response:
            if response.status != OK:
                return response.status, b""
            body = response.read(limit_bytes + 1)
            if len(body) > limit_bytes:
                raise OSError(errno.EMSGSIZE, "the answer is too long")
            if response.length:
                raise ConnectionResetError(errno.ECONNRESET, "the answer ended early")
            return response.status, body

    def close(self) -> None:
        """Does nothing: no connection outlives its upload."""

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: dict[str, str],
        timeout_seconds: float,
        limit_bytes: int,
    ) -> Iterator[HTTPResponse]:
        deadline = time.monotonic() + timeout_seconds
        self.prepare()
        from http.client import HTTPConnection, HTTPSConnection

        from deniable._transport.connection import (
            MAX_HEAD_BYTES,
            DeadlineStream,
            connect,
            read_final_response,
        )
        from deniable._transport.proxy import find_proxy

        context, proxy = None, None
        if self._tls:
            context = self._context = self._context or _tls_context(self._ca_file)
            proxy = find_proxy(self._proxy, self._host, self._port)
            request: HTTPConnection = HTTPSConnection(self._host, self._port, context=context)
        else:
            request = HTTPConnection(self._host, self._port)
        sock = connect(self._host, self._port, deadline, proxy=proxy, context=context)
        self.connected_at = time.monotonic()
        identity = files.identify(sock.fileno())
        try:
            # Chunked encoding may make a body up to twice as long.
            stream = DeadlineStream(sock, deadline, MAX_HEAD_BYTES + 2 * limit_bytes)
            request.sock = stream
            request.request(method, self._base + path, body, headers)
            with read_final_response(stream, method) as response:
                yield response
        finally:
            if files.identify(sock.fileno()) != identity:
                sock.detach()  # the host has closed it, and the number is another's
            sock.close()


class HttpTransport(HttpServer):
    """POSTs uploads to the aggregator.

    Args:
        endpoint: the aggregator's base URL; see `HttpServer`, as for the last two.
        key: the application's write key.
        proxy: see there.
        ca_file: see there.

    Raises:
        ParameterError: if an argument cannot be used.
    """

    parallel_uploads = 20
    """How many uploads may be under way at the same time."""

    def __init__(
        self,
        endpoint: str,
        key: str,
        *,
        proxy: str | None = "environment",
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(endpoint, {"Authorization": f"Bearer {key}"}, proxy, ca_file)
        check_key(key)

    def send(self, body: bytes, timeout_seconds: float) -> Response:
        """Delivers one upload; see `HttpServer.post` for its errors."""
        return self.post(PATH, body, CONTENT_TYPE, timeout_seconds)


def goes_to_this_machine(transport: Transport) -> bool:
    """Whether a transport surely sends to this machine: HTTP to a loopback address."""
    return isinstance(transport, HttpServer) and _is_loopback(transport._host)


def goes_elsewhere(transport: Transport) -> bool:
    """Whether a transport surely sends to another machine: HTTP to any other address."""
    return isinstance(transport, HttpServer) and not _is_loopback(transport._host)


def _tls_context(ca_file: Path | None) -> SSLContext:
    with _import_lock.hold():
        import ssl

        from deniable._platform.certificates import add_system_authorities

    context = ssl.create_default_context(cafile=ca_file)
    if ca_file is None:
        add_system_authorities(context)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _parse_retry_after(retry_after: str | None) -> float | None:
    """The seconds of a Retry-After header; None for a date, which the aggregator never sends."""
    if retry_after is None or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    return min(float(retry_after[:9]), MAX_RETRY_AFTER_SECONDS)


def check_key(key: object) -> None:
    """Refuses what cannot be a write key, and never shows it.

    Raises:
        ParameterError: if it is not printable, or a key of another scope.
    """
    shown = "something else (not shown)"
    if not (isinstance(key, str) and key and key.isascii() and key.isprintable()):
        raise ParameterError("key", "printable ASCII text, without a line break", shown)
    if key != key.strip():
        raise ParameterError("key", "text without spaces around it", shown)
    for scope in ("admin", "read"):
        if key.startswith(f"deniable_{scope}_"):
            # Applications are given to people who may read whatever is in them.
            made = "deniable keys create --scope write --application NAME"
            constraint = f"a key of scope write, which this command makes: {made}"
            raise ParameterError("key", constraint, f"one of scope {scope} (not shown)")


def _parse_endpoint(endpoint: str) -> tuple[bool, str, int, str]:
    """Whether an endpoint uses TLS, its host, port and path."""
    constraint = "an https:// URL without user, query or fragment (http:// only to loopback)"
    if isinstance(endpoint, str) and endpoint.lstrip().startswith("deniable_"):
        raise ParameterError("endpoint", constraint, "a key (not shown)")
    if not (isinstance(endpoint, str) and endpoint.isascii() and endpoint.isprintable()):
        raise ParameterError("endpoint", constraint, endpoint)
    try:
        url = urlsplit(endpoint)
        port = url.port
    except ValueError:
        raise ParameterError("endpoint", constraint, endpoint) from None
    host = url.hostname or ""
    allowed = url.scheme == "https" or (url.scheme == "http" and _is_loopback(host))
    complete = host and port != 0 and " " not in endpoint
    if not (allowed and complete) or url.query or url.fragment or "@" in url.netloc:
        shown = "one with a user" if "@" in url.netloc else endpoint
        raise ParameterError("endpoint", constraint, shown)
    if url.path.rstrip("/").endswith(PATH):
        constraint = f"the server's base URL, to which the client adds {PATH}"
        raise ParameterError("endpoint", constraint, endpoint)
    tls = url.scheme == "https"
    return tls, host, port or (443 if tls else 80), url.path.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress  # costs start-up time; not needed for https

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
