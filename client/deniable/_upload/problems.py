"""What can go wrong with an upload: each cause with its remedy, in words for the developer.

The words are from here alone. What a server, a proxy or a transport of the host's own says is
neither shown nor logged. `docs/client/failures.md` explains each kind.

Imported when the first upload fails, and not before: most programs never need it.
"""

from __future__ import annotations

import errno
import socket
import sys
from http.client import HTTPException, RemoteDisconnected
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable._transport.proxy import ProxyError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Problem(NamedTuple):
    """Why reports were not accepted.

    Attributes:
        kind: a constant word.
        text: one line that says what happened and what to do.
        mistake: whether it lasts until the developer or the operator corrects something.
    """

    kind: str
    text: str
    mistake: bool = False

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Target(NamedTuple):
    """Where reports are sent.

    Attributes:
        application: its name in the registry.
        endpoint: the server's base URL, or None for a transport of the host's own.
    """

    application: str
    endpoint: str | None = None


_KEPT: Final = "The report is kept and tried again."
_LOOK: Final = "Correct the endpoint, or what stands in front of the server."
_BUSY: Final = (
    "{server} cannot take reports now ({status}). There is nothing to do: they are sent later."
)
_FAILED: Final = "{server} failed ({status}). Its operator finds the reason in its log. " + _KEPT
_BEHIND: Final = (
    "The proxy in front of {server} has no answer from the aggregator ({status}). Is it running? "
    + _KEPT
)
_NOT_FOUND: Final = (
    "There is no aggregator at {server} ({status}): nothing takes uploads at "
    "{server}/v1/reports. Make the endpoint the address of `deniable serve`, with the path under "
    "which a proxy publishes it, if any. " + _KEPT
)
_KEY: Final = (
    "{reason} ({status}). Give the client the key that this prints on the server's machine: "
    "deniable keys create --store STORE --scope write --application {application}. Reports are "
    "kept; the client tries again twice within two hours, then every day or two, at each flush and "
    "at each start of the program."
)
_REFUSED: Final = (
    "{server} refused a report of {metric} for good ({status}), so it was deleted. If that is an "
    "aggregator, client and server do not fit: update the older of them. If it is something else, "
    "correct the endpoint."
)

_STATUSES: Final[Mapping[int, Problem]] = {
    400: Problem("refused", _REFUSED, mistake=True),
    401: Problem(
        "key_refused",
        _KEY.replace(
            "{reason}", "{server} does not accept the key: it is unknown there, revoked or expired"
        ),
        mistake=True,
    ),
    403: Problem(
        "key_refused",
        _KEY.replace("{reason}", "{server} forbids uploads with this key: its scope must be write"),
        mistake=True,
    ),
    404: Problem("no_aggregator", _NOT_FOUND, mistake=True),
    405: Problem("no_aggregator", _NOT_FOUND, mistake=True),
    408: Problem(
        "cut_off", "The upload did not reach {server} whole, or too slowly (408). " + _KEPT
    ),
    409: Problem(
        "not_registered",
        "{server} does not know this version of {metric} (409). Register the very file that {who} "
        "ships: deniable metrics register metrics.toml --server {endpoint} --token ADMIN_TOKEN. "
        "The report is kept until then, for 14 days. If the file is registered, the key belongs to "
        "another application than {application}, or this device's clock is days ahead.",
        mistake=True,
    ),
    410: Problem(
        "too_late",
        "{server} takes no reports of that day any more, or the metric was removed there (410): a "
        "report of {metric} was deleted. Days are closed after 14 days, unless the server's "
        "accept_days says otherwise: was the device off for so long, or is its clock wrong?",
    ),
    413: Problem("refused", _REFUSED, mistake=True),
    415: Problem("refused", _REFUSED, mistake=True),
    422: Problem("refused", _REFUSED, mistake=True),
    429: Problem("busy", _BUSY),
    502: Problem("server_behind_proxy", _BEHIND),
    503: Problem("busy", _BUSY),
    504: Problem("server_behind_proxy", _BEHIND),
    507: Problem(
        "server_full",
        "The disk of {server} is nearly full (507). Its operator has to free space. " + _KEPT,
    ),
}
_REDIRECT: Final = Problem(
    "redirected",
    "{server} redirects uploads ({status}), which the client never follows. Make the endpoint the "
    "address that it redirects to: curl --head {endpoint}/v1/reports shows it. " + _KEPT,
    mistake=True,
)
_SERVER_FAILED: Final = Problem("server_failed", _FAILED)
_STRANGE: Final = Problem(
    "no_aggregator",
    "{server} answered with {status}, which no aggregator does. " + _LOOK + " " + _KEPT,
    mistake=True,
)

