"""Hash seeds for walks: a few, so that all can be walked through."""

from __future__ import annotations

from typing import Any, Final

from deniable_shared.exact_bounds import SCALE

SEEDS: Final = (0, 1, 2, 0x12345678, 0xDEADBEEF, SCALE - 1)


class FewSeeds:
    """Randomness whose seeds are those few; all else is as given.

    A seed does not depend on the item, so the ratio of two probabilities of one report is the same
    as over all seeds.
    """

    def __init__(self, randomness: Any) -> None:
        self._randomness = randomness

    def word(self) -> int:
        return SEEDS[self._randomness.uniform_below(len(SEEDS))]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._randomness, name)
