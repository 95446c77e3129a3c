"""HTML: the one environment of templates for pages, reports and publications."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.media.pictures.bars import bars_of
from deniable_aggregator.media.pictures.followed import followed_svg
from deniable_aggregator.media.pictures.key import samples_of
from deniable_aggregator.media.pictures.svg import PHONE_WIDTH, sparkline, svg
from deniable_aggregator.telling.document import Column, Link, Row, Table
from deniable_aggregator.telling.figure_words import table_of
from deniable_shared.characters import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from deniable_aggregator.telling.figure import Figure
    from deniable_aggregator.telling.report_document import ReportDocument

WIDE: Final = 560
NARROW: Final = 296
BROAD: Final = 1120
MIDDLE: Final = 720
"""Widths of drawings on pages, in pixels: their texts are of the page's size in places as wide."""

TEMPLATES: Final = "templates"


@cache
def environment() -> Environment:
    """The templates of everything that is HTML: all texts are escaped, and no name is missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(__package__ or "", TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.globals.update(
        # A drawing is there for wide and for narrow places; one of several parts, for broad ones.
        wide_svg=lambda figure, **options: svg(figure, WIDE, "page", heading=False, **options),
        broad_svg=lambda figure, **options: svg(figure, BROAD, "page", heading=False, **options),
        narrow_svg=lambda figure, **options: svg(figure, NARROW, "page", heading=False, **options),
        followed=lambda figure, addresses: {
            place: followed_svg(figure, width, addresses)
            for place, width in (("broadest", BROAD), ("wide", MIDDLE), ("narrow", NARROW))
        },
        samples_of=samples_of,
        bars_of=bars_of,
        # As wide as a phone: on wider pages two of them stand side by side.
        drawn=lambda figure: svg(figure, PHONE_WIDTH, "page"),
        sparkline=lambda figure: sparkline(figure, 240, 44),
        numbers_of=numbers_of,
    )
    # Pages replace `here`, which keeps an address within the application that is shown.
    templates.filters.update(visible=visible, visible_lines=visible_lines, here=str)
    return templates


def numbers_of(figure: Figure, addresses: Sequence[str] = ()) -> list[Table]:
    """The numbers of a figure as tables, for those who cannot see it.

    Args:
        figure: any.
        addresses: of a series of one number, where each period leads; empty for nowhere.
    """
    tables = []
    for panel in figure.panels:
        headings, rows = table_of(panel)
        for row, address in zip(rows, addresses, strict=False):
            row[1] = Link(row[1], address)
        tables.append(
            Table(
                name="",
                caption=panel.heading or panel.axis,
                columns=[
                    Column(heading=each, words=place == 0) for place, each in enumerate(headings)
                ],
                rows=[Row(cells=cells) for cells in rows],
            )
        )
    return tables


def stylesheet(*names: str) -> str:
    """Style sheets, one after the other.

    Args:
        names: of files below the templates, such as "style.css".
    """
    folder = files(__package__).joinpath(TEMPLATES)
    return "".join(folder.joinpath(*name.split("/")).read_text("utf-8") for name in names)


def own_policy(style: str) -> str:
    """The policy of a file that has its own style and loads nothing, not even a script of a text.

    Args:
        style: the text of its style element.
    """
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def report_html(document: ReportDocument) -> str:
    """A report as one HTML file: no script, nothing from elsewhere.

    Args:
        document: the report.
    """
    style = stylesheet("style.css", "report/report.css")
    return _rendered(
        "report/report.html.jinja", document=document, style=style, policy=own_policy(style)
    )


def _rendered(template: str, **shown: Any) -> str:
    return environment().get_template(template).render(**shown)
