"""Signing in with a token, and signing out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flask import Blueprint, Response, request

from deniable_aggregator.answers.dates import format_day
from deniable_aggregator.doors.pages.errors import local_page
from deniable_aggregator.doors.pages.rendering import SIGN_IN, SIGN_OUT, go_to, page
from deniable_aggregator.doors.pages.visit import (
    SIGN_IN_BYTES,
    PageParts,
    masked,
    require_form_token,
    require_form_type,
    require_own_page,
)
from deniable_aggregator.keeping.keys import TOKEN_PATTERN, Budget, ExpiredKeyError, Key
from deniable_shared.addresses import is_this_machine

if TYPE_CHECKING:
    from deniable_aggregator.keeping.sessions import Session


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why a token was refused.

    Attributes:
        title: in a few words.
        text: what was wrong and what to do next.
        command: one that helps, or nothing.
        status: of HTTP.
    """

    title: str
    text: str
    command: str = ""
    status: int = 403


@dataclass(frozen=True, kw_only=True)
class SignInView:
    """The page for signing in.

    Attributes:
        next_page: where the visitor goes then.
        applications: those the visitor is signed in to already.
        refusal: why the last token was refused; None if there was none.
        form_token: of the session; empty if there is none.
        create_command: makes a key with which to sign in.
    """

    next_page: str
    applications: tuple[str, ...]
    refusal: Refusal | None
    form_token: str
    create_command: str


def create_command(application: str = "APPLICATION") -> str:
    """The command that makes a key with which to sign in.

    Args:
        application: whose metrics the key reads.
    """
    return f"deniable keys create --scope read --application {application}"


def no_token() -> Refusal:
    """Nothing was typed."""
    return Refusal(title="A token is needed", text="Paste it into the field.")


def malformed_token() -> Refusal:
    """What was typed is no token at all."""
    return Refusal(
        title="This is not a token",
        text="A token begins with deniable_read_ or deniable_admin_ and has 70 characters or so. "
        "Copy all of it. It was shown once, when the key was made; if it is lost, make another:",
        command=create_command(),
    )


def unknown_token() -> Refusal:
    """There is no key with this token, or it was revoked."""
    return Refusal(
        title="This token is not known here",
        text="Its key was revoked, or belongs to another server. Ask whoever runs this server for "
        "a token, or make a key where the store is:",
        command=create_command(),
    )


def expired_token(last_day: str) -> Refusal:
    """The key of the token has expired.

    Args:
        last_day: on which it was valid.
    """
    return Refusal(
        title="This token has expired",
        text=f"It was valid until {last_day}. Use the one that took its place, or make another:",
        command=create_command(),
    )


def write_token(application: str) -> Refusal:
    """The token is that of a device.

    Args:
        application: that the key belongs to.
    """
    return Refusal(
        title="This token can only send reports",
        text="It belongs to a key that brings reports, as applications have. To look at results, "
        "sign in with the token of a read key. This command makes one:",
        command=create_command(application),
    )


def in_the_clear(host: str) -> Refusal:
    """The page was opened without TLS over a network.

    Args:
        host: as the browser knows it.
    """
    return Refusal(
        title="This address does not keep a token secret",
        text=f"http://{host} is not encrypted, so nobody can sign in there: the network could read "
        "the token. Open the page with https://, through the proxy that ends TLS, or bring the "
        "server's port to your own machine and open http://localhost:8787/. If this network is not "
        "yours, revoke the key.",
        command="ssh -L 8787:127.0.0.1:8787 SERVER",
    )


def too_many() -> Refusal:
    """More wrong tokens came lately than are looked at closely."""
    return Refusal(
        title="This token was refused",
        text="Many wrong tokens came lately, so this one is not explained. Check that it is the "
        "whole token of a read or admin key. A right one is always let in.",
        status=429,
    )


def too_often() -> Refusal:
    """The key has opened too many sessions."""
    return Refusal(
        title="This key has signed in very often",
        text="So many sessions were opened with it that the next one has to wait. Try again in a "
        "few minutes.",
        status=429,
    )


