"""What can go wrong with an upload: each cause with its remedy, in words for the developer.

The words are from here alone. What a server, a proxy or a transport of the host's own says is
neither shown nor logged. `docs/reference/upload-problems.md` is made of this table for readers.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT: Final = "The report is kept and tried again."


class Problem(NamedTuple):
    """Why reports were not accepted.

    In the table the words have gaps: {server}, {endpoint}, {application}, {metric}, {status}.

    Attributes:
        kind: a constant word.
        cause: what happened and what to do, in one line.
        fate: what becomes of the report.
        mistake: whether it lasts until the developer or the operator corrects something.
    """

    kind: str
    cause: str
    fate: str = _KEPT
    mistake: bool = False

    @property
    def text(self) -> str:
        """All that is said, in one line."""
        return f"{self.cause} {self.fate}".rstrip()

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


_SENT_LATER: Final = "Reports are kept and sent later."

_BUSY: Final = Problem(
    "busy",
    "{server} cannot take reports now ({status}). There is nothing to do in the program; if it "
    "lasts, the operator looks at the server's limits.",
    _SENT_LATER,
)
_BEHIND_PROXY: Final = Problem(
    "server_behind_proxy",
    "The proxy in front of {server} has no answer from the aggregator ({status}). Is it running?",
)
_NOT_FOUND: Final = Problem(
    "no_aggregator",
    "There is no aggregator at {server} ({status}): nothing takes uploads at "
    "{server}/v1/reports. Make the endpoint the address of `deniable serve`, with the path under "
    "which a proxy publishes it, if any.",
    mistake=True,
)
_DELETED: Final = "The report was deleted."
_REFUSED: Final = Problem(
    "refused",
    "{server} refused a report of {metric} for good ({status}). If that is an aggregator, client "
    "and server do not fit: update the older of them. If it is something else, correct the "
    "endpoint.",
    _DELETED,
    mistake=True,
)
_REFUSED_REPORT: Final = Problem(
    "refused",
    "{server} refused a report of {metric} for good ({status}): it takes this version through the "
    "relay of a newer metrics.toml alone, which the program has to ship; or client and server do "
    "not fit, and the older is to be updated; or the endpoint is not that of an aggregator.",
    _DELETED,
    mistake=True,
)
_MAKE_A_KEY: Final = (
    "Give the client the key that this prints on the server's machine: `deniable keys create "
    "--store STORE --scope write --application {application}`."
)
_KEY_KEPT: Final = (
    "Reports are kept; the client tries again twice within two hours, then every day or two, at "
    "each flush and at each start of the program."
)

STATUSES: Final[Mapping[int, Problem]] = {
    400: _REFUSED,
    401: Problem(
        "key_refused",
        "{server} does not accept the key: it is unknown there, revoked or expired ({status}). "
        + _MAKE_A_KEY,
        _KEY_KEPT,
        mistake=True,
    ),
    403: Problem(
        "key_refused",
        "{server} forbids uploads with this key, whose scope must be write, or something in front "
        "of the server forbids them ({status}). " + _MAKE_A_KEY,
        _KEY_KEPT,
        mistake=True,
    ),
    404: _NOT_FOUND,
    405: _NOT_FOUND,
    408: Problem("cut_off", "The upload did not reach {server} whole, or too slowly ({status})."),
    409: Problem(
        "not_registered",
        "{server} does not know this version of {metric} ({status}). Register the very file that "
        "{who} ships: `deniable metrics register metrics.toml --server {endpoint} --token "
        "ADMIN_TOKEN`; or start a server of `deniable serve --development` again with it. If it is "
        "registered, the key belongs to another application than {application}.",
        "The report is kept until then, for 14 days.",
        mistake=True,
    ),
    410: Problem(
        "too_late",
        "{server} takes no reports of that day any more, or the metric was removed there "
        "({status}). Days are closed after 14 days, unless the server's accept_days says "
        "otherwise: was the device off for so long, or is its clock wrong?",
        "A report of {metric} was deleted.",
    ),
    413: _REFUSED,
    415: _REFUSED,
    422: _REFUSED_REPORT,
    425: Problem(
        "clock_ahead",
        "For {server} the day of a report of {metric} lies ahead ({status}): this device's clock "
        "is days ahead, or was. Set its date right.",
        "The report is kept until its day has come; once the clock is right, it is dropped.",
    ),
    429: _BUSY,
    502: _BEHIND_PROXY,
    503: _BUSY,
    504: _BEHIND_PROXY,
    507: Problem(
        "server_full",
        "The disk of {server} is nearly full ({status}). Its operator has to free space.",
    ),
}
_NO_RELAY: Final = Problem(
    "no_relay",
    "There is no relay at {server} ({status}): nothing takes uploads at {server}/v1/sealed. Make "
    "url in [relay] the address of `deniable relay`, with the path under which a proxy publishes "
    "it, if any.",
    mistake=True,
)
_REFUSED_BY_RELAY: Final = Problem(
    "refused",
    "{server} refused a sealed report of {metric} for good ({status}). Client and relay do not "
    "fit: update the older of them.",
    _DELETED,
    mistake=True,
)
_FORBIDDEN_BY_RELAY: Final = Problem(
    "relay_forbids",
    "Something in front of the relay {server} forbids uploads ({status}): a relay takes them "
    "without a key.",
    mistake=True,
)
RELAY_STATUSES: Final[Mapping[int, Problem]] = {
    **dict.fromkeys((400, 413, 415, 422), _REFUSED_BY_RELAY),
    **dict.fromkeys((401, 403), _FORBIDDEN_BY_RELAY),
    **dict.fromkeys((404, 405), _NO_RELAY),
    409: Problem(
        "relay_key_unknown",
        "{server} does not know the key that uploads are sealed to ({status}). Start `deniable "
        "relay` with the key in [relay] of the very metrics.toml that this program ships.",
        mistake=True,
    ),
}
"""What a relay answers otherwise than an aggregator."""

REDIRECT: Final = Problem(
    "redirected",
    "{server} redirects uploads ({status}), which the client never follows. Make the endpoint the "
    "address that it redirects to: `curl --head {endpoint}/v1/reports` shows it.",
    mistake=True,
)
SERVER_FAILED: Final = Problem(
    "server_failed",
    "{server} failed ({status}). Its operator finds the reason in its log.",
)
STRANGE_STATUS: Final = Problem(
    "no_aggregator",
    "{server} answered with {status}, which no aggregator does. Correct the endpoint, or what "
    "stands in front of the server.",
    mistake=True,
)

NO_TLS: Final = Problem(
    "no_tls",
    "What answers at {server} does not speak TLS. An aggregator on this machine may have an "
    "endpoint with http://; any other needs a proxy in front that does TLS.",
)
TLS_FAILED: Final = Problem(
    "tls_failed",
    "There is no TLS connection to {server}. Does the server speak TLS 1.2 or later at this port, "
    "with a certificate for this name?",
)
UNTRUSTED: Final = Problem(
    "certificate_untrusted",
    "The certificate of {server} is from an authority that this system does not trust, so nothing "
    "was sent. Name a private authority: transport=HttpTransport(endpoint, key, ca_file=...). If "
    "it is a public one, the server must send its whole chain of certificates; or somebody "
    "listens in between.",
)
_CERTIFICATE_DATE: Final = Problem(
    "certificate_expired",
    "The certificate of {server} has expired or is not valid yet, so nothing was sent. Renew it on "
    "the server; if it is right, this device's clock is wrong.",
)
_CERTIFICATE_NAME: Final = Problem(
    "certificate_name",
    "The certificate of {server} is for another name, so nothing was sent. Make the endpoint the "
    "name that is in the certificate, or get a certificate for this one.",
)
CERTIFICATES: Final[Mapping[int, Problem]] = {
    9: _CERTIFICATE_DATE,
    10: _CERTIFICATE_DATE,
    62: _CERTIFICATE_NAME,
    64: _CERTIFICATE_NAME,
}
"""By OpenSSL's number of what is wrong; anything else is untrusted."""

