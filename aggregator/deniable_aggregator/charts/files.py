"""Writing figures into files; what a file is depends on how its name ends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from deniable_aggregator.charts.figure import Figure
from deniable_aggregator.charts.page import html
from deniable_aggregator.charts.svg import PAGE_WIDTH, svg
from deniable_aggregator.charts.vega.specification import vega_lite
from deniable_aggregator.extras import require
from deniable_shared.errors import ParameterError
from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SUFFIXES: Final = (".html", ".json", ".png", ".svg")


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
    require("charts", "vl_convert")


def save(figure: Figure | Sequence[Figure], path: Path, *, columns: int = 1) -> str | None:
    """Writes a figure, or several on one sheet, into a file.

    Args:
        figure: what is drawn.
        path: ends in .svg, .png, .html (a page without scripts that needs no network) or .json
            (Vega-Lite, for Altair and Vega).
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
    suffix = path.suffix.lower()
    figures = [figure] if isinstance(figure, Figure) else list(figure)
    width = PAGE_WIDTH * columns
    if suffix == ".png":
        from deniable_aggregator.charts.png import png  # an extra, and slow to import

        image, note = png(figures, width, columns=columns)
        with replaced_file(path) as file:
            file.write(image)
        return note
    if suffix == ".svg":
        text = svg(figures, width, columns=columns)
    elif suffix == ".html":
        text = html(figures)
    else:
        charts = [vega_lite(each) for each in figures]
        text = json.dumps(charts[0] if len(charts) == 1 else charts, indent=1) + "\n"
    with replaced_file(path) as file:
        file.write(text.encode())
    return None
