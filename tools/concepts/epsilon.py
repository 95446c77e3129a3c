"""How sure a report can make somebody who already had an opinion."""

from __future__ import annotations

import math
from typing import Final

from tools.concepts.drawing import Drawing

PRIORS: Final = (0.5, 0.1, 0.01)
SHOWN: Final = (0.5, 1.0, 2.0, 4.0)
_LEFT, _TOP, _WIDTH, _HEIGHT = 56, 70, 264, 260
_LABEL_OFFSETS: Final = {0.5: 0, 0.1: 10, 0.01: 5}
_LARGEST: Final = 5.0
"""Where the axis of epsilon ends."""


def most_sure(prior: float, epsilon: float) -> float:
    """How sure of a value somebody can be after a report, at most: odds grow by e^epsilon.

    Args:
        prior: how sure they were before, in (0, 1).
        epsilon: of the report, or of several together.
    """
    odds = prior / (1 - prior) * math.exp(epsilon)
    return odds / (1 + odds)


def draw_epsilon() -> str:
    """The picture."""
    told = "; ".join(
        f"from {prior:.0%}: "
        + ", ".join(f"{most_sure(prior, e):.1%} at epsilon {e:g}" for e in SHOWN)
        for prior in PRIORS
    )
    picture = Drawing(390, f"The most that a report can make somebody sure of a value; {told}.")
    picture.text(20, 28, "How sure of a value can a report make", "bold")
    picture.text(20, 47, "somebody, at most?", "bold")
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _TOP + _HEIGHT * (1 - share)
        picture.line([(_LEFT, y), (_LEFT + _WIDTH, y)], "grid")
        picture.text(_LEFT - 8, y + 5, f"{share:.0%}", "end small")
    for mark in range(int(_LARGEST) + 1):
        x = _LEFT + _WIDTH * mark / _LARGEST
        picture.text(x, _TOP + _HEIGHT + 20, f"{mark}", "middle small")
    picture.text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 44, "epsilon", "middle")
    for prior in PRIORS:
        points = [
            (
                _LEFT + _WIDTH * step / 100,
                _TOP + _HEIGHT * (1 - most_sure(prior, _LARGEST * step / 100)),
            )
            for step in range(101)
        ]
        picture.line(points, "curve")
        end = points[-1][1] + _LABEL_OFFSETS[prior]
        picture.text(_LEFT + _WIDTH + 10, end, f"{prior:.0%} before")
        for epsilon in SHOWN:
            sure = most_sure(prior, epsilon)
            x, y = _LEFT + _WIDTH * epsilon / _LARGEST, _TOP + _HEIGHT * (1 - sure)
            picture.dot(x, y, "core")
            flat = prior == 0.01 and epsilon <= 1  # two labels side by side
            right = 16 if flat and epsilon == 1 else 4 if flat else -4
            picture.text(x + right, y - 8, f"{sure:.1%}", "end small")
    return picture.svg()
