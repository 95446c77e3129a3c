"""From what a page shows to the response: templates, and headers that bind the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flask import Response, g, has_request_context, request
from jinja2 import Environment, PackageLoader, StrictUndefined

from deniable_aggregator.charts.alternative import table_of
from deniable_aggregator.charts.sparkline import sparkline
from deniable_aggregator.charts.svg import svg
from deniable_aggregator.pages.addresses import address, changed
from deniable_aggregator.pages.static_files import address_of
from deniable_aggregator.report.document import Table
from deniable_shared.characters import visible, visible_lines

if TYPE_CHECKING:
    from deniable_aggregator.charts.figure import Figure
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

WIDE: Final = 560
NARROW: Final = 296
BROAD: Final = 1120
"""Widths of drawings, in pixels: their texts are of the page's size in places as wide."""


def page(template: str, *, status: int = 200, **shown: Any) -> Response:
    """A page.

    Args:
        template: its name, such as "overview/overview.html.jinja".
        status: the HTTP status.
        **shown: what the template shows, beside ``visit``, which is None before signing in, and
            ``path``.
    """
    text = _ENVIRONMENT.get_template(template).render(visit=_visit(), path=_path(), **shown)
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


def _numbers_of(figure: Figure) -> list[Table]:
    """The numbers of a figure as tables."""
    tables = []
    for panel in figure.panels:
        columns, rows = table_of(panel)
        tables.append(Table(panel.heading or panel.axis, columns, rows))
    return tables


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(
        # A drawing is there for wide and for narrow places; one of several parts, for broad ones.
        wide_svg=lambda figure: svg(figure, WIDE, "page", heading=False),
        broad_svg=lambda figure: svg(figure, BROAD, "page", heading=False),
        narrow_svg=lambda figure: svg(figure, NARROW, "page", heading=False),
        sparkline=lambda figure: sparkline(figure, 240, 44),
        numbers_of=_numbers_of,
        static=address_of,
        address=address,
        carried=_carried,
        PAGES=PAGES,
    )
    environment.filters.update(
        visible=visible, visible_lines=visible_lines, here=here, changed=changed
    )
    return environment


_ENVIRONMENT: Final = _environment()
