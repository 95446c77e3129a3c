"""Who may see a page: whoever has a session with a key of the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import g, request

from deniable_aggregator.dates import day_of
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.pages.errors import SignedOutError
from deniable_aggregator.pages.forms import (
    form_limit,
    require_form_token,
    require_form_type,
    require_own_page,
)
from deniable_aggregator.pages.rendering import HEADERS
from deniable_aggregator.pages.visit import Visit

if TYPE_CHECKING:
    from flask import Blueprint, Response

    from deniable_aggregator.pages.page_parts import PageParts
    from deniable_aggregator.security.sessions import Session


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
            form_token=session.form_token,
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
