"""Which HTTP proxy, if any, uploads go through."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from deniable import _import_lock
from deniable_shared.errors import ParameterError


class ProxyError(OSError):
    """The proxy could not be used, so that there is no connection to the aggregator.

    Attributes:
        cause: unusable, unreachable, password or refused.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Proxy(NamedTuple):
    """An HTTP proxy, which is asked for tunnels with CONNECT.

    Attributes:
        host: its name or address.
        port: its TCP port.
        credentials: the value of the header Proxy-Authorization, or None.
    """

    host: str
    port: int
    credentials: str | None


def find_proxy(choice: str | Proxy | None, host: str, port: int) -> Proxy | None:
    """The proxy for connections to a host, or None to connect directly.

    Args:
        choice: a proxy, None, or "environment" to read the environment variables now.
        host: the aggregator's name or address.
        port: the aggregator's port.

    Raises:
        ProxyError: if the environment names a proxy that cannot be used; connecting directly
            instead would go against the user's settings.
    """
    if not isinstance(choice, str):
        return choice
    with _import_lock.hold():
        # Not `getproxies`: on macOS it asks the system, which ends a process that was forked.
        from urllib.request import (  # type: ignore[attr-defined]  # mypy knows only one
            getproxies_environment,
            proxy_bypass_environment,
        )

    proxies = getproxies_environment()
    url = proxies.get("https") or proxies.get("all")
    if not url or proxy_bypass_environment(f"{host}:{port}"):
        return None
    try:
        return parse_proxy(url if "://" in url else f"http://{url}")
    except ParameterError:
        message = "the environment names a proxy that is not http://"
        raise ProxyError("unusable", message) from None


def parse_proxy(url: str) -> Proxy:
    """Reads the URL of a proxy.

    Raises:
        ParameterError: if it is not such a URL. The message does not show it, because it may hold a
            password.
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
