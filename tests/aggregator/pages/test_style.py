"""The style of pages: small, and its colours can be told from what is behind them."""

import re
from gzip import compress

import pytest

from deniable_aggregator.doors.pages.rendering import address_of, static_file
from tests.aggregator.contrast import contrast

STYLE, SCRIPT = (
    static_file(address_of(name).rpartition("/")[2]).get_data(as_text=True)
    for name in ("page.css", "page.js")
)


def colors():
    """The custom properties of a light and of a dark page."""
    light, dark = re.findall(r":root \{([^}]*)\}", STYLE)[:2]
    found = re.compile(r"--([\w-]+): (#[0-9a-f]+);")
    return dict(found.findall(light)), dict(found.findall(dark))


PALETTES = pytest.mark.parametrize("palette", colors(), ids=["light", "dark"])


@PALETTES
def test_texts_and_marks_stand_out_from_pages_and_cards(palette):
    """4.5:1 of texts, 3:1 of what is no text, as the guidelines for pages ask (WCAG 2.2)."""
    for behind in ("paper", "surface"):
        for text in ("ink", "muted", "accent", "good", "caution", "bad"):
            assert contrast(palette[text], palette[behind]) >= 4.5, (text, behind)
        for mark in ("edge", "chart-band", "chart-core", "chart-unclear"):
            assert contrast(palette[mark], palette[behind]) >= 3, (mark, behind)
    for behind in ("cautious", "wrong"):
        for text in ("ink", "accent", "muted", "bad"):
            assert contrast(palette[text], palette[behind]) >= 4.5, (text, behind)
    assert contrast(palette["on-accent"], palette["accent"]) >= 4.5


@PALETTES
def test_the_inner_half_of_an_interval_stands_out_from_its_band(palette):
    """And the band is nearer to what is behind both, in the dark as in the light."""
    band, core = palette["chart-band"], palette["chart-core"]
    assert contrast(core, band) >= 2
    assert contrast(core, palette["paper"]) > contrast(band, palette["paper"])


def test_style_and_script_are_small():
    assert len(STYLE.encode()) <= 24_000
    assert len(compress(STYLE.encode()) + compress(SCRIPT.encode())) <= 9_000


def test_nothing_is_loaded_from_elsewhere():
    assert not re.search(r"url\(|@import|https?:", STYLE + SCRIPT)
