"""From what a page shows to the response: templates, and headers that bind the browser."""

from __future__ import annotations

from typing import Any, Final

from flask import Response, g
from jinja2 import Environment, PackageLoader, StrictUndefined

from deniable_aggregator.charts.sparkline import sparkline
from deniable_aggregator.charts.svg import PHONE_WIDTH, svg
from deniable_aggregator.pages.static_files import address_of
from deniable_shared.characters import visible

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


def page(template: str, *, status: int = 200, **shown: Any) -> Response:
    """A page.

    Args:
        template: its name, such as "overview/overview.html.jinja".
        status: the HTTP status.
        **shown: what the template shows, beside ``visit``, which is None before signing in.
    """
    text = _ENVIRONMENT.get_template(template).render(visit=g.get("visit"), **shown)
    return Response(text, status, HEADERS, content_type="text/html; charset=utf-8")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    # A drawing is shown twice: for wide and for narrow windows.
    environment.globals.update(
        svg=lambda figure: svg(figure, theme="page"),
        phone_svg=lambda figure: svg(figure, PHONE_WIDTH, "page"),
        sparkline=sparkline,
        static=address_of,
    )
    environment.filters["visible"] = visible
    return environment


_ENVIRONMENT: Final = _environment()
