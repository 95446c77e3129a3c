"""Pictures as files, whose texts come from registries, devices and servers."""

from __future__ import annotations

import re
from functools import partial
from html.parser import HTMLParser
from itertools import count

import msgspec
import pytest
import resvg_py

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.media.pictures.files import SUFFIXES, check_picture, html, save
from deniable_aggregator.media.pictures.png import named, png
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.figures import figure_of
from deniable_shared.errors import ParameterError
from tests.aggregator.media.pictures.drawn import answer_of, change, parsed, series, shares

ATTACKS = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "'-alert(1)-'",
    "</text><script>alert(1)</script>",
    '"onload="alert(1)',
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt;",
    "]]><foreignObject>",
    "x\x1by\u202ez\ud800\ufffe",
)
OF_PEOPLE = {"metric", "application", "description", "message", "value", "label", "segment"}
"""Texts that somebody else than the program wrote, by where they stand in an answer."""

ELEMENTS = {"svg", "g", "path", "text", "rect", "line", "circle", "title", "desc"}


@pytest.fixture(scope="module")
def known():
    notice = Notice("suspicious_reports", "warning", "The reports of a key fail a check.")
    known = shares()
    known.notices = [notice]
    within = answer_of(*known.numbers, segment="channel=beta", values_asked=3)
    return [known, within, series(3, 4), change(3)]


def attacked(answer, attack):
    """The same answer with an attack in every text that somebody else wrote."""
    numbers = count()

    def changed(data, name=""):
        if isinstance(data, dict):
            return {each: changed(value, each) for each, value in data.items()}
        if isinstance(data, list):
            return [changed(value, name) for value in data]
        theirs = isinstance(data, str) and name in OF_PEOPLE
        return f"{attack}{next(numbers)}" if theirs else data

    return msgspec.convert(changed(msgspec.to_builtins(answer)), type(answer))


class Page(HTMLParser):
    """What a browser finds in a page: its elements and their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes = set(), set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attributes}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_figure_becomes_a_page_a_drawing_or_an_image(known, tmp_path, suffix):
    path = tmp_path / f"chart{suffix.upper()}"
    assert save(figure_of(known[0]), path) is None
    signs = {".html": b"<!DOCTYPE html>", ".png": b"\x89PNG", ".svg": b"<svg"}
    assert path.read_bytes().startswith(signs[suffix])


def test_several_figures_are_one_file(known, tmp_path):
    figures = [figure_of(answer) for answer in known]
    for suffix in SUFFIXES:
        save(figures, tmp_path / f"all{suffix}", columns=2)
    root = parsed((tmp_path / "all.svg").read_text())
    assert root.get("viewBox").split()[2] == "1280"


def test_another_kind_of_file_is_refused_before_anything_is_done(tmp_path):
    with pytest.raises(ParameterError, match="picture must be a file ending in"):
        check_picture(tmp_path / "chart.pdf")


def test_an_image_says_which_extra_it_needs(monkeypatch, tmp_path):
    monkeypatch.setattr("deniable_aggregator.answers.extras.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'deniable\[charts\]'"):
        check_picture(tmp_path / "chart.png")
    check_picture(tmp_path / "chart.svg")


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_gets_an_element_or_an_attribute_into_a_drawing(known, attack):
    for answer in known:
        harmless = parsed(svg(figure_of(answer)))
        root = parsed(svg(figure_of(attacked(answer, attack))))
        names = {each.tag.rpartition("}")[2] for each in root.iter()}
        assert names <= ELEMENTS
        attributes = {name for each in root.iter() for name in each.attrib}
        assert not {name for name in attributes if name.startswith("on") or "href" in name}
        assert "style" not in attributes
        assert attributes - {"font-weight"} <= {n for e in harmless.iter() for n in e.attrib}
        assert attack.isprintable() is False or attack in "".join(root.itertext())


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_gets_an_element_into_a_page(known, attack):
    for answer in known:
        harmless = Page(html(figure_of(answer)))
        page = Page(html(figure_of(attacked(answer, attack))))
        assert page.elements <= harmless.elements
        assert "script" not in page.elements
        assert not {name for name in page.attributes if name.startswith("on")}
        assert page.attributes <= harmless.attributes


def test_a_page_loads_nothing_and_runs_nothing(known):
    page = html([figure_of(answer) for answer in known])
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href|url|@import)\s*[=(]""", page)
    assert "red" in page
    assert "<table>" in page


def test_letters_look_the_same_whatever_fonts_a_machine_has(monkeypatch):
    answer = attacked(shares(), "Größe, θέμα, цвет, màu sắc ≤ 5 €")
    images = [png([figure_of(answer)], 640)]
    draw = resvg_py.svg_to_bytes
    without = partial(draw, skip_system_fonts=True)
    monkeypatch.setattr(resvg_py, "svg_to_bytes", without)
    images.append(png([figure_of(answer)], 640))
    assert images[0] == images[1]
    assert images[0][1] is None
    assert images[0] != png([figure_of(shares())], 640)


def test_characters_that_no_font_has_are_drawn_by_name_and_told():
    """Of this character for private use no font knows anything, whatever is installed here."""
    answer = attacked(shares(), "\U0010fffe\U0010abcd")
    image, note = png([figure_of(answer)], 640)
    assert image.startswith(b"\x89PNG")
    assert "U+10ABCD" in note
    assert "install a font" in note
    assert named("a\U0001f41d", {"\U0001f41d"}) == "a[honeybee]"
    assert named("\U0001f1eb\U0001f1f7", {"\U0001f1eb", "\U0001f1f7"}) == "FR"
    assert named("\U0001f469\u200d\U0001f467", {"\U0001f469", "\U0001f467"}) == "[woman][girl]"
    assert named("日", {"日"}).strip() == "U+65E5"
    assert named("plain", {"日"}) == "plain"
