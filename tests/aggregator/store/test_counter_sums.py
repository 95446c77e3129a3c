"""Sums of counters: the same integers, whether they are held as places or as an array."""

from __future__ import annotations

import msgpack
import numpy as np
import pytest

from deniable_aggregator.keeping.store.counters import encode_places
from deniable_aggregator.keeping.store.encoding import CounterSum, encode_counters

DRAWN = np.random.default_rng(12)


def drawn(cells, counts):
    return np.bincount(DRAWN.integers(0, cells, counts), minlength=cells)


@pytest.mark.parametrize("counts", [0, 3, 900, 5_000, 100_000])
def test_counters_add_up_in_whatever_form_they_come(counts):
    cells, whole, total = 20_000, np.zeros(20_000, np.int64), CounterSum(20_000)
    for first_section in (cells, cells - 5, cells):
        some = drawn(cells, counts)
        total.add_part(encode_counters(some, first_section))
        places = DRAWN.integers(0, cells, counts)
        total.add_places(places)
        other = CounterSum(cells)
        other.add_places(places)
        total.add_sum(other)
        whole += some + 2 * np.bincount(places, minlength=cells)
    assert total.count() == whole.sum() == 9 * counts
    found, times = total.counts()
    assert (found == np.flatnonzero(whole)).all()
    assert (times == whole[found]).all()
    again = CounterSum(cells)
    again.add_part(total.encode(cells))
    assert again.equals(total)
    assert (again.array() == whole).all()
    assert again.equals(total)
    again.add_places(np.array([7]))
    assert not again.equals(total)


def test_few_counts_are_stored_alike_from_their_places_and_from_an_array():
    total = CounterSum(100_000)
    total.add_places(DRAWN.integers(0, 100_000, 700))
    assert total.encode(100_000) == encode_counters(np.array(total.array()), 100_000)


def test_counters_beyond_a_sum_are_left_out():
    longer, shorter = CounterSum(10_000), CounterSum(9_000)
    longer.add_places(np.arange(0, 10_000, 100))
    for add in (
        lambda: shorter.add_sum(longer),
        lambda: shorter.add_part(longer.encode(10_000)),
        lambda: shorter.add(longer.array()),
    ):
        before = shorter.count()
        add()
        assert shorter.count() == before + 90


def test_few_counts_take_the_memory_of_few():
    total = CounterSum(9_000_000)
    total.add_places(DRAWN.integers(0, 9_000_000, 1_000))
    total.encode(9_000_000)
    total.counts()
    assert total.nbytes == 8_000


@pytest.mark.parametrize("places", [[5], [0, 9]])
def test_a_part_with_places_that_there_are_not_is_damaged(places):
    total = CounterSum(1_000)
    total.add_places(np.array(places))
    body = total.encode(1_000)
    cut = body.replace(b"\xcd\x03\xe8", b"\xcd\x00\x05")
    assert cut != body
    with pytest.raises(ValueError, match="must be below 5"):
        CounterSum(5).add_part(cut)


def test_distances_that_overflow_are_damage():
    body = encode_places(np.array([2**62, 2**62 + 1]), 1_000)
    wrapped = encode_places(np.array([0, 2**63 - 1]), 2**63 - 1)
    for damaged in (body, wrapped.replace(msgpack.packb(2**63 - 1), msgpack.packb(1_000))):
        with pytest.raises(ValueError, match="must be below 1000"):
            CounterSum(1_000).add_part(damaged)
