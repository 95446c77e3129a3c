"""Figures as a page: drawings, and their numbers as tables. It has no script and loads nothing."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.alternative import table_of
from deniable_aggregator.charts.drawing.canvas import escaped
from deniable_aggregator.charts.figure import Figure
from deniable_aggregator.charts.svg import PHONE_WIDTH, svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.charts.figure import Panel

_STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: auto; padding: 1rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: .75rem 0 2rem; }
caption { text-align: start; padding: .25rem 0; }
th, td { text-align: end; padding: .2rem .5rem; border-bottom: 1px solid #8888; }
th, td:not(:first-child, :last-child) { white-space: nowrap; }
details { overflow-x: auto; }
th:first-child, td:first-child { text-align: start; }
td:first-child { min-width: 7rem; max-width: 30rem; overflow-wrap: anywhere; }
.phone { display: none; }
.phone svg { width: 100%; }
@media screen and (max-width: 34rem) { .phone { display: block; } .wide { display: none; } }
@media print { details > summary { display: none; } svg { break-inside: avoid; } }
"""
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"
)


def html(figure: Figure | Sequence[Figure]) -> str:
    """A page with figures, each with a table of its numbers.

    Args:
        figure: one, or several below one another.
    """
    figures = [figure] if isinstance(figure, Figure) else list(figure)
    title = escaped("; ".join(each.title for each in figures))
    parts = "\n".join(_part(each) for each in figures)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{parts}\n</body>\n</html>\n"
    )


def _part(figure: Figure) -> str:
    """The drawing for wide and for narrow windows, of which one is shown, and the numbers."""
    tables = "\n".join(_table(panel) for panel in figure.panels)
    return (
        f'<div class="wide">{svg(figure, theme="page")}</div>\n'
        f'<div class="phone">{svg(figure, PHONE_WIDTH, "page")}</div>\n'
        f"<details open><summary>Numbers</summary>\n{tables}\n</details>"
    )


def _table(panel: Panel) -> str:
    columns, rows = table_of(panel)
    head = "".join(f'<th scope="col">{escaped(each)}</th>' for each in columns)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    caption = escaped(panel.heading or panel.axis)
    return f"<table><caption>{caption}</caption>\n<tr>{head}</tr>\n{body}\n</table>"
