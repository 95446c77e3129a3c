"""How found strings are shown: two that differ look different, and none acts on a terminal."""

from __future__ import annotations

import pytest

from deniable_aggregator.telling.wording import shown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("weather", "weather"),
        ("dark mode", "dark mode"),
        ("", "<empty>"),
        ("x ", "x<U+0020>"),
        (" x", "<U+0020>x"),
        ("\u200dx", "<U+200D>x"),
        ("x\ufe0f", "x<U+FE0F>"),
        ("\u202eevil\x1b[2J", "<U+202E>evil<U+001B>[2J"),
        ("\u2764\ufe0f", "\u2764\ufe0f"),  # a red heart
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),  # a woman at a computer
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),  # letters of Persian
    ],
)
def test_what_cannot_be_seen_has_its_name_unless_a_script_needs_it(text, shown):
    assert shown_text(text, whole=True) == shown
    assert shown_text(text, whole=False) == shown + "…"
