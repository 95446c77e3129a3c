"""Figures as files: SVG, images, and pages that have no script and load nothing."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.extras import require
from deniable_aggregator.media.pictures.canvas import escaped
from deniable_aggregator.media.pictures.svg import PAGE_WIDTH, PHONE_WIDTH, svg
from deniable_aggregator.telling.figure import Figure, Panel
from deniable_aggregator.telling.figure_words import table_of
from deniable_shared.errors import ParameterError
from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


SUFFIXES: Final = (".html", ".png", ".svg")

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


def check_picture(path: Path) -> None:
    """Refuses a file that no picture can be written to, before anything is asked.

    Args:
        path: of the file.

    Raises:
        ParameterError: if its name ends in anything that is not known.
        MissingExtraError: if it ends in .png and what draws that is not installed.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError("picture", f"a file ending in {', '.join(SUFFIXES)}", str(path))
    if path.suffix.lower() == ".png":
        require_png()


def require_png() -> None:
    """Checks that what draws images is installed.

    Raises:
        MissingExtraError: with the command that installs it.
    """
    require("charts", "resvg_py")


def save(figure: Figure | Sequence[Figure], path: Path, *, columns: int = 1) -> str | None:
    """Writes a figure, or several on one sheet, into a file.

    Args:
        figure: what is drawn.
        path: ends in .svg, .png, or .html (a page without scripts that needs no network).
        columns: how many of several figures stand side by side.

    Returns:
        What whoever asked for the picture should know of it: which characters of a .png are shown
        by their names because no font here has them. None if there is nothing.

    Raises:
        ParameterError: if the name ends in anything else.
        MissingExtraError: if it ends in .png and what draws that is not installed.
        OSError: if the file cannot be written.
    """
    check_picture(path)
    figures = [figure] if isinstance(figure, Figure) else list(figure)
    width, note = PAGE_WIDTH * columns, None
    if path.suffix.lower() == ".png":
        from deniable_aggregator.media.pictures.png import png  # an extra, and slow to import

        content, note = png(figures, width, columns=columns)
    elif path.suffix.lower() == ".svg":
        content = svg(figures, width, columns=columns).encode()
    else:
        content = html(figures).encode()
    with replaced_file(path) as file:
        file.write(content)
    return note


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
