"""A series works out what its periods have in common once, and each period until it changes."""

from __future__ import annotations

from datetime import date, timedelta
from types import SimpleNamespace

import pytest

from deniable_aggregator.answering import series as series_module
from deniable_aggregator.answering.estimation.inputs import CollectedTallies
from deniable_aggregator.answering.kept_periods import (
    ITEM_BYTES,
    PERIOD_BYTES,
    KeptPeriods,
    KeptSeries,
)
from deniable_aggregator.answering.series import series
from deniable_aggregator.answers.dates import DayRange, epoch_of
from deniable_aggregator.answers.questions import SeriesQuery, ValueLists
from deniable_aggregator.counting import hash_cells
from deniable_aggregator.counting.tallies import tally_for
from tests.aggregator.fakes import honest_payload
from tests.privacy.specs import sketch, string

ROWS = 8
DAYS = [DayRange(day, day) for day in (date(2026, 3, 1) + timedelta(n) for n in range(6))]


@pytest.fixture
def strings():
    spec = string(sketch("oue", 2, rows=ROWS, buckets=300))
    tally = tally_for(spec)
    counts = {days: tally.fold(honest_payload(spec, 400, at))[1] for at, days in enumerate(DAYS)}

    def collect(days):
        own = counts[days][: tally.cells]
        epoch = epoch_of(days.since)
        return CollectedTallies([(spec, own)], {spec.digest: {epoch: tally.reports(own)}})

    return spec, collect


def asked(spec, collect, kept=None, values=("a", "b", "c")):
    lists = ValueLists(candidates=values)
    return series(collect, [spec], DAYS, SeriesQuery(by="day"), lists, kept=kept)


def numbers(found):
    return [(each.estimate, each.low, each.high, each.standard_error) for each in found.numbers()]


def test_strings_are_hashed_once_for_all_periods(strings, monkeypatch):
    hashed = []
    buckets = hash_cells.buckets
    monkeypatch.setattr(
        hash_cells, "buckets", lambda *of: hashed.append(of[0].size) or buckets(*of)
    )
    values = tuple(f"hashed once {number}" for number in range(40))
    asked(*strings, values=values)
    assert hashed == [len(values)] * ROWS


def test_only_periods_that_have_changed_are_estimated_again(strings, monkeypatch):
    spec, collect = strings
    estimated, stamps = [], dict.fromkeys(DAYS, 0)
    estimate = series_module.estimate
    monkeypatch.setattr(series_module, "estimate", lambda *of: estimated.append(1) or estimate(*of))
    kept = KeptSeries(KeptPeriods(), lambda days: stamps[days])
    first = numbers(asked(spec, collect, kept))
    assert len(estimated) == len(DAYS)
    assert numbers(asked(spec, collect, kept)) == first == numbers(asked(spec, collect))
    assert len(estimated) == 2 * len(DAYS)  # those without a place to keep them
    stamps[DAYS[2]] = 1
    asked(spec, collect, kept)
    assert len(estimated) == 2 * len(DAYS) + 1
    asked(spec, collect, kept, values=("a", "b"))
    assert len(estimated) == 3 * len(DAYS) + 1


def test_periods_take_bounded_memory_and_those_asked_for_longest_ago_go_first():
    def result(items):
        return SimpleNamespace(items=range(items))

    size = PERIOD_BYTES + 10 * ITEM_BYTES
    kept = KeptPeriods(most_bytes=3 * size)
    for question in ("one", "two", "three"):
        kept.keep(question, DAYS[0], 0, question, result(10))
        kept.keep(question, DAYS[0], 1, question, result(10))  # in the place of the one before
    assert kept.find("one", DAYS[0], 1) == "one"
    kept.keep("four", DAYS[0], 1, "four", result(10))
    found = [kept.find(question, DAYS[0], 1) for question in ("one", "two", "three", "four")]
    assert found == ["one", None, "three", "four"]
    assert kept.find("one", DAYS[0], 0) is None
    kept.keep("five", DAYS[0], 1, "large", result(10_000))
    assert kept.find("five", DAYS[0], 1) is None
