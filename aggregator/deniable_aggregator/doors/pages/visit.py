"""Who visits a page, who may see it, and forms that change something."""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, g, request
from werkzeug.http import parse_cookie

from deniable_aggregator.answering.requests import ProblemError
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.doors.pages.errors import SignedOutError
from deniable_aggregator.doors.pages.rendering import HEADERS, SIGN_IN, SIGN_OUT
from deniable_aggregator.keeping.sessions import SESSION_SECONDS, Session, SessionKeeper
from deniable_shared.addresses import is_this_machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from werkzeug.datastructures import Headers

    from deniable_aggregator.asking.questions import Source
    from deniable_aggregator.keeping.keys import Key
    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.share_links import ShareLinkKeeper


SECURE_NAME: Final = "__Host-deniable"
"""By this name browsers know that only this host, over TLS, may have set the cookie."""


class SessionCookie:
    """Reads and sets the cookie.

    At this machine itself there is no TLS, and not all browsers keep a secure cookie without it. So
    there the cookie has another name, which is believed of no other host. Servers on other ports of
    a machine share cookies, hence the port in that name.

    Args:
        port: that the server listens on.
    """

    def __init__(self, port: int) -> None:
        self._local_name = f"deniable-{port}"

    def read(self, cookies: str, host: str) -> str:
        """The session's cookie, or nothing.

        Args:
            cookies: the request's header Cookie.
            host: the request's header Host.
        """
        sent = parse_cookie(cookies)
        local = sent.get(self._local_name, "") if is_this_machine(host) else ""
        return sent.get(SECURE_NAME, "") or local

    def set_on(self, response: Response, cookie: str, *, host: str, origin: str) -> None:
        """Has a browser keep a session.

        Args:
            response: the answer.
            cookie: of the session.
            host: the request's header Host.
            origin: the request's header Origin: a proxy may have changed Host.
        """
        local = is_this_machine(host) and not origin.startswith("https://")
        response.set_cookie(
            self._local_name if local else SECURE_NAME,
            cookie,
            max_age=SESSION_SECONDS,
            path="/",
            secure=not local,
            httponly=True,
            samesite="Strict",
        )

    def delete_from(self, response: Response) -> None:
        """Has a browser forget the session."""
        for name, secure in ((SECURE_NAME, True), (self._local_name, False)):
            response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="Strict")


@dataclass(frozen=True, kw_only=True)
class PageParts:
    """What pages are made with.

    Attributes:
        parts: the store, and what is made over it.
        source_of: answers questions about an application's metrics.
        sessions: knows who has signed in.
        cookie: what a browser keeps of a session.
        links: knows which links show a view.
    """

    parts: Parts
    source_of: Callable[[str], Source]
    sessions: SessionKeeper
    cookie: SessionCookie
    links: ShareLinkKeeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request for a page by somebody who has signed in.

    Attributes:
        application: whose metrics are shown.
        applications: all whose metrics this visitor may see; `application` is one of them.
        key: the key that this application was opened with; "read" or "admin" is its scope.
        source: answers questions about the application's metrics.
        today: the server's day.
        form_token: carried by every form that changes something, so that no other site can send it.
        simulated: whether all reports are of simulated devices.
        shares: whether views may be shared with people who have no key.
    """

    application: str
    applications: tuple[str, ...]
    key: Key
    source: Source
    today: date
    form_token: str
    simulated: bool = False
    shares: bool = False

    @property
    def administers(self) -> bool:
        """Whether forms for administrators are shown."""
        return self.key.scope == "admin"


def require_administrator() -> Visit:
    """The visit of Flask's current request, by somebody who may administer.

    Raises:
        ProblemError: ``wrong_scope``.
    """
    visit = current_visit()
    if not visit.administers:
        raise ProblemError(
            "wrong_scope",
            "Only administrators may change this, and nothing was changed. Sign in with the token "
            "of an admin key, which this command makes where the store is: deniable keys create "
            f"--scope admin --application {visit.application}",
        )
    return visit


def current_visit() -> Visit:
    """The visit of Flask's current request."""
    visit: Visit = g.visit
    return visit


FORM_BYTES: Final = 64 << 10
SIGN_IN_BYTES: Final = 8 << 10
"""All that is read of somebody without a session."""

LONG_FORMS: Final = ("/lists",)
"""Forms with a list of values, which may be as long as an upload."""

