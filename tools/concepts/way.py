"""What happens to a report, from ``record`` to the page of an analyst."""

from __future__ import annotations

from typing import Final

from tools.concepts.drawing import Drawing

DEVICE: Final = (
    ("record(...)", "the true value,", "in memory alone"),
    ("checks", "value, consent, budget;", "writes down the cost"),
    ("randomizes", "with randomness of the", "operating system"),
    ("stores the report", "in its directory", ""),
)
SERVER: Final = (
    ("takes the upload", "each counts once,", "however often it is sent"),
    ("counts", "by metric, day", "and key"),
    ("estimates", "subtracts the noise", "from the sums"),
    ("shows", "shares, with intervals", ""),
)
_WIDTH, _HEIGHT, _TOP, _STEP = 185, 76, 40, 104
_LEFT, _RIGHT = 20, 235


def draw_way() -> str:
    """The picture."""
    picture = Drawing(
        460,
        "On the device: record, check, randomize, store; the true value goes no further than that. "
        "At a random time of the day the report is uploaded. On the server: take, count, "
        "estimate, show.",
    )
    for title, steps, left in (("On the device", DEVICE, _LEFT), ("On the server", SERVER, _RIGHT)):
        picture.text(left, 28, title, "bold")
        for place, (name, first, second) in enumerate(steps):
            y = _TOP + place * _STEP
            picture.bar(left, y, _WIDTH, _HEIGHT, "box")
            picture.text(left + 12, y + 24, name, "bold")
            picture.text(left + 12, y + 45, first, "small")
            picture.text(left + 12, y + 63, second, "small")
            if place:
                picture.arrow_down(left + 16, y - _STEP + _HEIGHT + 3, _STEP - _HEIGHT - 6)
    last = _TOP + 3 * _STEP
    picture.line([(_LEFT, last - 7), (_LEFT + _WIDTH, last - 7)], "missed")
    picture.text(_LEFT + 26, last - 13, "true value ends here", "small")
    between, up, down = (_LEFT + _WIDTH + _RIGHT) / 2, _TOP + _HEIGHT / 2, last + _HEIGHT / 2
    end = _RIGHT - 3
    picture.line([(_LEFT + _WIDTH + 3, down), (between, down), (between, up), (end, up)], "axis")
    picture.line([(end - 6, up - 4), (end, up), (end - 6, up + 4)], "axis")
    picture.text(_LEFT, last + 98, "The upload: at a random time of the day, over TLS", "small")
    return picture.svg()
