"""What is worked out once for each count of a row is what every cell by itself would give."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.counting.statistics.row_counts import (
    PackedCells,
    RowCounts,
    distinct_counts,
    weighted_medians,
    weighted_quantiles,
)

ROWS, CELLS = 9, 400


def drawn(kind, seed=0):
    """Cells of rows: alike, few, many, or with some that are far above all others."""
    random = np.random.default_rng(seed)
    if kind == "alike":
        return np.full((ROWS, CELLS), 7)
    cells = random.poisson({"few": 0.3, "many": 90.0, "hot": 20.0}[kind], (ROWS, CELLS))
    if kind == "hot":
        cells[:, 5] += 1_000_000
    return cells


@pytest.mark.parametrize("kind", ["alike", "few", "many", "hot"])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("alike", [2, 30, 10**9])
def test_sums_over_cells_are_those_of_tables_of_all_cells(kind, dtype, alike):
    cells = drawn(kind)
    if kind == "hot" and alike > 30:
        alike = 1_000
    rows = RowCounts(cells.astype(dtype), np.full(ROWS, alike))
    assert rows.number.sum() == cells.size
    capped = np.minimum(cells, alike)
    known = np.where(rows.number > 0, np.minimum(rows.counts, alike), 0)
    assert rows.frequencies(known).tolist() == [
        np.bincount(row, minlength=capped.max() + 1).tolist() for row in capped
    ]
    root = np.sqrt(rows.counts)
    np.testing.assert_allclose(rows.sums(root), np.sqrt(capped).sum(axis=1), rtol=1e-12)

    above = np.where(rows.counts > 1, 3 * rows.counts - 5, -4)
    places = np.random.default_rng(1).integers(0, CELLS, (50, ROWS))
    of_all = cells, capped, np.where(capped > 1, 3 * capped - 5, -4)
    for starts in ([0], [0, 2, 7]):
        packed = PackedCells(rows, (known, above), np.array(starts))
        sums = np.zeros((*packed.shape, 50), np.int64)
        for some in (slice(0, 1), slice(1, ROWS)):
            packed.add(sums, some, places.T[some])
        of_places = [table[np.arange(ROWS), places].T for table in of_all]
        expected = [np.add.reduceat(each, starts, axis=0).tolist() for each in of_places]
        assert [each.tolist() for each in packed.unpack(sums)] == expected


def test_tables_that_do_not_fit_into_the_bits_of_one_integer_have_several():
    rows = RowCounts(drawn("many"), np.full(ROWS, 10**9))
    wide = rows.counts << 40
    packed = PackedCells(rows, (wide, wide), np.zeros(1, np.int64))
    assert packed.shape[0] > 1
    sums = np.zeros((*packed.shape, 1), np.int64)
    packed.add(sums, slice(0, ROWS), np.full((ROWS, 1), 7))
    own = int(drawn("many")[:, 7].sum())
    assert packed.unpack(sums) == [own, own << 40, own << 40]


@pytest.mark.parametrize("kind", ["alike", "few", "many", "hot"])
@pytest.mark.parametrize("cells", [CELLS, CELLS - 1, 1, 2])
def test_medians_and_quantiles_of_counts_are_those_of_all_cells(kind, cells):
    table = drawn(kind)[:, :cells]
    row, counts, number = distinct_counts(table)
    assert number.sum() == table.size
    values = counts / (row + 3.0)
    everything = table / (np.arange(ROWS)[:, None] + 3.0)
    for starts in ([0], [0, 1, 6]):
        groups = np.searchsorted(starts, row, "right") - 1
        parts = np.split(everything, starts[1:])
        medians = weighted_medians(values, number, groups)
        assert medians.tolist() == [np.median(part) for part in parts]
        for q in (0.0, 0.1587, 0.5, 0.77, 1.0):
            quantiles = weighted_quantiles(values, number, groups, q)
            assert quantiles.tolist() == [np.quantile(part, q) for part in parts]
