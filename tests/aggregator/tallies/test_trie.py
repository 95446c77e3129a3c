"""Reports of tries are counted exactly, and what devices would not send is found."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from deniable_aggregator.answering.integrity.day_checks import ALARM_P, check_days
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import StoredSlice
from deniable_aggregator.keeping.store.encoding import CounterSum, encode_reports, join_reports
from deniable_aggregator.keeping.store.merging import merge
from deniable_aggregator.keeping.store.parts import NewPart
from tests.aggregator.sliced import slice_table
from tests.aggregator.tries import drawn_reports, random_words, words_spec
from tests.privacy.specs import trie

SPEC = words_spec()
TALLY = tally_for(SPEC)
WORDS = random_words(200, 6, np.random.default_rng(3))


def honest(reports, seed=0):
    generator = np.random.default_rng(seed)
    return drawn_reports(SPEC, WORDS, generator.integers(0, len(WORDS), reports), generator)


def forged(level, row, point):
    """Reports of these: each a number, or one for each report."""
    columns = np.broadcast_arrays(level, row, point)
    found = np.zeros((columns[0].size, SPEC.mechanism.report_bytes), np.uint8)
    found[:, 0], found[:, 1] = columns[0], columns[1]
    for place in (2, 3, 4):
        found[:, place] = columns[2] >> 8 * (4 - place) & 255
    return found


def checked(slices):
    """The smallest p-value of each check, by its name."""
    rows = []
    for reports in slices:
        total = CounterSum(TALLY.cells)
        total.add_places(TALLY.places(reports.tobytes()))
        places, counts = total.counts()
        rows.append(csr_array((counts, places, [0, places.size]), (1, TALLY.cells)))
    numbers = np.array([len(reports) for reports in slices])
    return {check.name: check.p for check in TALLY.checks(vstack(rows, "csr"), numbers)}


def test_every_report_supports_the_items_that_it_says_in_its_row_of_its_level():
    spec = trie(levels=3, epsilon="1", rows=3)
    tally, mechanism = tally_for(spec), spec.mechanism
    generator = np.random.default_rng(1)
    payload, expected = [], [np.zeros((1 + 2 * (level > 0), mechanism.oracle(level).size), int)
                             for level in range(3)]  # fmt: skip
    reports = [np.zeros(len(each), int) for each in expected]
    for _ in range(300):
        level = int(generator.integers(3))
        row = int(generator.integers(len(expected[level])))
        point = int(generator.integers(mechanism.oracle(level).outcomes))
        payload.append(bytes([level, row, point]))
        reports[level][row] += 1
        expected[level][row, list(mechanism.oracle(level).decode(bytes([point])).items)] += 1
    counts = tally.count(b"".join(payload))
    assert counts.sum() == tally.reports(counts) == 300
    for level in range(3):
        found = tally.supports_of_level(counts, level)
        assert (found[0] == reports[level]).all()
        assert (found[1] == expected[level]).all()


def test_honest_reports_fail_no_check():
    """300 slices of up to 3,000 reports; the least of so many p-values is about 1/300."""
    generator, reports = np.random.default_rng(9), honest(40_000)
    sizes = generator.choice([1, 3, 10, 50, 300, 3_000], 300)
    found = checked([reports[generator.integers(0, len(reports), size)] for size in sizes.tolist()])
    assert sorted(found) == ["bounds", "groups", "levels"]
    for p in found.values():
        assert p.min() > ALARM_P
        assert np.mean(p < 0.05) < 0.1


@pytest.mark.parametrize(
    ("name", "fakes"),
    [
        ("levels", lambda draw: forged(1, draw(16), draw(151_740))),
        ("levels", lambda draw: forged(0, 0, draw(1_926_221))),
        ("groups", lambda draw: forged(draw(3).clip(max=1), 0, draw(151_740))),
        ("bounds", lambda draw: forged(1, 5, 77 + 0 * draw(9)[:60])),
        ("bounds", lambda draw: forged(0, 0, 77 + 0 * draw(9)[:60])),
    ],
)
def test_reports_of_one_level_or_row_or_point_only_are_found(name, fakes):
    """600 forged ones, or 60 of one point, among 6,000 honest ones."""
    generator = np.random.default_rng(2)
    found = fakes(lambda below: generator.integers(0, below, 600))
    assert checked([np.concatenate([honest(6_000), found])])[name][0] < ALARM_P / 100


def test_days_and_keys_are_checked_and_added_up_from_the_reports_that_are_stored():
    reports, table_of = honest(6_000), {}
    slices = []
    for number, (epoch, key) in enumerate([(100, "a"), (100, "b"), (101, "a"), (103, "a")]):
        packed = reports[1_000 * number : 1_000 * (number + 1)].tobytes()
        slices.append(StoredSlice(epoch, key, 1_000, packed, ()))
        table_of.setdefault(epoch, {})[key] = 1_000
    counted = CounterSum(TALLY.cells)
    counted.add_places(TALLY.places(reports[4_000:].tobytes()))
    slices[3] = slices[3]._replace(reports=3_000, counters=(counted.encode(TALLY.cells),))
    table_of[103]["a"] = 3_000
    entry = SimpleNamespace(spec=SPEC, tally=TALLY)
    table = replace(
        slice_table(entry, table_of),
        counters=None,
        read_slices=lambda since, until: (s for s in slices if since <= s.epoch <= until),
    )
    assert (table.total(TALLY.cells) == TALLY.count(reports.tobytes())).all()
    by_day = [reports[:2_000], reports[2_000:3_000], reports[3_000:]]
    expected = checked(by_day)
    for place, day in enumerate(check_days(table, [100, 101, 103])):
        assert day.reports == len(by_day[place])
        found = {check.name: check.p for check in day.joint_checks()}
        assert found == {name: p[place] for name, p in expected.items()}
        assert (day.keys is None) == (place > 0)
        if day.keys is not None:
            alone = checked([reports[:1_000], reports[1_000:2_000]])
            for check in day.keys.checks:
                assert (check.p == alone[check.name]).all()


def test_few_reports_of_millions_of_counters_take_little_memory_however_they_are_merged():
    reports = honest(2_000).tobytes()
    half = len(reports) // 2
    bodies = [
        encode_reports(join_reports([each], 5), 5) for each in (reports[:half], reports[half:])
    ]
    parts = [NewPart(1_000, body) for body in bodies]
    loaded = CounterSum(TALLY.cells)
    loaded.add_places(TALLY.places(reports))
    counted = NewPart(2_000, loaded.encode(TALLY.cells))
    tracemalloc.start()
    try:
        (closed,) = merge(TALLY, parts, final=True)
        (both,) = merge(TALLY, [*parts, counted])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20 < TALLY.cells
    assert closed.reports == 2_000
    assert len(closed.body) < 2.5 * 2_000
    total = CounterSum(TALLY.cells)
    total.add_part(both.body)
    assert both.reports == total.count() == 4_000
    assert (total.array() == 2 * TALLY.count(reports)).all()
