from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable_aggregator.counting import hash_cells
from deniable_shared.mechanisms import Trie

TRIE = Trie.for_epsilon(4, Fraction(2), rows=3, first_bits=8, deeper_bits=6)
SALT = 0x1234_5678


@pytest.mark.parametrize("end", range(4))
def test_arrays_of_strings_have_the_cells_that_devices_report(end):
    random = np.random.default_rng(1)
    pieces = np.column_stack([random.integers(256, size=20), random.integers(64, size=(20, 3))])[
        :, : end + 1
    ]
    before, after = None, hash_cells.root(SALT, 20)
    for level in range(4):
        if level <= end:
            before, after = after, hash_cells.extend(after, pieces[:, level])
        if level == 0:
            continue
        mine = (before, pieces[:, level]) if level <= end else (after, np.zeros(20, np.int64))
        cells = hash_cells.cells(*mine, level, TRIE.rows, TRIE.deeper.size)
        expected = [
            [TRIE.cell(tuple(row.tolist()), level, number, SALT) for number in range(TRIE.rows)]
            for row in pieces
        ]
        assert cells.tolist() == expected