_PLAIN: Final = Problem(
    "no_tls",
    "What answers at {server} does not speak TLS. An aggregator on this machine may have an "
    "endpoint with http://; any other needs a proxy in front that does TLS. " + _KEPT,
)
_UNTRUSTED: Final = Problem(
    "certificate_untrusted",
    "The certificate of {server} is from an authority that this system does not trust, so nothing "
    "was sent. Name a private authority: transport=HttpTransport(endpoint, key, ca_file=...). If "
    "it is a public one, the server must send its whole chain of certificates; or somebody "
    "listens in between. " + _KEPT,
)
_CERTIFICATE_DATE: Final = Problem(
    "certificate_expired",
    "The certificate of {server} has expired or is not valid yet, so nothing was sent. Renew it on "
    "the server; if it is right, this device's clock is wrong. " + _KEPT,
)
_CERTIFICATE_NAME: Final = Problem(
    "certificate_name",
    "The certificate of {server} is for another name, so nothing was sent. Make the endpoint the "
    "name that is in the certificate, or get a certificate for this one. " + _KEPT,
)
_CERTIFICATES: Final = {
    9: _CERTIFICATE_DATE,
    10: _CERTIFICATE_DATE,
    62: _CERTIFICATE_NAME,
    64: _CERTIFICATE_NAME,
}
"""By OpenSSL's number of what is wrong; anything else is untrusted."""

_NO_TLS_REASONS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST")
_TLS_FAILED: Final = Problem(
    "tls_failed",
    "There is no TLS connection to {server}. Does the server speak TLS 1.2 or later at this port, "
    "with a certificate for this name? " + _KEPT,
)
_CONNECTION_LOST: Final = Problem(
    "connection_lost",
    "{server} closed the connection without an answer. Is the port right, and does the endpoint "
    "begin with https:// if TLS is spoken there, with http:// if not? " + _KEPT,
)
_TIMED_OUT: Final = Problem(
    "timed_out",
    "There was no answer from {server} in time. Is it the right address and port, and do firewalls "
    "let connections pass? " + _KEPT,
)
_NO_ADDRESS: Final = Problem(
    "no_address",
    "The name in {server} was not found. Is it spelled right, and is this device online? " + _KEPT,
)
_NOBODY: Final = Problem(
    "connection_refused",
    "Nothing listens at {server}. Is the server running, and the port right? " + _KEPT,
)
_OFFLINE: Final = Problem("offline", "This device has no way to {server}. Is it online? " + _KEPT)
_FORBIDDEN: Final = Problem(
    "forbidden",
    "The system forbids this program to connect to {server}: a sandbox or a firewall. " + _KEPT,
)
_NO_DESCRIPTORS: Final = Problem(
    "too_many_files", "This process has as many open files as it may have. " + _KEPT
)
_NOT_HTTP: Final = Problem(
    "not_http",
    "What answers at {server} does not speak HTTP. Is the port of the endpoint right, and does it "
    "begin with https:// if TLS is spoken there? " + _KEPT,
)
_OF_ERRNO: Final[Mapping[int, Problem]] = {
    errno.ECONNREFUSED: _NOBODY,
    errno.ENETUNREACH: _OFFLINE,
    errno.EHOSTUNREACH: _OFFLINE,
    errno.ENETDOWN: _OFFLINE,
    errno.EADDRNOTAVAIL: _OFFLINE,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EMFILE: _NO_DESCRIPTORS,
    errno.ENFILE: _NO_DESCRIPTORS,
    errno.EMSGSIZE: _NOT_HTTP,
}
_PROXY: Final = "the proxy (of HTTPS_PROXY, ALL_PROXY or HttpTransport)"
_PROXIES: Final[Mapping[str, Problem]] = {
    "unusable": Problem(
        "proxy_unusable",
        "HTTPS_PROXY or ALL_PROXY names a proxy that is not http://, and the client never passes "
        "one by. Correct it, or exempt the server in NO_PROXY. " + _KEPT,
    ),
    "unreachable": Problem(
        "proxy_unreachable",
        f"Uploads go through {_PROXY}, and it cannot be reached. Correct its address, or exempt "
        "the server in NO_PROXY. " + _KEPT,
    ),
    "password": Problem(
        "proxy_password",
        f"Uploads go through {_PROXY}, and it wants another user and password (407): "
        "http://USER:PASSWORD@HOST:PORT. " + _KEPT,
    ),
    "refused": Problem(
        "proxy_refused",
        f"Uploads go through {_PROXY}, and it opens no connection to {{server}}. Have it allow "
        "CONNECT to the server, or exempt the server in NO_PROXY. " + _KEPT,
    ),
}

