from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.counting.kernels import bit_sums


def naive(groups, rows, size):
    sums = np.zeros((size, 1 + 8 * rows.shape[1]), np.int64)
    np.add.at(sums[:, 0], groups, 1)
    np.add.at(sums[:, 1:], groups, np.unpackbits(rows, axis=1))
    return sums


def as_items(rows):
    return np.frombuffer(rows.tobytes(), f"V{rows.shape[1]}")


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 900),
    st.integers(1, 40),
    st.sampled_from([1, 2, 3, 4, 6, 8, 16, 24]),
)
def test_bit_sums_are_what_unpacking_every_bit_gives(seed, reports, size, width):
    generator = np.random.default_rng(seed)
    groups = generator.integers(0, size, reports).astype(np.uint16)
    rows = generator.integers(0, 256, (reports, width), dtype=np.uint8)
    assert (bit_sums(groups, as_items(rows), size) == naive(groups, rows, size)).all()


@pytest.mark.parametrize("fill", [0x00, 0xFF])
def test_full_blocks_of_ones_do_not_overflow(fill):
    rows = np.full((5_000, 8), fill, np.uint8)
    groups = np.zeros(5_000, np.uint16)
    sums = bit_sums(groups, as_items(rows), 2)
    assert sums[0, 0] == 5_000
    assert (sums[0, 1:] == (5_000 if fill else 0)).all()
    assert not sums[1].any()


def test_one_crowded_group_among_many_sparse_ones_is_counted():
    generator = np.random.default_rng(5)
    groups = np.concatenate([np.zeros(3_000), np.arange(500)]).astype(np.uint16)
    rows = generator.integers(0, 256, (groups.size, 16), dtype=np.uint8)
    assert (bit_sums(groups, as_items(rows), 500) == naive(groups, rows, 500)).all()
