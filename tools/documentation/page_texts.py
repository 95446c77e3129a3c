"""The text of every page in one script, so that a search shows where its words stand.

Sphinx's search would read each page that it found. A browser does not let one file read another.
"""

from __future__ import annotations

import json
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SCRIPT: Final = "page-texts.js"
BLOCKS: Final = frozenset({"p", "li", "td", "th", "dt", "dd", "pre", "h2", "h3", "h4"})
"""Elements whose words do not run on in the next one."""

READING: Final = """\
const PAGE_TEXTS = %s;
// All that the page of results fetches are pages, as "./faq.html".
window.fetch = async (page) => ({ text: async () => PAGE_TEXTS[page.replace("./", "")] });
"""


def page_texts(pages: Mapping[str, str]) -> str:
    """The script for the page of results.

    Args:
        pages: HTML by its path from the folder of the site.
    """
    texts = {path: text for path, page in pages.items() if (text := _text_of(page))}
    return READING % json.dumps(texts, ensure_ascii=False, indent=0)


def _text_of(page: str) -> str:
    article = _Article()
    article.feed(page)
    text = " ".join("".join(article.parts).split())
    return f'<div role="main">{text}</div>' if text else ""


class _Article(HTMLParser):
    """Keeps the words of a page's article, and where its sections begin and end."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._inside = False
        self._title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = self._inside or tag == "article"
        if tag == "h1":
            self._title = True  # stands above the excerpt
        elif tag == "section" and self._inside:
            self.parts.append(f'<section id="{escape(dict(attrs).get("id") or "")}">')

    def handle_endtag(self, tag: str) -> None:
        if tag == "h1":
            self._title = False
        elif tag == "section" and self._inside:
            self.parts.append("</section>")
        elif tag == "article":
            self._inside = False
        elif tag in BLOCKS:
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if self._inside and not self._title and data != "¶":
            self.parts.append(escape(data, quote=False))