FORM_TYPE: Final = "application/x-www-form-urlencoded"
FORM_TYPES: Final = (FORM_TYPE, "multipart/form-data")


def form_limit(path: str, longest: int) -> int:
    """How many bytes a form may have.

    Args:
        path: where it is sent.
        longest: the limit of `LONG_FORMS`.
    """
    if path in (SIGN_IN, SIGN_OUT):
        return SIGN_IN_BYTES
    return longest if path in LONG_FORMS else FORM_BYTES


def require_form_type(content_type: str) -> None:
    """Refuses a body that is no form.

    Raises:
        ProblemError: ``unsupported_media_type``.
    """
    if content_type.partition(";")[0].strip().lower() not in FORM_TYPES:
        raise ProblemError("unsupported_media_type", "Pages take forms as browsers send them.")


def require_own_page(headers: Headers) -> None:
    """Refuses a form that a page of another site may have sent.

    Browsers say it in Sec-Fetch-Site, and where there is no TLS in Origin alone.

    Raises:
        ProblemError: ``request_refused``.
    """
    said = headers.get("Sec-Fetch-Site", "")
    origin, host = headers.get("Origin", ""), headers.get("Host", "")
    own = said == "same-origin" if said else host and origin.partition("://")[2] == host
    if not own:
        raise ProblemError(
            "request_refused",
            "This form did not come from a page of this server, so nothing was changed. Open the "
            "page again and send the form from there. Behind a proxy: it must pass on the header "
            "Host.",
            status=403,
        )


def masked(token: str) -> str:
    """A session's form token as one page shows it: hidden by fresh random bytes, which precede it.

    So it is another text on every page, and the length of a compressed page tells nothing of it.
    """
    secret = bytes.fromhex(token)
    mask = os.urandom(len(secret))
    return (mask + _either(mask, secret)).hex()


def _unmasked(shown: str) -> bytes:
    """The token that a form carries; empty if it carries none."""
    try:
        both = bytes.fromhex(shown)
    except ValueError:
        return b""
    half = len(both) // 2
    return _either(both[:half], both[half:]) if len(both) == 2 * half else b""


def _either(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))


def require_form_token(expected: str) -> None:
    """Refuses Flask's current request unless its form carries the session's token, masked.

    Raises:
        ProblemError: ``request_refused``.
    """
    sent = _unmasked(request.form.get("form_token", ""))
    if not hmac.compare_digest(sent, bytes.fromhex(expected)):
        raise ProblemError(
            "request_refused",
            "This form belongs to an earlier session, so nothing was changed. Open the page again "
            "and send the form from there.",
            status=403,
        )


def admit_visitors(routes: Blueprint, pages: PageParts) -> None:
    """Lets nobody see the pages of a blueprint, or send their forms, without a session.

    Args:
        routes: the pages.
        pages: what they are made with.
    """

    def admit() -> None:
        host = request.headers.get("Host", "")
        cookie = pages.cookie.read(request.headers.get("Cookie", ""), host)
        session = pages.sessions.verify(cookie)
        if session is None:
            raise SignedOutError
        if request.method not in ("GET", "HEAD"):
            _require_own_form(session, pages.parts.settings.max_body_bytes)
        name = request.values.get("application", session.keys[0].application)
        key = next((each for each in session.keys if each.application == name), session.keys[0])
        g.visit = Visit(
            application=key.application,
            applications=tuple(sorted(each.application for each in session.keys)),
            key=key,
            source=pages.source_of(key.application),
            today=day_of(pages.parts.today),
            form_token=masked(session.form_token),
            simulated=pages.parts.catalogue.simulated,
            shares=pages.links.allowed,
        )
        if name != key.application:  # whether there is such an application or not
            raise ProblemError(
                "wrong_scope",
                "You are not signed in to this application. Sign in with the token of one of its "
                "keys; you stay signed in to the others.",
            )

    def protect(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    routes.before_request(admit)
    # Also files and redirects, which nobody else may keep or frame.
    routes.after_request(protect)


def _require_own_form(session: Session, longest_form: int) -> None:
    limit = form_limit(request.path, longest_form)
    request.max_content_length = request.max_form_memory_size = limit
    require_own_page(request.headers)
    require_form_type(request.content_type or "")
    require_form_token(session.form_token)
