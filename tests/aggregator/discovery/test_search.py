"""Which children of a level's prefixes are looked at."""

from __future__ import annotations

from collections import Counter

import numpy as np

from deniable_aggregator.answering.discovery.automaton import ROOT
from deniable_aggregator.answering.discovery.levels import Level
from deniable_aggregator.answering.discovery.pieces import PieceDecoder, Prefixes
from deniable_aggregator.answering.discovery.search import LevelSearch
from deniable_shared.mechanisms.base import Support
from tests.aggregator.discovery.small import DEEPER_BITS, SevenLetters

ROWS, CELLS = 16, 700


def searched(log_likely: list[float], followed: int) -> LevelSearch:
    count = len(log_likely)
    supporting = np.random.default_rng(1).binomial(200, 0.02, (ROWS, CELLS))
    level = Level(1, DEEPER_BITS, Support(0.5, 0.02), np.full(ROWS, 200), supporting)
    prefixes = Prefixes(
        np.arange(count)[:, None],
        np.arange(count, dtype=np.uint64),
        np.full(count, ROOT, np.int32),
        np.array(log_likely),
        np.full(count, 0.01),
        np.full(count, 0.01),
    )
    return LevelSearch(level, prefixes, PieceDecoder(SevenLetters()), followed)


def test_all_children_that_end_soon_are_looked_at_though_only_some_prefixes_are_followed():
    """The end takes three bits, and so does each letter; nine bits only a likely prefix owes."""
    search = searched([-20.0, 0.0, -30.0], followed=1)
    children = search.ending_soon()
    seen = Counter(zip(children.parents.tolist(), children.used.tolist(), strict=True))
    assert seen == {(0, 3): 1, (0, 6): 7, (0, 9): 49, (1, 3): 1, (1, 6): 7, (2, 3): 1, (2, 6): 7}
    assert search.prefixes.log_likely.tolist() == [0.0, -20.0, -30.0]
    assert set(search.likely(1_000).parents.tolist()) <= {0}
