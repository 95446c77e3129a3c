"""A document as one HTML file: no script, nothing from elsewhere, everything escaped."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.svg import PHONE_WIDTH, svg

if TYPE_CHECKING:
    from jinja2 import Environment

    from deniable_aggregator.charts.figure import Figure
    from deniable_aggregator.report.document import Document

TEMPLATES: Final = "templates"


def html(document: Document) -> str:
    """The document as an HTML page.

    Its policy allows its own style, by hash, and nothing else: no script would run even if a text
    brought one.

    Args:
        document: the report.
    """
    style = stylesheet()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    template = _environment().get_template("report.html.jinja")
    return template.render(document=document, style=style, policy=policy)


def stylesheet() -> str:
    """The style of a report."""
    return files(__package__).joinpath(TEMPLATES, "report.css").read_text("utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__ or "", TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals["drawn"] = _drawn
    return environment


def _drawn(figure: Figure) -> str:
    """A figure as SVG, as wide as a phone: on wider pages two of them stand side by side."""
    return svg(figure, PHONE_WIDTH, "page")
