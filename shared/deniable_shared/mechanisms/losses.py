"""Loss classes: how much reports tell two values apart, and how often.

A class is all reports with the same ratio of their probabilities under the two values. A class is
two weights: its probability under the one value, and under the other. What the first column lacks
to 1 is counted as reports that give the value away: weights may be rounded down.

Classes *dominate* two values if, for every growth g >= 0, `exceedance` of the classes is not below
that of the two values' exact probabilities. Then all that is computed from the classes holds for
the values, also together with other reports (Zhu, Dong and Wang, AISTATS 2022, theorem 10).
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    LossClasses = tuple[tuple[Fraction, Fraction], ...]


def losses_of_support(own: Fraction, other: Fraction) -> LossClasses:
    """Three classes: reports for the one value, as many for the other, and for neither or both.

    Args:
        own: the probability of reports that speak for the device's value and against the other.
        other: the probability of reports that speak for the other value and against the device's.
    """
    classes = ((own, other), (other, own), (1 - own - other, 1 - own - other))
    return tuple((own, twin) for own, twin in classes if own or twin)


def mixed_losses(parts: Iterable[tuple[Fraction, LossClasses]]) -> LossClasses:
    """The classes of a report that says openly which of several mechanisms it comes from.

    Args:
        parts: how often each is chosen, whatever the value; and its classes.
    """
    return tuple(
        (share * own, share * other) for share, classes in parts if share for own, other in classes
    )


def exceedance(classes: LossClasses, growth: Fraction) -> Fraction:
    """Delta at the epsilon ln(growth): the largest P(S) - growth P'(S) of any set S of reports.

    This is the hockey-stick divergence; what the weights lack to 1 counts in full.

    Args:
        classes: of two values.
        growth: e to an epsilon; at least 0.
    """
    lost = 1 - sum((own for own, _ in classes), Fraction(0))
    return lost + sum(
        (own - growth * other for own, other in classes if own > growth * other), Fraction(0)
    )


def dominating_losses(*pairs: LossClasses) -> LossClasses:
    """Classes whose exceedance is, at every growth, the largest of several pairs of values.

    The largest of convex, piecewise linear functions of the growth is one, too, and each such
    function that falls from 1 is the exceedance of some classes: where its slope rises by m, at a
    growth g, there is a class (g m, m).

    Args:
        pairs: the classes of each pair.
    """
    corners = {own / other for pair in pairs for own, other in pair if other} | {Fraction(0)}
    for low, high in itertools.pairwise(sorted(corners)):
        corners |= set(_crossings(pairs, low, high))
    growths = sorted(corners)
    heights = [max(exceedance(pair, growth) for pair in pairs) for growth in growths]
    slopes = [Fraction(-1)]
    for (low, high), (start, end) in zip(
        itertools.pairwise(growths), itertools.pairwise(heights), strict=True
    ):
        slopes.append((end - start) / (high - low))
    slopes.append(Fraction(0))
    return tuple(
        (growth * (after - before), after - before)
        for growth, (before, after) in zip(growths, itertools.pairwise(slopes), strict=True)
        if after > before
    )


def _crossings(pairs: tuple[LossClasses, ...], low: Fraction, high: Fraction) -> Iterable[Fraction]:
    """Where exceedances cross between two growths; each is a straight line there."""
    ends = [(exceedance(pair, low), exceedance(pair, high)) for pair in pairs]
    for (start, end), (start_2, end_2) in itertools.combinations(ends, 2):
        before, after = start - start_2, end - end_2
        if before * after < 0:
            yield low + (high - low) * before / (before - after)
