"""What pages need, and the theme leaves out, for those who use a keyboard or a screen reader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

REPLACEMENTS: Final = (
    # What scrolls sideways can be reached with the keyboard.
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    # Two landmarks of one kind have names.
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
    # A table without a heading has no empty ones.
    ('<th class="head"><p></p></th>', "<td></td>"),
    # Every page has a heading of the first level.
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)
"""What stands in the pages of the theme, and what replaces it."""

NARROW: Final = 480
"""Pictures up to so many pixels wide are scaled down on a phone; wider ones scroll there."""

PICTURE: Final = re.compile(r'<p>(?=<img [^>]*src="(?P<path>[^"]+)")')
WIDTH_OF_SVG: Final = re.compile(r'<svg [^>]*\bwidth="(\d+)"')
PRINTED: Final = re.compile(
    r'(?<=<div class=")(?=highlight-text [^"]*">'
    r'<div class="highlight"><pre[^>]*>(?P<text>.*?)</pre>)',
    re.DOTALL,
)
COLUMNS: Final = re.compile(r"\S {2,}\S|[─│┃]")
"""What printed text has whose lines cannot be broken."""

NAME_OF_A_TEST: Final = re.compile(r'(?<=<span class="pre">)test_\w+')


def accessible(page: str, folder: Path) -> str:
    """A page without these barriers.

    Args:
        page: HTML as the theme makes it.
        folder: of the page, from which its links to pictures lead.
    """
    for old, new in REPLACEMENTS:
        page = page.replace(old, new)
    page = PICTURE.sub(lambda picture: _paragraph_of(folder / picture["path"]), page)
    page = PRINTED.sub(lambda block: "" if COLUMNS.search(block["text"]) else "sentences ", page)
    # A name that cannot be broken would push the next column out of the window.
    return NAME_OF_A_TEST.sub(lambda name: name[0].replace("_", "_<wbr>"), page)


def _paragraph_of(picture: Path) -> str:
    if picture.suffix == ".svg":
        width = WIDTH_OF_SVG.search(picture.read_text(encoding="utf-8"))
        if width and int(width[1]) <= NARROW:
            return "<p>"
    return '<p class="wide picture" tabindex="0">'
