"""By how much an event can be more probable under one value than e^epsilon times under another."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from typing import Self


class Exceedance:
    """The largest P(S) - growth P'(S) of two values, exactly, at any growth from 0 up.

    Attributes:
        corners: the growths between which it is a straight line; compared at those of both, two
            such functions are compared everywhere.
    """

    def __init__(self, classes: tuple[tuple[Fraction, Fraction], ...]) -> None:
        merged: dict[Fraction, list[Fraction]] = {}
        self._lost = 1 - sum(own for own, _ in classes)
        for own, other in classes:
            if not other:
                self._lost += own
                continue
            sums = merged.setdefault(own / other, [Fraction(0), Fraction(0)])
            sums[0] += own
            sums[1] += other
        self._ratios = sorted(merged)
        falling = [merged[ratio] for ratio in reversed(self._ratios)]
        zero = [Fraction(0), Fraction(0)]
        self._above = [*itertools.accumulate(falling, _added, initial=zero)][::-1]
        self.corners = {Fraction(0), *self._ratios}

    @classmethod
    def of(cls, one: dict[bytes, Fraction], other: dict[bytes, Fraction]) -> Self:
        """Of two enumerated channels."""
        common = math.lcm(*{share.denominator for each in (one, other) for share in each.values()})
        # Counted by pairs of integers: there are few, and fractions add up slowly.
        counts = Counter(
            (_numerator(one, report, common), _numerator(other, report, common))
            for report in one.keys() | other.keys()
        )
        return cls(
            tuple(
                (Fraction(count * own, common), Fraction(count * twin, common))
                for (own, twin), count in counts.items()
            )
        )

    def at(self, growth: Fraction) -> Fraction:
        own, other = self._above[bisect_right(self._ratios, growth)]
        return self._lost + own - growth * other


def _numerator(channel: dict[bytes, Fraction], report: bytes, common: int) -> int:
    share = channel.get(report)
    return 0 if share is None else share.numerator * (common // share.denominator)


def _added(sums: list[Fraction], more: list[Fraction]) -> list[Fraction]:
    return [one + another for one, another in zip(sums, more, strict=True)]