NO_ADDRESS: Final = Problem(
    "no_address",
    "The name in {server} was not found. Is it spelled right, and is this device online?",
)
TIMED_OUT: Final = Problem(
    "timed_out",
    "There was no answer from {server} in time. Is it the right address and port, and do firewalls "
    "let connections pass?",
)
CONNECTION_LOST: Final = Problem(
    "connection_lost",
    "{server} closed the connection without an answer. Is the port right, and does the endpoint "
    "begin with https:// if TLS is spoken there, with http:// if not?",
)
NOT_HTTP: Final = Problem(
    "not_http",
    "What answers at {server} does not speak HTTP. Is the port of the endpoint right, and does it "
    "begin with https:// if TLS is spoken there?",
)
NOBODY: Final = Problem(
    "connection_refused",
    "Nothing listens at {server}. Is the server running, and the port right?",
)
_OFFLINE: Final = Problem("offline", "This device has no way to {server}. Is it online?")
_FORBIDDEN: Final = Problem(
    "forbidden",
    "The system forbids this program to connect to {server}: a sandbox or a firewall.",
)
_NO_DESCRIPTORS: Final = Problem(
    "too_many_files", "This process has as many open files as it may have."
)
ERROR_NUMBERS: Final[Mapping[int, Problem]] = {
    errno.ENETUNREACH: _OFFLINE,
    errno.EHOSTUNREACH: _OFFLINE,
    errno.ENETDOWN: _OFFLINE,
    errno.EADDRNOTAVAIL: _OFFLINE,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EMFILE: _NO_DESCRIPTORS,
    errno.ENFILE: _NO_DESCRIPTORS,
    errno.ENOTCONN: CONNECTION_LOST,
    errno.EMSGSIZE: NOT_HTTP,
}

