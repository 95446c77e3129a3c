"""How often slow tests repeat what they do: less often in CI than in ``make test-all``."""

from __future__ import annotations

import os

SMALL = "DENIABLE_SMALL_TESTS"
"""Set in CI, so that every slow suite runs there in its small form."""


def full_or_small(full: int, small: int) -> int:
    """A number of kills, seeds or examples: the small one if `SMALL` is set."""
    return small if os.environ.get(SMALL) else full
