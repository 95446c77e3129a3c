"""From the status or the exception of an upload to what it means, in words for the developer.

Imported before the first upload, and not with the client: it needs what uploads need.
"""

from __future__ import annotations

import socket
import sys
from http.client import HTTPException, RemoteDisconnected
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._transport.http import SealingError
from deniable._transport.proxy import ProxyError
from deniable._upload import problem_table as table

if TYPE_CHECKING:
    from deniable._upload.problem_table import Problem

_PLAIN_REASONS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
"""What OpenSSL says of a server without TLS, in one version or another."""

_LONGEST_CHAIN: Final = 8


class Target(NamedTuple):
    """Where reports are sent.

    Attributes:
        application: its name in the registry.
        endpoint: the server's base URL, or None for a transport of the host's own.
        is_relay: whether uploads are sealed, so that the server is a relay.
    """

    application: str
    endpoint: str | None = None
    is_relay: bool = False


def of_status(status: int, target: Target, metric: str | None) -> Problem:
    """What the status of an answer means that does not acknowledge the upload.

    Args:
        status: of HTTP.
        target: where the upload was sent.
        metric: its name; None if the registry does not have the report's version.
    """
    if target.is_relay and status in table.RELAY_STATUSES:
        row = table.RELAY_STATUSES[status]
    elif status in table.STATUSES:
        row = table.STATUSES[status]
    elif 300 <= status < 400:
        row = table.REDIRECT
    elif 500 <= status < 600:
        row = table.SERVER_FAILED
    else:
        row = table.STRANGE_STATUS
    return _filled(row, target, metric=metric, status=status)


def of_exception(error: BaseException, target: Target) -> Problem:
    """What an exception of a transport means."""
    row: Problem | None = None
    cause: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if row is not None or cause is None:
            break
        row = _row_of(cause)
        # Libraries wrap the errors of sockets; a defect that meets one is still a defect.
        cause = cause.__cause__ or (cause.__context__ if isinstance(cause, OSError) else None)
    return _filled(row or table.UNKNOWN, target, error=type(error).__name__)


def of_flush(timeout_seconds: float, target: Target) -> Problem:
    """What it means that a flush ended before every report was tried."""
    return _filled(table.FLUSH_ENDED, target, seconds=timeout_seconds)


def no_response(target: Target) -> Problem:
    """What it means that a transport returned something else than a `Response`."""
    return _filled(table.NO_RESPONSE, target)


def _row_of(error: BaseException) -> Problem | None:
    if isinstance(error, SealingError):
        return table.CANNOT_SEAL
    if isinstance(error, ProxyError):
        return table.PROXIES[error.cause]
    if isinstance(error, socket.gaierror | UnicodeError):
        return table.NO_ADDRESS
    ssl = sys.modules.get("ssl")  # whoever raised an error of it has imported it
    if ssl is not None and isinstance(error, ssl.SSLError):
        if isinstance(error, ssl.SSLCertVerificationError):
            return table.CERTIFICATES.get(getattr(error, "verify_code", 0), table.UNTRUSTED)
        plain = getattr(error, "reason", "") in _PLAIN_REASONS
        return table.NO_TLS if plain else table.TLS_FAILED
    if isinstance(error, TimeoutError):
        return table.TIMED_OUT
    if isinstance(error, ConnectionRefusedError):
        return table.NOBODY
    if isinstance(error, RemoteDisconnected | ConnectionError):
        return table.CONNECTION_LOST
    if isinstance(error, HTTPException):
        return table.NOT_HTTP
    if isinstance(error, OSError):
        return table.ERROR_NUMBERS.get(error.errno or 0)
    return None


def _filled(row: Problem, target: Target, *, metric: str | None = None, **more: object) -> Problem:
    gaps = {
        "server": target.endpoint or "the server",
        "endpoint": target.endpoint or "ENDPOINT",
        "application": target.application,
        "metric": "a metric" if metric is None else f"the metric {metric}",
        "who": "the version of this program that recorded it" if metric is None else "this program",
        **more,
    }
    cause = row.cause.format(**gaps)
    if cause.startswith("the "):
        cause = f"T{cause[1:]}"
    return row._replace(cause=cause, fate=row.fate.format(**gaps))