WRONG_TOKENS: Final = 60, 1.0
"""So many wrong tokens of anybody are explained at once, and so many a second in the long run.

A token has 256 random bits: nobody finds one by trying, so a limit protects no token. It bounds
what a flood is told and costs. A right token is let in whatever else comes, since a limit by
address would need addresses, and one for all would let anybody lock everybody out.
"""

SIGN_INS_OF_KEY: Final = 200, 1 / 60
"""So many sessions a key may open at once, and so many a second in the long run. Each is a row in
the store and an entry in the audit log, which is never deleted."""

READERS: Final = ("read", "admin")


class SignIn:
    """Opens and ends sessions.

    Args:
        parts: what pages are made with.
    """

    def __init__(self, pages: PageParts) -> None:
        self._verifier = pages.parts.verifier
        self._sessions = pages.sessions
        self._cookie = pages.cookie
        self._wrong = Budget(*WRONG_TOKENS, time.monotonic)
        self._of_key: dict[str, Budget] = {}

    def show(self) -> Response:
        """The page for signing in."""
        return self._page(local_page(request.args.get("next", "")))

    def enter(self) -> Response:
        """Signs in with the token of the form."""
        request.max_content_length = SIGN_IN_BYTES
        require_form_type(request.content_type or "")
        require_own_page(request.headers)
        next_page = local_page(request.form.get("next", ""))
        key = self._key_or_refusal(request.form.get("token", "").strip())
        if isinstance(key, Refusal):
            return self._page(next_page, key)
        if not self._of_key.setdefault(key.id, Budget(*SIGN_INS_OF_KEY, time.monotonic)).spend():
            return self._page(next_page, too_often())
        begun = self._sessions.begin(key, self._sent())
        answer = go_to(next_page)
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin", "")
        self._cookie.set_on(answer, begun, host=host, origin=origin)
        return answer

    def leave(self) -> Response:
        """Ends the session."""
        request.max_content_length = SIGN_IN_BYTES
        require_own_page(request.headers)
        session = self._session()
        if session is not None:
            require_form_token(session.form_token)
            self._sessions.end(self._sent())
        answer = go_to(SIGN_IN)
        self._cookie.delete_from(answer)
        # Whoever sits down here next sees no page by going back.
        answer.headers["Clear-Site-Data"] = '"cache"'
        return answer

    def _sent(self) -> str:
        return self._cookie.read(request.headers.get("Cookie", ""), request.headers.get("Host", ""))

    def _session(self) -> Session | None:
        return self._sessions.verify(self._sent())

    def _key_or_refusal(self, token: str) -> Key | Refusal:
        origin, host = request.headers.get("Origin", ""), request.headers.get("Host", "")
        if origin.startswith("http://") and not is_this_machine(host):
            return in_the_clear(host)
        refusal = unknown_token()
        try:
            key = self._verifier.verify(token)
        except ExpiredKeyError as error:
            key, refusal = None, expired_token(format_day(error.expired))
        if key is not None and key.scope in READERS:
            return key
        if key is not None:
            return write_token(key.application)
        if not self._wrong.spend():
            return too_many()
        if not TOKEN_PATTERN.fullmatch(token):
            return malformed_token() if token else no_token()
        return refusal

    def _page(self, next_page: str, refusal: Refusal | None = None) -> Response:
        session = self._session()
        shown = SignInView(
            next_page=next_page,
            applications=tuple(sorted(each.application for each in session.keys))
            if session
            else (),
            refusal=refusal,
            form_token=masked(session.form_token) if session else "",
            create_command=create_command(),
        )
        status = 200 if refusal is None else refusal.status
        return page("sign_in/sign_in.html.jinja", status=status, sign_in=shown)


def add_sign_in(routes: Blueprint, pages: PageParts) -> None:
    """Adds ``/sign-in`` and ``/sign-out``."""
    sign_in = SignIn(pages)
    routes.add_url_rule(SIGN_IN, "sign in", sign_in.show)
    routes.add_url_rule(SIGN_IN, "enter", sign_in.enter, methods=["POST"])
    routes.add_url_rule(SIGN_OUT, "sign out", sign_in.leave, methods=["POST"])
