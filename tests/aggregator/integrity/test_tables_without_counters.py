"""Slices whose counters are read one at a time are checked as those that are all in memory."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from deniable_aggregator.answering.integrity import day_checks
from deniable_aggregator.answering.integrity.day_checks import (
    check_days,
    compared_days,
    compared_sums,
)
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import Slice, StoredSlice, TallyTotal
from deniable_aggregator.keeping.store.encoding import encode_counters
from tests.aggregator.fakes import honest_payload
from tests.aggregator.simulated import spec_of
from tests.aggregator.sliced import slice_table
from tests.one_metric import MEMOIZED
from tests.one_metric import spec_of as declared
from tests.privacy.specs import sketch, string

PERMANENT = declared(
    'type = "category"\nvalues = ["a", "b", "c"]\ncomplete = true\nepsilon = 1.0\n'
    + f'{MEMOIZED}epsilon_permanent = 1.5\nevery = "week"\n'
    + 'mechanism = { name = "lgrr" }\n'
)
SPECS = [spec_of("oue", 12, 1), string(sketch("oue", 2, rows=8, buckets=32)), PERMANENT]
KEYS = ("a", "b", "c")


def tables(spec):
    """Ten days of up to three keys of different sizes: in memory, and one slice at a time."""
    tally, generator = tally_for(spec), np.random.default_rng(79)
    some = [tally.fold(honest_payload(spec, 200, run)) for run in range(3)]
    slices, reports = [], {}
    for epoch in range(20_000, 20_010):
        for key in KEYS[: int(generator.integers(1, 4))]:
            times = int(generator.integers(1, 6))
            counted, cells = some[int(generator.integers(3))]
            slices.append(Slice(epoch, key, TallyTotal(times * counted, times * cells)))
            reports.setdefault(epoch, {})[key] = times * counted
    entry = SimpleNamespace(spec=spec, tally=tally)
    held = slice_table(entry, reports, [each.sum.cells for each in slices])

    def read(since, until):
        for epoch, key, (counted, cells) in slices:
            if since <= epoch <= until:
                body = encode_counters(cells, tally.cells)
                yield StoredSlice(epoch, key, counted, b"", (body,))

    return held, replace(held, counters=None, read_slices=read), slices


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.mechanism.name)
def test_days_are_checked_alike(spec, monkeypatch):
    held, read, _ = tables(spec)
    monkeypatch.setattr(day_checks, "MOST_SUMS", 3 * held.entry.tally.stored_cells)
    days = held.days.tolist()
    some = [*days[:4], *days[6:]]
    for one, other in zip(check_days(held, some), check_days(read, some), strict=True):
        assert one.joint_checks() == other.joint_checks()
        assert (one.epoch, one.reports, one.slices) == (other.epoch, other.reports, other.slices)
        assert (one.checks_made, one.smallest_p) == (other.checks_made, other.smallest_p)
        assert (one.keys is None) == (other.keys is None)
        if one.keys is not None:
            assert one.keys.ids == other.keys.ids
            alike = zip(one.keys.checks, other.keys.checks, strict=True)
            assert all(first.as_checks() == second.as_checks() for first, second in alike)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.mechanism.name)
def test_keys_and_the_others_are_added_up_day_by_day(spec, monkeypatch):
    """By the definition: n m / (n + m) reports of either side on a day with n and m of them."""
    held, read, slices = tables(spec)
    cells = held.entry.tally.cells
    own, others = np.zeros((2, 2, cells))
    weight, by_week = np.zeros(2), {}
    for row, key in enumerate(KEYS[1:]):
        for epoch in held.days.tolist():
            day = [each for each in slices if each.epoch == epoch]
            mine = [each.sum for each in day if each.key == key]
            rest = [each.sum for each in day if each.key != key]
            if mine and rest:
                n, m = mine[0].reports, sum(each.reports for each in rest)
                own[row] += mine[0].cells[:cells] * m / (n + m)
                others[row] += sum(each.cells[:cells] for each in rest) * n / (n + m)
                weight[row] += n * m / (n + m)
                week = by_week.setdefault((epoch + 3) // 7, np.zeros(2))
                week[row] += n * m / (n + m)
    if spec is PERMANENT:  # no more than what one week tells
        largest = np.max(list(by_week.values()), axis=0)
        own, others = (each * (largest / weight)[:, None] for each in (own, others))
        weight = largest
    for table, days_at_once in ((held, 100), (read, 1), (held, 3)):
        monkeypatch.setattr(day_checks, "MOST_SUMS", days_at_once * cells)
        sums = compared_sums(table, KEYS[1:])
        assert sums.own == pytest.approx(own)
        assert sums.others == pytest.approx(others)
        assert sums.weight == pytest.approx(weight)
        if spec is not PERMANENT:
            days = [each for _, each in compared_days(table, KEYS[1])]
            assert sum(each.own[0] for each in days) == pytest.approx(own[0])
            assert sum(each.others[0] for each in days) == pytest.approx(others[0])
            assert sum(each.weight[0] for each in days) == pytest.approx(weight[0])
