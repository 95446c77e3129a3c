"""A mechanism that stands in none of the packages: what it takes to add one.

It is a copy of one-bit Hadamard response under a class and a name of its own, in the three files
that a mechanism has. The three import lines below would stand in the ``__init__.py`` of
`deniable_shared.mechanisms`, `deniable.randomizers` and `deniable_aggregator.counting.tallies`.
"""

from __future__ import annotations

from tests.privacy.throwaway import randomizer, tally
from tests.privacy.throwaway.mechanism import CopiedHadamardResponse

__all__ = ["CopiedHadamardResponse", "randomizer", "tally"]
