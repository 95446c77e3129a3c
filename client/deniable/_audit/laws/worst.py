"""The worst two values: what a certificate says of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Factor(NamedTuple):
    """An independent part of the reports of two values, in classes of outcomes.

    Attributes:
        times: how many such parts a report has.
        of: the common denominator of the weights.
        classes: how many outcomes there are with (weight under the one, weight under the other).
    """

    times: int
    of: int
    classes: tuple[tuple[int, int, int], ...]

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of one such part."""
        return max(Fraction(one, other) for _, one, other in self.classes)


class Worst(NamedTuple):
    """The two values whose reports differ most.

    Attributes:
        ratio: the largest ratio of the probabilities of one report.
        values: of which values, described for people.
        factors: the law of the reports of the two, or of those with one clear part.
        clear: how many clear parts there are with each weight, over `clear_of`.
        clear_of: see `clear`.
    """

    ratio: Fraction
    values: tuple[str, str]
    factors: tuple[Factor, ...]
    clear: tuple[tuple[int, int], ...] = ()
    clear_of: int = 1

    @property
    def nats(self) -> float:
        """The logarithm of the ratio: the epsilon that was found."""
        return math.log(self.ratio.numerator) - math.log(self.ratio.denominator)


def sorted_classes(classes: Mapping[tuple[int, int], int]) -> tuple[tuple[int, int, int], ...]:
    """Classes of outcomes from how many there are with each two weights."""
    return tuple((count, *weights) for weights, count in sorted(classes.items(), reverse=True))
