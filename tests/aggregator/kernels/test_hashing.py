from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.counting import hash_cells as vectorised
from deniable_shared import hashing


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
    st.integers(0, 70_000),
    st.sampled_from([1, 2, 3, 21, 128, 1_000, 1_024, 2**32]),
)
def test_arrays_are_hashed_exactly_as_the_device_hashes(items, salt, member, size):
    words = vectorised.words(items, salt)
    key = hashing.key(member)
    expected = [hashing.word(hashing.canonical(item), salt) for item in items]
    assert words.tolist() == expected
    buckets = vectorised.buckets(words, key, size)
    assert buckets.tolist() == [hashing.bucket(word, key, size) for word in expected]
    assert words.tolist() == expected  # the caller's array is left alone


def test_composed_and_decomposed_spellings_are_one_item():
    words = vectorised.words(["caf\u00e9", "cafe\u0301"], 1)
    assert words[0] == words[1]
    assert words.dtype == np.uint64


def test_keys_are_worked_out_exactly_as_the_device_does():
    members = np.array([0, 1, 463, 65_535, 2**31])
    assert vectorised.keys(members).tolist() == [hashing.key(member) for member in members.tolist()]


def test_every_value_may_have_a_key_of_its_own():
    words, keys = vectorised.words(["a", "b", "c"], 7), vectorised.keys(np.arange(3))
    alone = [vectorised.buckets(words[[n]], keys[n], 300)[0] for n in range(3)]
    assert vectorised.buckets(words, keys, 300).tolist() == alone
