"""The distance of two sets of reports about strings, none of which need be known."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from deniable_aggregator.answering.integrity.contrast_measures import PARTS, _of_groups, judge
from deniable_shared.mechanisms import Support

GROUPS, BUCKETS = 32, 64
SUPPORT = Support(0.7, 0.3)


class Rows:
    """The counts of a sketch: of each row its reports, then how many support each bucket."""

    spec = SimpleNamespace(mechanism=SimpleNamespace(support=SUPPORT))

    def reports_by_group(self, counts):
        return counts[:, 0]

    def supporting_of_groups(self, counts, groups):
        return counts[groups, 1:]


def counts(generator, held, reports):
    """Reports of devices whose strings fall into buckets with these shares, row by row."""
    of_rows = generator.multinomial(reports, np.full(GROUPS, 1 / GROUPS))
    law = SUPPORT.q + (SUPPORT.p - SUPPORT.q) * held
    return np.column_stack([of_rows, generator.binomial(of_rows[:, None], law)])


def distances(own, others, sizes, runs=60):
    generator = np.random.default_rng(11)
    key, rest = sizes
    found = []
    for _ in range(runs):
        both = counts(generator, own, key), counts(generator, others, rest)
        parts = rest / (key + rest), key / (key + rest)
        weighted = [
            np.rint(PARTS * side * part).astype(np.int64)
            for side, part in zip(both, parts, strict=True)
        ]
        found.append(judge(_of_groups(Rows(), *weighted, parts[0]), 1e-3))
    return found


@pytest.mark.parametrize("sizes", [(1_500, 1_500), (1_500, 12_000), (30_000, 1_500)])
def test_the_distance_of_equal_strings_is_as_often_above_zero_as_below(sizes):
    """60 runs: outside of these bounds with a probability below 1e-4."""
    even = np.full((GROUPS, BUCKETS), 1 / BUCKETS)
    found = distances(even, even, sizes)
    assert 0.25 < np.mean([each.difference > 0 for each in found]) < 0.75
    assert not any(each.least for each in found)


def test_one_string_of_all_devices_is_at_distance_one_from_strings_of_one_device_each():
    even, one = np.full((GROUPS, BUCKETS), 1 / BUCKETS), np.eye(BUCKETS)[np.arange(GROUPS)]
    found = distances(one, even, (2_500, 12_000), runs=10)
    assert np.mean([each.difference for each in found]) == pytest.approx(1, abs=0.05)
    assert min(each.least for each in found) > 0.7
