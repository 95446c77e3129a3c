"""The way of a report, from ``record`` to the page of an analyst."""

from __future__ import annotations

from typing import Final

from tools.concepts.drawing import Drawing

DEVICE: Final = (
    ("record(...)", "the true value,", "in memory alone"),
    ("checks", "the value, consent,", "the budget"),
    ("randomizes", "with randomness of the", "operating system"),
    ("stores the report", "and what it has spent,", "in its directory"),
)
SERVER: Final = (
    ("takes the upload", "each counts once,", "however often it is sent"),
    ("counts", "by metric, day", "and key"),
    ("estimates", "takes the noise out", "of the sums"),
    ("shows", "shares, with intervals", ""),
)
_WIDTH, _HEIGHT, _STEP = 180, 84, 208


def draw_way() -> str:
    """The picture."""
    picture = Drawing(
        860,
        360,
        "On the device: record, check, randomize, store; the true value goes no further than that. "
        "At a random time of the day the report is uploaded. On the server: take, count, "
        "estimate, show.",
    )
    for title, steps, top in (("On the device", DEVICE, 20), ("On the server", SERVER, 220)):
        picture.text(20, top + 8, title, "bold")
        for place, (name, first, second) in enumerate(steps):
            left, y = 20 + place * _STEP, top + 20
            picture.bar(left, y, _WIDTH, _HEIGHT, "box")
            picture.text(left + 12, y + 26, name, "bold")
            picture.text(left + 12, y + 48, first, "small")
            picture.text(left + 12, y + 66, second, "small")
            if place:
                picture.arrow(left - _STEP + _WIDTH + 4, y + _HEIGHT / 2, _STEP - _WIDTH - 8)
    picture.line([(20 + 3 * _STEP - 14, 30), (20 + 3 * _STEP - 14, 136)], "missed")
    picture.text(20 + 3 * _STEP - 22, 150, "the true value goes no further", "end small")
    x, y = 20 + 3 * _STEP + _WIDTH / 2, 124 + 6
    picture.line([(x, y), (x, 186), (150, 186), (150, 234)], "axis")
    picture.line([(146, 228), (150, 234), (154, 228)], "axis")
    picture.text(166, 206, "an upload at a random time of the day, over TLS", "small")
    return picture.svg()
