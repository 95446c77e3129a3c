"""Writing a chart into a file, in which no text of a metric or a value can act.

A page holds the chart as JSON within a script, so a value could end that script and begin another.
Its menu offers the drawing only: the library's view of the source writes the texts into a page as
they are, and its editor sends them to another site.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from deniable_shared.characters import visible
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

    import altair as alt

SUFFIXES: Final = (".html", ".json", ".png", ".svg")
PNG_SCALE: Final = 2.0

_MENU: Final = {"export": True, "source": False, "compiled": False, "editor": False}


def save(chart: alt.LayerChart | alt.ConcatChart | alt.VConcatChart, path: Path) -> None:
    """Writes a chart to a file; the suffix says as what.

    Args:
        chart: any Altair chart.
        path: ends in .html (a page that needs no network), .json (Vega-Lite), .png or .svg.

    Raises:
        ParameterError: if it ends in anything else.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError("picture", f"a file ending in {', '.join(SUFFIXES)}", str(path))
    shown = type(chart).from_dict(_visible(chart.to_dict()), validate=False)
    if suffix == ".html":
        page = shown.to_html(
            inline=True, embed_options={"actions": _MENU}, json_kwds={"cls": _WithinScript}
        )
        path.write_text(page, encoding="utf-8")
    else:
        kind = cast("Literal['json', 'png', 'svg']", suffix[1:])
        shown.save(path, format=kind, scale_factor=PNG_SCALE if suffix == ".png" else 1)


def _visible(data: Any) -> Any:
    """The same chart, whose texts show the characters that would act on a reader unseen."""
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, dict):
        return {name: _visible(value) for name, value in data.items()}
    return [_visible(value) for value in data] if isinstance(data, list) else data


class _WithinScript(json.JSONEncoder):
    """JSON that can stand within a script of a page: none of its texts ends the script."""

    def encode(self, data: Any) -> str:
        return super().encode(data).replace("<", r"\u003c")
