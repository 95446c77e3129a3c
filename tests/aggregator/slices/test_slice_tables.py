"""Slice tables hold what the store holds, and read only what has changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering import slices
from deniable_aggregator.answering.slice_cache import SliceTables
from deniable_aggregator.keeping.catalog import MetricCatalog
from tests.aggregator.service import TODAY
from tests.aggregator.stored import THEME, add_key, append, decoded, fold, register

pytestmark = pytest.mark.one_store

DAYS = 70
CELLS = 3
FIRST = TODAY - DAYS + 1


@pytest.fixture
def store(target):
    """70 days of two keys; of each tenth day, one of them."""
    opened = Store(target)
    register(opened)
    add_key(opened, "beef")
    for number in range(DAYS):
        append(opened, [decoded(bytes([number % 3, 0]), epoch=FIRST + number)])
        if number % 10:
            append(opened, [decoded(b"\2", epoch=FIRST + number)], key="beef")
    fold(opened)
    yield opened
    opened.close()


def entry_of(store):
    return MetricCatalog(store).find(THEME)


def read_days(store, monkeypatch):
    """The days that are read from now on, as lists of the first and the last."""
    found, read = [], store.tallies.read

    def noted(tally, since, until, *rest, **options):
        found.append((since, until))
        return read(tally, since, until, *rest, **options)

    monkeypatch.setattr(store.tallies, "read", noted)
    return found


def as_rows(table):
    """What a table says of each slice, by day and key."""
    found = {}
    for chunk in table.chunks(CELLS):
        for place, row in enumerate(chunk.rows.tolist()):
            slice_ = int(table.epochs[row]), table.key_ids[table.keys[row]]
            assert chunk.reports[place] == table.reports[row]
            found[slice_] = chunk.counters[place].tolist()
    assert len(found) == len(table)
    return found


def test_counters_that_are_not_in_memory_are_the_same(store):
    entry = entry_of(store)
    near = SliceTables(store).table(entry, 0, TODAY)
    far = SliceTables(store, most_table_bytes=0).table(entry, 0, TODAY)
    assert near.counters is not None
    assert far.counters is None
    assert len(near) == 2 * DAYS - DAYS // 10
    for choose in (
        lambda table: table,
        lambda table: table.between(FIRST + 3, FIRST + 40),
        lambda table: table.without(["beef", "unknown"]),
        lambda table: table.without(["beef"]).between(TODAY - 2, TODAY),
    ):
        here, there = choose(near), choose(far)
        assert as_rows(here) == as_rows(there)
        assert here.total(CELLS).tolist() == there.total(CELLS).tolist()
        assert here.total(CELLS).sum() == here.reports.sum()
        assert here.reports_by_day == there.reports_by_day
        assert here.reports_by_key == there.reports_by_key
    assert near.reports_by_key == {"cafe": 2 * DAYS, "beef": DAYS - DAYS // 10}


def test_only_days_that_have_changed_are_read_again(store, monkeypatch):
    tables, entry = SliceTables(store), entry_of(store)
    read = read_days(store, monkeypatch)
    before = tables.table(entry, FIRST + 10, TODAY)
    assert read == [(FIRST + 10, TODAY)]
    assert tables.table(entry, FIRST + 10, TODAY) is before
    append(store, [decoded(b"\1", epoch=FIRST + 20), decoded(b"\1", epoch=TODAY)])
    fold(store)
    after = tables.table(entry, FIRST, TODAY)
    assert read[1:] == [(FIRST, FIRST + 9), (FIRST + 20, FIRST + 20), (TODAY, TODAY)]
    assert (
        after.total(CELLS).tolist()
        == SliceTables(store).table(entry, 0, TODAY).total(CELLS).tolist()
    )


def test_questions_at_once_read_once(store, monkeypatch):
    tables, entry = SliceTables(store), entry_of(store)
    read = read_days(store, monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: tables.table(entry, 0, TODAY), range(8)))
    assert len(read) == 1
    assert all(each is found[0] for each in found)


def test_tables_take_bounded_memory(store):
    catalogue = MetricCatalog(store)
    entries = catalogue.for_application("flightdeck")
    assert len(entries) == 3
    tables = SliceTables(store, most_bytes=1)
    for entry in entries:
        tables.table(entry, 0, TODAY)
    assert len(tables._held) == 1


def test_sums_of_old_days_are_kept(store, monkeypatch):
    tables, entry = SliceTables(store, most_table_bytes=0), entry_of(store)
    first = tables.table(entry, 0, TODAY).total(CELLS)
    read = read_days(store, monkeypatch)
    # The first days are a small part of a block of 32, which is not kept.
    assert tables.table(entry, 0, TODAY).total(CELLS).tolist() == first.tolist()
    assert read == [(FIRST, FIRST + 4)]
    append(store, [decoded(b"\0", epoch=TODAY)])
    fold(store)
    assert tables.table(entry, 0, TODAY).total(CELLS).tolist() == [first[0] + 1, *first[1:]]
    assert read[1:] == [(FIRST, FIRST + 4), (TODAY, TODAY)]
    without = tables.table(entry, 0, TODAY).without(["beef"]).total(CELLS)
    assert without.sum() == 2 * DAYS + 1


@pytest.mark.parametrize(("chunk_bytes", "queries"), [(1 << 20, 1), (60, 4), (1, DAYS)])
def test_periods_of_a_series_are_read_together(store, monkeypatch, chunk_bytes, queries):
    monkeypatch.setattr(slices, "CHUNK_BYTES", chunk_bytes)
    entry = entry_of(store)
    near = SliceTables(store).table(entry, 0, TODAY)
    ahead = SliceTables(store, most_table_bytes=0).table(entry, 0, TODAY).reading_ahead()
    read = read_days(store, monkeypatch)
    for day in range(FIRST, TODAY + 1):
        one, other = (table.between(day, day) for table in (ahead, near))
        assert as_rows(one) == as_rows(other)
    assert len(read) <= queries
    for days in (7, 40):
        for day in range(FIRST, TODAY + 1, days):
            one, other = (table.between(day, day + days - 1) for table in (ahead, near))
            assert one.total(CELLS).tolist() == other.total(CELLS).tolist()
