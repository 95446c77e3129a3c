"""Projective geometry response over spaces of many points: too many to keep a table of each value.

Of each value that is looked at, all draws are made all the same, and every point is marked by how
it was reached: from the value's own set, or from outside of it.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.draws import Draw
from deniable._audit.laws.secret import SECRET
from deniable._audit.laws.worst import Factor, Worst
from deniable_shared.exact_bounds import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_shared.mechanisms.oracles.pgr import ProjectiveGeometryResponse

LEAST_POINTS = 20_000
"""From so many points on, tables of reports would be too large."""

MOST_POINTS = 1_000_000
"""Of all values that are looked at together."""


class OneChoice:
    """Randomness with one yes or no and one uniform draw, both given."""

    def __init__(self) -> None:
        self.inside = False
        self.drawn = 0
        self.draws: set[Draw] = set()
        self.calls = 0

    def bernoulli(self, weight: int) -> bool:
        """As given."""
        self.draws.add(Draw("bernoulli", (weight,)))
        self.calls += 1
        return self.inside

    def uniform_below(self, bound: int) -> int:
        """As given."""
        self.draws.add(Draw("uniform_below", (bound,)))
        self.calls += 1
        return self.drawn


def worst_of_points(
    mechanism: ProjectiveGeometryResponse,
    make: Callable[[Any], Any],
    items: Sequence[int],
) -> tuple[Worst, frozenset[Draw]]:
    """The worst two of some items.

    Args:
        mechanism: the space.
        make: makes the installed randomizer from its randomness.
        items: at least two, all different.

    Raises:
        AuditFailure: if two draws lead to one report, or a report to none.
    """
    marks: dict[int, bytearray] = {}
    seen: set[Draw] = set()
    for item in items:
        choice = OneChoice()
        marks[item] = _marked(mechanism, make(choice), choice, item)
        seen |= choice.draws
        if len(choice.draws) != 3 or len(seen) != 3:
            raise AuditFailure(f"item {item} is drawn with other probabilities than others")
    inside = next(draw.arguments[0] for draw in seen if draw.primitive == "bernoulli")
    # A point of the own set, and one of the others, over a common denominator.
    own = inside * mechanism.outside
    other = (SCALE - inside) * mechanism.hyperplane
    weight = {1: own, 2: other}
    for one, two in itertools.permutations(items, 2):
        pairs = Counter(zip(marks[one], marks[two], strict=True))
        if pairs[1, 2]:
            classes = tuple(
                (count, weight[first], weight[second])
                for (first, second), count in sorted(pairs.items())
            )
            factor = Factor(1, SCALE * mechanism.outside * mechanism.hyperplane, classes)
            worst = Worst(Fraction(own, other), (f"item {one}", f"item {two}"), (factor,))
            return worst, frozenset(seen)
    raise AuditFailure("all values that were looked at have the same reports")


def _marked(
    mechanism: ProjectiveGeometryResponse, randomizer: Any, choice: OneChoice, item: int
) -> bytearray:
    """Every point by how it is reached: 1 from the own set, 2 from outside of it."""
    reached = bytearray(mechanism.outcomes)
    width, report = mechanism.report_bytes, randomizer.report
    for inside, count, mark in ((True, mechanism.hyperplane, 1), (False, mechanism.outside, 2)):
        choice.inside = inside
        bound = Draw("uniform_below", (count,))
        for choice.drawn in range(count):
            made = report(item, SECRET)
            number = int.from_bytes(made, "big")
            if len(made) != width or number >= len(reached) or reached[number]:
                raise AuditFailure(f"item {item}: two draws lead to one report, or one to none")
            reached[number] = mark
        if bound not in choice.draws or choice.calls != 2 * count:
            raise AuditFailure(f"item {item} is drawn from another number of points")
        choice.calls = 0
    return reached
