"""From what a page shows to the response: templates, and headers that bind the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flask import Response, g, has_request_context, request

from deniable_aggregator.media.html import environment
from deniable_aggregator.pages.addresses import address, changed
from deniable_aggregator.pages.static_files import address_of

if TYPE_CHECKING:
    from jinja2 import Environment

    from deniable_aggregator.pages.visit import Visit

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a browser may do with a page: load our own style and script, and send forms to us."""

HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
    "Vary": "Cookie",
}

PAGES: Final = (
    ("", "Overview"),
    ("health", "Health"),
    ("plan", "Plan"),
    ("privacy", "Privacy"),
    ("annotations", "Annotations"),
    ("lists", "Lists"),
    ("operations", "Operations"),
)
"""Paths and titles of the pages that every page leads to."""


def page(template: str, *, status: int = 200, **shown: Any) -> Response:
    """A page.

    Args:
        template: its name, such as "overview/overview.html.jinja".
        status: the HTTP status.
        **shown: what the template shows, beside ``visit``, which is None before signing in, and
            ``path``.
    """
    text = _ENVIRONMENT.get_template(f"pages/{template}").render(
        visit=_visit(), path=_path(), **shown
    )
    return Response(text, status, HEADERS, content_type="text/html; charset=utf-8")


def go_to(place: str) -> Response:
    """Sends a visitor to another page of this server.

    Args:
        place: a path with a query.
    """
    return Response(status=303, headers={**HEADERS, "Location": place})


def _visit() -> Visit | None:
    visit: Visit | None = g.get("visit") if has_request_context() else None
    return visit


def _path() -> str:
    return request.path if has_request_context() else ""


def here(place: str) -> str:
    """An address with the application that is shown, where there are several.

    Args:
        place: made by `addresses`.
    """
    visit = _visit()
    if visit is None or len(visit.applications) == 1:
        return place
    return changed(place, application=visit.application)


def _carried(method: str) -> list[tuple[str, str]]:
    """What a form carries unseen, by name."""
    visit = _visit()
    if visit is None:
        return []
    carried = [("application", visit.application)] if len(visit.applications) > 1 else []
    if method == "post":
        carried.append(("form_token", visit.form_token))
    return carried


def _environment() -> Environment:
    templates = environment()
    templates.globals.update(static=address_of, address=address, carried=_carried, PAGES=PAGES)
    templates.filters.update(here=here, changed=changed)
    return templates


_ENVIRONMENT: Final = _environment()
