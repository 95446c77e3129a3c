"""``/sign-in`` and ``/sign-out``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from flask import request

from deniable_aggregator.dates import format_day
from deniable_aggregator.pages.forms import (
    SIGN_IN_BYTES,
    require_form_token,
    require_form_type,
    require_own_page,
)
from deniable_aggregator.pages.paths import SIGN_IN, SIGN_OUT
from deniable_aggregator.pages.rendering import go_to, page
from deniable_aggregator.pages.sign_in import view
from deniable_aggregator.pages.sign_in.next_page import local_page
from deniable_aggregator.security.budget import Budget
from deniable_aggregator.security.keys import TOKEN_PATTERN, ExpiredKeyError
from deniable_shared.addresses import is_this_machine

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.pages.page_parts import PageParts
    from deniable_aggregator.pages.sign_in.view import Refusal
    from deniable_aggregator.security.keys import Key
    from deniable_aggregator.security.sessions import Session

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
        if isinstance(key, view.Refusal):
            return self._page(next_page, key)
        if not self._of_key.setdefault(key.id, Budget(*SIGN_INS_OF_KEY, time.monotonic)).spend():
            return self._page(next_page, view.too_often())
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
            return view.in_the_clear(host)
        refusal = view.unknown_token()
        try:
            key = self._verifier.verify(token)
        except ExpiredKeyError as error:
            key, refusal = None, view.expired_token(format_day(error.expired))
        if key is not None and key.scope in READERS:
            return key
        if key is not None:
            return view.write_token(key.application)
        if not self._wrong.spend():
            return view.too_many()
        if not TOKEN_PATTERN.fullmatch(token):
            return view.malformed_token() if token else view.no_token()
        return refusal

    def _page(self, next_page: str, refusal: Refusal | None = None) -> Response:
        session = self._session()
        shown = view.SignInView(
            next_page=next_page,
            applications=tuple(sorted(each.application for each in session.keys))
            if session
            else (),
            refusal=refusal,
            form_token=session.form_token if session else "",
            create_command=view.create_command(),
        )
        status = 200 if refusal is None else refusal.status
        return page("sign_in/sign_in.html.jinja", status=status, sign_in=shown)


def add_sign_in(routes: Blueprint, pages: PageParts) -> None:
    """Adds ``/sign-in`` and ``/sign-out``."""
    sign_in = SignIn(pages)
    routes.add_url_rule(SIGN_IN, "sign in", sign_in.show)
    routes.add_url_rule(SIGN_IN, "enter", sign_in.enter, methods=["POST"])
    routes.add_url_rule(SIGN_OUT, "sign out", sign_in.leave, methods=["POST"])
