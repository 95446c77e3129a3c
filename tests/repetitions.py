"""How often slow tests repeat what they do: less often in CI than in ``make test PART=all``."""

from __future__ import annotations

import os

SMALL = bool(os.environ.get("DENIABLE_SMALL_TESTS"))
"""Whether slow suites are to run in their small form."""


def full_or_small(full: int, small: int) -> int:
    """A number of kills, seeds or examples."""
    return small if SMALL else full