_FLUSH_ENDED: Final = Problem(
    "flush_ended",
    "Not every report was tried within the {seconds:g} seconds of the flush. If there are only a "
    "few, {server} is slow or does not answer: status() tells more in a moment. If there are many, "
    "give the flush a longer timeout_seconds. Reports are kept, and uploads under way go on.",
)
NO_RESPONSE: Final = Problem(
    "no_response",
    "The transport did not return a Response: `send` returns deniable.Response(status). " + _KEPT,
    mistake=True,
)


def of_status(status: int, target: Target, metric: str | None) -> Problem:
    """What the status of an answer means that does not acknowledge the upload.

    Args:
        status: of HTTP.
        target: where the upload was sent.
        metric: its name; None if the registry does not have the report's version.
    """
    if status in _STATUSES:
        row = _STATUSES[status]
    elif 300 <= status < 400:
        row = _REDIRECT
    elif 500 <= status < 600:
        row = _SERVER_FAILED
    else:
        row = _STRANGE
    return _filled(row, target, status=status, metric=metric)


def of_exception(error: BaseException, target: Target) -> Problem:
    """What an exception of a transport means."""
    return _filled(_row_of(error), target, error=type(error).__name__)


def of_flush(timeout_seconds: float, target: Target) -> Problem:
    """What it means that a flush ended before every report was tried."""
    return _filled(_FLUSH_ENDED, target, seconds=timeout_seconds)


def _row_of(error: BaseException) -> Problem:
    if isinstance(error, ProxyError):
        return _PROXIES[error.cause]
    if isinstance(error, socket.gaierror | UnicodeError):
        return _NO_ADDRESS
    ssl = sys.modules.get("ssl")  # whoever raised an error of it has imported it
    if ssl is not None and isinstance(error, ssl.SSLError):
        if isinstance(error, ssl.SSLCertVerificationError):
            return _CERTIFICATES.get(getattr(error, "verify_code", 0), _UNTRUSTED)
        return _PLAIN if getattr(error, "reason", "") in _NO_TLS_REASONS else _TLS_FAILED
    if isinstance(error, TimeoutError):
        return _TIMED_OUT
    if isinstance(error, RemoteDisconnected | ConnectionResetError | BrokenPipeError):
        return _CONNECTION_LOST
    if isinstance(error, HTTPException):
        return _NOT_HTTP
    known = _OF_ERRNO.get(error.errno or 0) if isinstance(error, OSError) else None
    return known or Problem("unreachable", "The transport raised {error}. " + _KEPT)


def _filled(row: Problem, target: Target, *, metric: str | None = None, **more: object) -> Problem:
    text = row.text.format(
        server=target.endpoint or "the server",
        endpoint=target.endpoint or "ENDPOINT",
        application=target.application,
        metric="a metric" if metric is None else f"the metric {metric}",
        who="the version of this program that recorded it" if metric is None else "this program",
        **more,
    )
    return row._replace(text=text[0].upper() + text[1:] if target.endpoint is None else text)
