from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from deniable_aggregator.counting.kernels import walsh_hadamard
from deniable_aggregator.counting.tallies import oracle_tally_for
from deniable_shared.exact_bounds import SCALE
from deniable_shared.mechanisms import HadamardResponse, RecursiveHadamardResponse


@pytest.mark.parametrize("order", [1, 2, 4, 8, 64, 256])
def test_the_transform_is_multiplication_by_the_matrix(order):
    rows = np.random.default_rng(order).integers(-(10**6), 10**6, (3, 2, order))
    assert (walsh_hadamard(rows) == rows @ linalg.hadamard(order)).all()


@given(st.lists(st.integers(-(2**50), 2**50), min_size=16, max_size=16))
@settings(deadline=None)
def test_applied_twice_it_gives_back_every_integer_exactly(values):
    rows = np.array([values])
    assert (walsh_hadamard(walsh_hadamard(rows)) == 16 * rows).all()
    assert rows[0].tolist() == values


def test_counts_beyond_the_precision_of_floats_stay_exact():
    """Truncated or rounded sums bias estimates for good, by 29% in one published program."""
    oracle = HadamardResponse(size=4, flip=SCALE // 4)
    counts = np.array([[2**53 + 1, 0, 0, 2, 0, 0]])
    supporting = oracle_tally_for(oracle).supporting(counts)[0]
    assert supporting.tolist() == [2**53 + 1, 0, 2**53 + 3, 2]


def test_estimates_of_few_reports_are_not_truncated_to_integers():
    """One report at a time, shares add up to what all reports say together."""
    for oracle in (
        HadamardResponse(size=6, flip=SCALE // 3),
        RecursiveHadamardResponse(size=6, bits=2, other=SCALE // 5),
    ):
        tally = oracle_tally_for(oracle)
        counts = np.random.default_rng(7).integers(0, 5, (1, tally.cells))
        total = int(tally.reports(counts)[0])
        alone = np.zeros(oracle.size)
        for cell in range(tally.cells):
            one = np.zeros_like(counts)
            one[0, cell] = 1
            alone += counts[0, cell] * tally.shares(one).share
        assert tally.shares(counts).share == pytest.approx(alone / total, abs=1e-12)


@pytest.mark.parametrize("size", [3, 8, 13])
def test_groups_are_read_independently(size):
    numbers = np.random.default_rng(3)
    for oracle in (
        HadamardResponse(size=size, flip=SCALE // 3),
        RecursiveHadamardResponse(size=size, bits=2, other=SCALE // 5),
    ):
        tally = oracle_tally_for(oracle)
        counts = numbers.integers(0, 1_000, (5, tally.cells))
        together = tally.supporting(counts)
        for group in range(5):
            assert (tally.supporting(counts[group : group + 1])[0] == together[group]).all()
