"""Subset selection over many items: there are too many subsets to walk through.

The device draws whether its own item is in the set, and then the other items by Floyd's algorithm.
That this draws every subset equally often is walked through wholly for small sizes. For the size
of the metric, all values are reported with given draws, and the sets are compared with the
algorithm's (Bentley and Floyd 1987), whose proof covers the rest.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from deniable._audit.failure import AuditFailure
from deniable._audit.laws.draws import Draw, Draws
from deniable._audit.laws.law import report_law
from deniable._audit.laws.secret import SECRET
from deniable._audit.laws.worst import Factor, Worst
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import SubsetSelection

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_SUBSETS: Final = 20_000
"""Up to so many ways to draw a subset, all of them are walked through."""

SMALL_SIZES: Final = range(2, 7)
SCRIPTS: Final = 4

NOTE: Final = (
    f"Subsets are drawn by Floyd's algorithm: all sets of a device with {SMALL_SIZES[0]} to "
    f"{SMALL_SIZES[-1]} items were walked through, and for all items of this metric the sets of "
    f"{SCRIPTS} times two given draws compared with the algorithm's. That all subsets are equally "
    "likely at this size, too, rests on the published proof of the algorithm."
)


def ways(mechanism: SubsetSelection) -> int:
    """In how many ways the draws of a report can come out."""
    return math.prod(range(mechanism.size - mechanism.subset, mechanism.size))


class Script:
    """Given draws, and a note of which were asked for."""

    def __init__(self, number: int) -> None:
        self._source = hashlib.shake_256(f"subset {number}".encode()).digest(8_192)
        self.held = False
        self.start()

    def start(self) -> None:
        """Before each report."""
        self.asked: list[Draw] = []
        self._position = 0

    def bernoulli(self, weight: int) -> bool:
        """Whether the own item is in the set."""
        self.asked.append(Draw("bernoulli", (weight,)))
        return self.held

    def uniform_below(self, bound: int) -> int:
        """An item."""
        self.asked.append(Draw("uniform_below", (bound,)))
        self._position += 4
        return int.from_bytes(self._source[self._position - 4 : self._position], "big") % bound


def worst_of_subsets(
    mechanism: SubsetSelection, make: Callable[[SubsetSelection, Any], Any]
) -> tuple[Worst, frozenset[Draw]]:
    """The worst two values.

    Args:
        mechanism: items and subsets.
        make: makes the installed randomizer of a mechanism from its randomness.

    Raises:
        AuditFailure: if sets are not drawn so.
    """
    _check_small_sizes(make)
    size, subset = mechanism.size, mechanism.subset
    draws: set[Draw] = set()
    weights: set[Draw] = set()
    for number, held in itertools.product(range(SCRIPTS), (False, True)):
        script = Script(number)
        script.held = held
        randomizer = make(mechanism, script)
        for item in range(size):
            script.start()
            report = randomizer.report(item, SECRET)
            weights.add(script.asked[0])
            draws.update(script.asked)
            script.start()
            if report != _floyd(mechanism, item, script):
                raise AuditFailure(f"the set of item {item} is not drawn by Floyd's algorithm")
    if len(weights) != 1:
        raise AuditFailure("the own item is not in the set with one probability for all items")
    (own,) = weights.pop().arguments
    with_item = own * math.comb(size - 1, subset)
    without = (SCALE - own) * math.comb(size - 1, subset - 1)
    one_only, both = math.comb(size - 2, subset - 1), _combinations(size - 2, subset - 2)
    classes = (
        (one_only, with_item, without),
        (one_only, without, with_item),
        (both, with_item, with_item),
        (_combinations(size - 2, subset), without, without),
    )
    of = SCALE * math.comb(size - 1, subset) * math.comb(size - 1, subset - 1)
    factor = Factor(1, of, tuple(each for each in classes if each[0]))
    return Worst(Fraction(with_item, without), ("item 0", "item 1"), (factor,)), frozenset(draws)


def _floyd(mechanism: SubsetSelection, item: int, script: Script) -> bytes:
    """The report of an item by the algorithm itself, from the same draws."""
    size = mechanism.size
    held = script.bernoulli(mechanism.own)
    chosen: set[int] = set()
    for last in range(size - 1 - (mechanism.subset - held), size - 1):
        drawn = script.uniform_below(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    place = size - 1 - item
    bits = held << place | sum(1 << each + (each >= place) for each in chosen)
    width = mechanism.report_bytes
    return (bits << 8 * width - size).to_bytes(width, "big")


def _check_small_sizes(make: Callable[[SubsetSelection, Any], Any]) -> None:
    for size in SMALL_SIZES:
        for subset in range(1, size):
            small = SubsetSelection(size=size, subset=subset, own=SCALE - 1)
            draws = Draws()
            randomizer = make(small, draws)
            for item in range(size):
                law = report_law(draws, randomizer, item, 1).reports
                assert law is not None
                for report, weight in law.weights.items():
                    bits = report[0] >> 8 - size
                    held = bits >> size - 1 - item & 1
                    sets = math.comb(size - 1, subset - held)
                    chance = Fraction(SCALE - 1 if held else 1, SCALE * sets)
                    if bits.bit_count() != subset or Fraction(weight, law.of) != chance:
                        raise AuditFailure(f"subsets of {size} items are not equally likely")


def _combinations(items: int, chosen: int) -> int:
    return math.comb(items, chosen) if 0 <= chosen <= items else 0
