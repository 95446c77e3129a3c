"""The documentation site, as files in a folder: whole, without a network, and for everybody."""

from __future__ import annotations

import re
import sys
from html import unescape
from html.parser import HTMLParser
from importlib import import_module
from urllib.parse import unquote, urlsplit

import pytest

from deniable_shared.commands.table import COMMANDS
from tests.browser.visitor import tab
from tests.installed import ROOT, succeed
from tools.concepts.drawing import STYLE
from tools.documentation.api_pages import PACKAGES
from tools.documentation.navigation import entries
from tools.documentation.site import require_listed
from tools.documentation.staging import DOCS, SiteError, Staging

LOADED = {"script", "link", "img", "source", "iframe", "object", "video", "audio", "use"}
"""Elements that make a browser load what they name."""

LOOKED_AT = {
    "start": "index.html",
    "reader": "readers/privacy-reviewer.html",
    "wide-tables": "reference/metrics-toml.html",
    "pictures": "analysis/pictures.html",
    "python": "api/deniable.testing.html",
    "code": "project/examples/flask_app.py.html",
    "search": "search.html?q=epsilon",
}
"""One page of each kind; names are those of pictures."""


CONCEPTS = [path.with_suffix(".html").name for path in (DOCS / "concepts").glob("*.md")]
SMALLEST_LETTERS = int(re.search(r"\.small \{ font-size: (\d+)px", STYLE)[1])


class Page(HTMLParser):
    """The links, anchors and loaded addresses of a page."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.anchors, self.loaded = path, [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors |= {named[name] for name in ("id", "name") if named.get(name)}
        for name in ("href", "src", "srcset", "data"):
            if named.get(name):
                (self.loaded if tag in LOADED else self.links).append(named[name])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, which is built without a warning, or not at all."""
    folder = tmp_path_factory.mktemp("documentation") / "site"
    succeed(sys.executable, "-m", "tools.documentation", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_of_the_site_leads_to_a_file_and_an_anchor_of_it(site, pages):
    assert len(pages) > 60
    broken = []
    for page in pages.values():
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            anchor = unquote(parts.fragment)
            known = pages[target].anchors if target in pages else set()
            if not target.is_file() or (anchor and target in pages and anchor not in known):
                broken.append(f"{page.path.relative_to(site)}: {address}")
    assert broken == []


def test_no_page_style_or_script_loads_anything_from_elsewhere(site, pages):
    for page in pages.values():
        assert [address for address in page.loaded if urlsplit(address).netloc] == []
    for style in site.rglob("*.css"):
        addresses = re.findall(r"url\(([^)]*)\)|@import", style.read_text(encoding="utf-8"))
        assert [each for each in addresses if not each.strip("'\"").startswith("data:")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_the_python_interface_has_every_public_name(pages, site, package):
    described = pages[site / "api" / f"{package}.html"].anchors
    public = {name for name in import_module(package).__all__ if not name.startswith("__")}
    full = {f"{package}.{name}" for name in public}
    assert full <= described | {name.removeprefix("module-") for name in described}


def test_every_command_is_on_its_page_with_its_help(site):
    text = (site / "commands.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f'id="deniable-{name.replace(" ", "-")}"' in text
        assert COMMANDS[name].summary in unescape(text)


def test_every_document_is_in_the_navigation_of_the_start_page(pages, site):
    listed = entries((DOCS / "README.md").read_text(encoding="utf-8"))
    links = {unquote(urlsplit(link).path) for link in pages[site / "index.html"].links}
    for documents in listed.values():
        for each in documents:
            assert re.sub(r"(\.md)?$", ".html", each.path, count=1) in links


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_of_the_site_fits_every_window_and_has_no_barrier(browser, site, screenshots, name):
    with tab(browser, site.as_uri()) as visitor:
        visitor.page.goto(f"{site.as_uri()}/{LOOKED_AT[name]}")
        visitor.check_layout(screenshots, f"documentation-{name}")
        visitor.check_access()


@pytest.mark.parametrize(
    ("words", "result", "excerpt"),
    [
        (
            "epsilon",
            "Noise, epsilon and intervals",
            "Epsilon bounds how much one report can change",
        ),
        (
            "how many users",
            "Questions and answers > How many users do I need?",
            "About 57,000 reports to notice a flag",
        ),
        ("metrics.toml", "Registry reference: metrics.toml", "metrics.toml"),
    ],
)
def test_a_search_in_the_folder_finds_the_page_about_words_and_shows_where_they_stand(
    browser, site, words, result, excerpt
):
    with tab(browser, site.as_uri()) as visitor:
        visitor.page.goto(f"{site.as_uri()}/index.html")
        visitor.page.get_by_placeholder("Search").fill(words)
        visitor.page.keyboard.press("Enter")
        results = visitor.page.locator("#search-results li")
        visitor.page.get_by_text("Search finished").wait_for()
        assert results.count() > 10
        assert results.first.locator("a").inner_text() == result
        assert excerpt in results.first.locator(".context").inner_text()


def test_pictures_of_the_concepts_are_seen_whole_and_read_on_a_phone(browser, site):
    with tab(browser, site.as_uri()) as visitor:
        visitor.page.set_viewport_size({"width": 390, "height": 844})
        for page in ["index.html", *sorted(f"concepts/{each}" for each in CONCEPTS)]:
            visitor.page.goto(f"{site.as_uri()}/{page}")
            pictures = visitor.page.locator("article img").all()
            assert pictures
            for picture in pictures:
                box = picture.bounding_box()
                assert box["x"] + box["width"] <= 390
                shrunk = box["width"] / picture.evaluate("image => image.naturalWidth")
                assert SMALLEST_LETTERS * shrunk >= 10


def test_a_phone_says_of_a_wide_picture_or_table_that_it_scrolls(browser, site):
    hint = "all => all.map(each => getComputedStyle(each, '::before').content)"
    with tab(browser, site.as_uri()) as visitor:
        visitor.page.goto(f"{site.as_uri()}/analysis/pictures.html")
        for width, said in ((390, '"Scroll sideways →"'), (1280, "none")):
            visitor.page.set_viewport_size({"width": width, "height": 844})
            assert set(visitor.page.locator(".picture").evaluate_all(hint)) == {said}


def test_all_columns_of_the_threats_are_seen_at_once_in_a_wide_window(browser, site):
    with tab(browser, site.as_uri()) as visitor:
        visitor.page.set_viewport_size({"width": 1280, "height": 900})
        visitor.page.goto(f"{site.as_uri()}/threat-model.html")
        tables = visitor.page.locator(".table-wrapper")
        assert tables.count() > 3
        assert tables.evaluate_all("all => all.every(each => each.scrollWidth <= each.clientWidth)")


def test_a_link_that_leads_nowhere_ends_the_build_with_its_document(tmp_path):
    staging = Staging(tmp_path / "pages")
    with pytest.raises(SiteError, match=r"faq\.md: the link to no\.md leads nowhere"):
        staging.link("no.md", DOCS / "faq.md")


def test_a_document_in_no_navigation_ends_the_build_and_says_where_to_add_it():
    with pytest.raises(SiteError, match=r"new\.md: in no navigation; add a row to .*README"):
        require_listed({DOCS / "new.md", DOCS / "faq.md"}, {DOCS / "faq.md"})
