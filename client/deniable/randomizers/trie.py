"""Codes of strings on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.randomizers.base import RandomSources, make_randomizer, randomizes
from deniable_shared.mechanisms import Trie

if TYPE_CHECKING:
    from collections.abc import Sequence


@randomizes(Trie)
class TrieRandomizer:
    """Draws a level and a row, and reports the string's cell there through the level's oracle.

    What is drawn, and how often, depends on no string: one that ends early takes part in all
    levels.

    Args:
        mechanism: levels, rows and oracles.
        sources: what it draws from.
    """

    def __init__(self, mechanism: Trie, sources: RandomSources) -> None:
        self._mechanism = mechanism
        self._salt = sources.salt
        self._randomness = sources.randomness
        self._first = make_randomizer(mechanism.first, sources)
        self._deeper = make_randomizer(mechanism.deeper, sources)
        self._point_bytes = mechanism.report_bytes - 2

    def report(self, item: Sequence[int], secret: bytes) -> bytes:
        """The level, the row and the point, for the pieces of a string."""
        mechanism, uniform_below = self._mechanism, self._randomness.uniform_below
        if mechanism.shares:
            level = self._randomness.weighted_place(*mechanism.shares)
        else:  # the last level is drawn twice as often as each other one
            level = min(uniform_below(mechanism.levels + 1), mechanism.levels - 1)
        row = uniform_below(mechanism.rows) if level else 0
        oracle = self._deeper if level else self._first
        point = oracle.report(mechanism.cell(item, level, row, self._salt), secret)
        return bytes((level, row)) + point.rjust(self._point_bytes, b"\x00")
