"""Texts of other people are seen on pages, and do nothing."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.browser.deployment import HOSTILE

VALUES = quote(f"{HOSTILE}\n\u202eabc\u0007\n=1+1")
PATHS = [
    "/",
    "/metric/plugin?by=day",
    "/metric/theme?by=day",
    f"/metric/emoji?list=saved%3Aemoji-and-more&values={VALUES}",
    "/metric/search_term",
    "/health?metric=theme&since=-14d",
    "/privacy",
    "/operations",
    "/annotations",
    "/lists/emoji-and-more",
    f"/metric/{quote(HOSTILE, safe='')}",
    f"/nothing?{VALUES}",
]
ACTING = """() => [...document.querySelectorAll("*")].filter((each) =>
    each.localName === "img" || each.localName === "i" || each.closest("h1 b, h2 b") ||
    [...each.attributes].some(({ name, value }) =>
        name.startsWith("on") || name === "style" || /^\\s*javascript:/i.test(value))
).map((each) => each.outerHTML.slice(0, 200))"""
HIDDEN = """() => [...document.querySelectorAll("body *:not(textarea)")]
    .flatMap((each) => [...each.childNodes]).filter((each) => each.nodeType === Node.TEXT_NODE)
    .map((each) => each.data).filter((text) =>
        /[\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/.test(text))"""


@pytest.mark.parametrize("path", PATHS)
def test_texts_of_others_are_shown_and_do_not_act(visit, home, path):
    with visit("admin") as tab:
        tab.expect_refusal(path)
        tab.page.goto(home + path)
        assert tab.page.title() != "owned"
        assert tab.page.evaluate(ACTING) == []
        assert tab.page.evaluate(HIDDEN) == []