_PROXY: Final = "Uploads go through the proxy (of HTTPS_PROXY, ALL_PROXY or HttpTransport), and it"
_EXEMPT: Final = "or exempt the server in NO_PROXY."
PROXIES: Final[Mapping[str, Problem]] = {
    "unusable": Problem(
        "proxy_unusable",
        "HTTPS_PROXY or ALL_PROXY names a proxy that is not http://, and the client never passes "
        f"one by. Correct it, {_EXEMPT}",
    ),
    "unreachable": Problem(
        "proxy_unreachable", f"{_PROXY} cannot be reached. Correct its address, {_EXEMPT}"
    ),
    "password": Problem(
        "proxy_password",
        f"{_PROXY} wants another user and password (407): http://USER:PASSWORD@HOST:PORT.",
    ),
    "refused": Problem(
        "proxy_refused",
        f"{_PROXY} opens no connection to {{server}}. Have it allow CONNECT to the server, "
        f"{_EXEMPT}",
    ),
}

CANNOT_SEAL: Final = Problem(
    "cannot_seal",
    "No upload can be sealed here: cryptography lacks the suite of the key in [relay] of the "
    "registry, or the key is damaged. Nothing was sent.",
    mistake=True,
)
NO_RESPONSE: Final = Problem(
    "no_response",
    "The transport did not return a Response: `send` returns deniable.Response(status).",
    mistake=True,
)
UNKNOWN: Final = Problem("unreachable", "The transport raised {error}.")
FLUSH_ENDED: Final = Problem(
    "flush_ended",
    "Not every report was tried within the {seconds:g} s of the flush. If there are only a "
    "few, {server} is slow or does not answer: status() tells more in a moment. If there are many, "
    "give the flush a longer timeout_seconds.",
    "Reports are kept, and uploads under way go on.",
)
