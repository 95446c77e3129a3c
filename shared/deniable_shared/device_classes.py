"""The class of a device: all that its memoised reports show of it without noise.

A row of a sketch, a cohort of RAPPOR and a group of bins stand in a report in the clear. A device
whose reports come from permanent answers has to keep them for good, as a new row or cohort would
have permanent answers of its own. If every metric drew its own, a few of them would add up to a
name. So a device draws one class out of 64, once, and every metric maps the class to its groups by
a public permutation: all metrics together show at most log2(64) = 6 bits.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

CLASSES: Final = 64


@lru_cache(maxsize=256)
def groups_of_classes(digest: bytes, groups: int) -> tuple[int, ...]:
    """The group of one metric that each class belongs to.

    Classes are ordered by SHA-256 of the spec's digest and the class in one byte; the class in
    place p of 64 belongs to group floor(p * groups / 64).

    Args:
        digest: the spec's, 32 bytes.
        groups: how many groups the metric has, in [1, 64].

    Returns:
        64 group numbers, by class.
    """
    order = sorted(
        range(CLASSES), key=lambda number: hashlib.sha256(digest + bytes([number])).digest()
    )
    groups_of = [0] * CLASSES
    for place, number in enumerate(order):
        groups_of[number] = place * groups // CLASSES
    return tuple(groups_of)


def classes_by_group(groups: int) -> tuple[int, ...]:
    """How many of the 64 classes belong to each group, the same for every metric.

    They differ by at most one, and so do the sums over any equally long runs of neighbouring
    groups. Where `groups` divides 64 they are all equal.

    Args:
        groups: how many groups there are, in [1, 64].
    """
    sizes = Counter(place * groups // CLASSES for place in range(CLASSES))
    return tuple(sizes[group] for group in range(groups))


def shown_bits(metrics: Iterable[tuple[bytes, int]]) -> float:
    """How many bits of who sent them the groups of all of a device's reports show together.

    The entropy of the class, as far as the metrics' groups tell it; at most 6.

    Args:
        metrics: digest and number of groups of each metric; a metric without groups has one.
    """
    columns = [groups_of_classes(*metric) for metric in metrics]
    sets = Counter(zip(*columns, strict=True)) if columns else Counter([()] * CLASSES)
    return sum(size / CLASSES * math.log2(CLASSES / size) for size in sets.values())
