"""How many bits reports tell of values, of enumerated channels and by the definition."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from fractions import Fraction


def mutual_information(
    channel: Sequence[Mapping[Hashable, Fraction | float]], shares: Sequence[float] | None = None
) -> float:
    """I(X; Y): the sum of share times P log2(P / mean).

    Args:
        channel: P(report | value), of each value.
        shares: of the values; equal, if left out.
    """
    weights = shares or [1 / len(channel)] * len(channel)
    mean = defaultdict(float)
    for weight, row in zip(weights, channel, strict=True):
        for outcome, probability in row.items():
            mean[outcome] += weight * float(probability)
    return math.fsum(
        weight * float(probability) * math.log2(float(probability) / mean[outcome])
        for weight, row in zip(weights, channel, strict=True)
        for outcome, probability in row.items()
        if weight and float(probability)
    )
