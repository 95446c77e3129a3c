"""Strings are hashed once, however many versions and periods a question is about."""

from __future__ import annotations

import numpy as np

from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.tallies.string_places import hashed_strings
from deniable_shared import hashing

SALT, BUCKETS = 11, 300


def test_versions_with_more_rows_hash_strings_in_those_alone(monkeypatch):
    hashed, buckets = [], hash_cells.buckets
    monkeypatch.setattr(
        hash_cells, "buckets", lambda *of: hashed.append(of[0].size) or buckets(*of)
    )
    items = tuple(f"of twenty versions {number}" for number in range(40))
    for _ in range(2):
        for version in range(20):
            hashed_strings(items, SALT, 8 + version, BUCKETS)
    assert hashed == [len(items)] * (8 + 19)
    strings = hashed_strings(items, SALT, 8, BUCKETS)
    expected = [
        [hashing.bucket(word, hashing.key(row), BUCKETS) for word in strings.words.tolist()]
        for row in range(27)
    ]
    assert strings.buckets(np.arange(27)[:, None], np.arange(40)).tolist() == expected
