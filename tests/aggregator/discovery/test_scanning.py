"""A scan of small integers names every child whose estimate is above its prefix's least."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.answering.discovery.levels import Level
from deniable_aggregator.answering.discovery.scanning import Scan
from deniable_aggregator.counting import hash_cells
from deniable_shared.mechanisms.base import Support

BITS, CELLS, ROWS, PREFIXES = 8, 700, 16, 12
LEAST_Z = 2.0


def level_of(per_row: int, heavy: int, seed: int) -> Level:
    """Reports of nobody in particular, and some cells that many support."""
    generator = np.random.default_rng(seed)
    support = Support(0.5, 0.02)
    supporting = generator.binomial(per_row, support.q, (ROWS, CELLS))
    for cells in supporting:
        cells[generator.integers(0, CELLS, heavy)] += per_row // 2
    return Level(1, BITS, support, np.full(ROWS, per_row), supporting)


def starts_of(seed: int):
    fingerprints = np.random.default_rng(seed).integers(0, 1 << 63, PREFIXES, np.uint64)
    return hash_cells.places(fingerprints, 1, ROWS, CELLS)


def all_shares(level: Level, starts):
    """The estimates of all children: float64, (prefixes, pieces)."""
    pieces = np.arange(1 << BITS)
    return np.array([level.estimates((own + pieces[:, None]) % CELLS) for own in starts])


def named(scan: Scan, starts, least):
    numbers, pieces = scan.above(starts, np.full(PREFIXES, least))
    children = list(zip(numbers.tolist(), pieces.tolist(), strict=True))
    assert children == sorted(set(children))
    return set(children)


@pytest.mark.parametrize("heavy", [0, 3, 200])
@pytest.mark.parametrize("per_row", [3, 100, 3_000])
def test_no_child_above_is_passed_by_and_few_others_are_named(per_row, heavy):
    level, starts = level_of(per_row, heavy, per_row + heavy), starts_of(heavy)
    least = LEAST_Z * level.deviation
    above = named(Scan(level), starts, least)
    shares = all_shares(level, starts)
    assert {(*place,) for place in np.argwhere(shares > least).tolist()} <= above
    lower = {(*place,) for place in np.argwhere(shares > least - 1.5 * level.deviation).tolist()}
    if not heavy:
        assert above <= lower


def test_what_is_taken_out_of_the_level_is_no_longer_named_and_uncovers_others():
    level, starts = level_of(3_000, 0, 1), starts_of(1)
    piece = np.array([5])
    level.explain((starts[:1] + piece) % CELLS, np.array([-0.3]))
    scan, least = Scan(level), 4 * level.deviation
    assert (0, 5) in named(scan, starts, least)
    cells = (starts[:1] + piece) % CELLS
    level.explain(cells, np.array([0.3]))
    scan.refresh(cells)
    assert (0, 5) not in named(scan, starts, least)
    assert named(scan, starts, least) == named(Scan(level), starts, least)
