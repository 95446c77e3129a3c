"""The same survey forty times: where the estimates fall, and which intervals miss the truth."""

from __future__ import annotations

import math
import random
from typing import Final

from tools.concepts.drawing import Drawing
from tools.concepts.randomizing import channel

TRUTH: Final = 0.3
DEVICES: Final = (1_000, 10_000, 100_000)
SURVEYS: Final = 40
SEED: Final = 3
_NORMAL: Final = 1.959964
"""Of a 95% interval."""

_TOP, _LEFT, _WIDTH, _GAP = 112, 20, 126, 12


def surveys(devices: int) -> list[tuple[float, float]]:
    """Estimates of a share in surveys of so many devices, and half the width of each interval.

    A value of three, randomized response at epsilon 1. A report is of the value with a probability
    that is p for those who hold it and q for others, so reports are binomial.
    """
    p, q = channel()
    chance = TRUTH * p + (1 - TRUTH) * q
    draws = random.Random(SEED + devices)  # noqa: S311  a picture, the same every time
    shares = [
        sum(draws.random() < chance for _ in range(devices)) / devices for _ in range(SURVEYS)
    ]
    return [
        (
            (share - q) / (p - q),
            _NORMAL * math.sqrt(share * (1 - share) / devices) / (p - q),
        )
        for share in shares
    ]


def draw_intervals() -> str:
    """The picture."""
    all_surveys = {devices: surveys(devices) for devices in DEVICES}
    missed = {
        devices: sum(abs(estimate - TRUTH) > half for estimate, half in each)
        for devices, each in all_surveys.items()
    }
    widths = {devices: each[0][1] for devices, each in all_surveys.items()}
    told = "; ".join(
        f"{devices:,} devices: about ± {100 * widths[devices]:.1f} points, {missed[devices]} of "
        f"{SURVEYS} miss"
        for devices in DEVICES
    )
    picture = Drawing(490, f"Forty surveys of a share that is 30%, with 95% intervals. {told}.")
    picture.text(20, 28, "40 surveys of each size, of a value that 30%", "bold")
    picture.text(20, 47, "of the devices hold (epsilon 1)", "bold")
    for column, (devices, each) in enumerate(all_surveys.items()):
        left = _LEFT + column * (_WIDTH + _GAP)
        picture.text(left, 78, f"{devices:,} devices:", "small")
        picture.text(left, 95, f"± {100 * widths[devices]:.1f} points", "small")
        for row, (estimate, half) in enumerate(each):
            y = _TOP + row * 8
            ends = [(_x(left, estimate - half), y), (_x(left, estimate + half), y)]
            misses = abs(estimate - TRUTH) > half
            if misses:
                picture.bar(left, y - 4, _WIDTH, 8, "stripe")
            picture.line(ends, "missed" if misses else "interval")
            picture.dot(_x(left, estimate), y, *(("truth", 4) if misses else ("core", 2)))
        bottom = _TOP + SURVEYS * 8
        picture.line([(_x(left, TRUTH), _TOP - 8), (_x(left, TRUTH), bottom)], "rule")
        for share in (0.15, 0.3, 0.45):
            picture.text(_x(left, share), bottom + 16, f"{share:.0%}", "middle small")
        picture.text(left, bottom + 40, f"{missed[devices]} of {SURVEYS} miss")
    return picture.svg()


def _x(left: float, share: float) -> float:
    return left + _WIDTH * min(max((share - 0.05) / 0.5, 0.0), 1.0)
