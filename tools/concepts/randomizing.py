"""Randomized response of three values: what is true, what arrives, and what is estimated."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Final

from deniable_shared.mechanisms.oracles.grr import GeneralizedRandomizedResponse
from tools.concepts.drawing import Drawing

VALUES: Final = ("light", "dark", "system")
TRUTH: Final = (60_000, 30_000, 10_000)
EPSILON: Final = 1.0
SEED: Final = 1
_BAR: Final = 290


def channel() -> tuple[float, float]:
    """How probable a device's own value is in a report, and any other value."""
    mechanism = GeneralizedRandomizedResponse.for_epsilon(len(VALUES), Fraction(EPSILON))
    return mechanism.own / 2**32, mechanism.other / 2**32


def arrived() -> list[int]:
    """How many reports of each value arrive, in one simulation."""
    own, other = channel()
    draws = random.Random(SEED)  # noqa: S311  a picture, the same every time
    reports = [0] * len(VALUES)
    for value, devices in enumerate(TRUTH):
        chances = [own if value == each else other for each in range(len(VALUES))]
        for _ in range(devices):
            draw, reported = draws.random(), 0
            while reported + 1 < len(VALUES) and draw >= chances[reported]:
                draw -= chances[reported]
                reported += 1
            reports[reported] += 1
    return reports


def estimated() -> list[float]:
    """The shares that are estimated from them: (reports / devices - other) / (own - other)."""
    own, other = channel()
    devices = sum(TRUTH)
    return [(reports / devices - other) / (own - other) for reports in arrived()]


def draw_randomizing() -> str:
    """The picture."""
    own, other = channel()
    columns = (
        ("100,000 devices hold", [each / sum(TRUTH) for each in TRUTH], "truth"),
        ("what they report", [each / sum(TRUTH) for each in arrived()], "band"),
        ("what is estimated", estimated(), "core"),
    )
    told = "; ".join(
        f"{title}: " + ", ".join(f"{v} {s:.1%}" for v, s in zip(VALUES, shares, strict=True))
        for title, shares, _ in columns
    )
    picture = Drawing(
        484,
        f"Randomized response at epsilon 1. A device reports its own value with {own:.1%} and each "
        f"other value with {other:.1%}. {told}.",
    )
    picture.text(20, 30, f"Each device reports its own value with {own:.1%},", "bold")
    picture.text(20, 50, f"and each of the two other values with {other:.1%} (epsilon 1)")
    for panel, (title, shares, kind) in enumerate(columns):
        above = 88 + panel * 136
        picture.text(20, above, title, "bold")
        for row, (value, share) in enumerate(zip(VALUES, shares, strict=True)):
            top = above + 12 + row * 34
            picture.bar(82, top, _BAR * share, 24, kind)
            picture.text(20, top + 17, value)
            picture.text(88 + _BAR * share, top + 17, f"{share:.1%}")
    return picture.svg()
