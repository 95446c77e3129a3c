"""Counting batches of reports: however they are split, the tallies are those of the server."""

from __future__ import annotations

import pickle
import random
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from deniable_aggregator.answering.engines import TALLIES, Kernel, counters, kernel
from deniable_aggregator.answering.engines.counters import sums
from deniable_aggregator.answers.questions import ValueLists
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store.encoding import CounterSum
from deniable_shared.errors import ParameterError, WireError
from tests.aggregator.engines.reported import (
    DAYS,
    SPECS,
    batch_of,
    batches_of,
    counted,
    random_rows,
)

KERNEL = Kernel(SPECS.values())
ROWS = random_rows(600)


def content(table):
    """The reports and counters of each version, day and key."""
    return {
        each.where: (each.reports, each.counters.array().tolist())
        for each in sums([table], KERNEL._lengths)
    }


@pytest.fixture
def all_counted():
    return KERNEL.partial(batch_of(ROWS))


def test_a_batch_of_many_versions_days_and_keys_is_counted_as_the_server_counts(all_counted):
    assert all_counted.schema == TALLIES
    assert content(all_counted) == counted(ROWS)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_however_reports_are_split_the_table_is_the_same(size, all_counted):
    assert KERNEL.partial(batches_of(ROWS, size)) == all_counted
    assert KERNEL.merge(KERNEL.partial(batch) for batch in batches_of(ROWS, size)) == all_counted


def test_the_order_and_grouping_of_merges_do_not_matter(all_counted):
    tables = [KERNEL.partial(batch) for batch in batches_of(ROWS, 50)]
    random.Random(1).shuffle(tables)
    left = tables[0]
    for table in tables[1:]:
        left = KERNEL.merge([left, table])
    halves = KERNEL.merge([KERNEL.merge(tables[:5]), KERNEL.merge(tables[5:])])
    assert left == halves == all_counted


def test_a_sum_does_not_depend_on_how_much_is_held_in_memory(monkeypatch, all_counted):
    monkeypatch.setattr(counters, "HELD_BYTES", 0)
    monkeypatch.setattr(kernel, "WAITING_BYTES", 1)
    assert KERNEL.partial(batches_of(ROWS, 100)) == all_counted


@pytest.mark.parametrize("name", SPECS)
def test_reports_of_one_version_may_have_a_fixed_width_and_words_a_dictionary(name):
    rows = random_rows(200, metrics=(name,))
    plain = batch_of(rows)
    width = SPECS[name].mechanism.report_bytes
    columns = {column: plain[column].dictionary_encode() for column in ("version", "day", "key")}
    columns["report"] = plain["report"].cast(pa.binary(width))
    alike = pa.RecordBatch.from_pydict({**columns, "further": pa.nulls(200)})
    assert KERNEL.partial(alike) == KERNEL.partial(plain)
    assert KERNEL.partial(alike[100:]) == KERNEL.partial(plain[100:])


def test_days_may_be_words():
    plain = batch_of(ROWS)
    words = plain.set_column(1, "day", plain["day"].cast(pa.string()))
    assert KERNEL.partial(words) == KERNEL.partial(plain)


def test_nothing_is_counted_of_nothing():
    assert (
        KERNEL.partial([])
        == KERNEL.partial(batch_of([]))
        == KERNEL.merge([])
        == TALLIES.empty_table()
    )


def test_tallies_that_have_other_types_of_columns_merge_too(all_counted):
    """Other programs write long strings and views."""
    other = all_counted.cast(
        pa.schema([(field.name, {pa.string(): pa.large_string()}.get(field.type, field.type))
                   for field in TALLIES])
    )  # fmt: skip
    assert KERNEL.merge(other) == all_counted


def test_counters_of_other_lengths_are_not_added():
    """They come from another version of the program, which counted less for diagnostics."""
    mine = KERNEL.partial(batch_of(random_rows(10, metrics=("emoji",))))
    shorter = []
    for each in sums([mine], KERNEL._lengths):
        less = CounterSum(each.counters.cells - 1)
        less.add_sum(each.counters)
        shorter.append(each._replace(counters=less))
    both = KERNEL.merge([mine, counters.encode_sums(shorter, lambda _: 0)])
    assert both.num_rows == 2 * mine.num_rows
    assert KERNEL.merge(both) == both


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (("00", DAYS[0], "aaaa", b"\0"), ParameterError, "version must be"),
        ((SPECS["theme"].digest.hex(), DAYS[0], "aaaa", b"\0\0"), ParameterError, "of 1 bytes"),
        ((SPECS["theme"].digest.hex(), DAYS[0], "aaaa", b"\7"), WireError, "below 3"),
        ((SPECS["theme"].digest.hex(), None, "aaaa", b"\0"), ParameterError, "day must be"),
    ],
)
def test_what_no_device_sent_is_refused_by_name(row, error, words):
    with pytest.raises(error, match=words):
        KERNEL.partial(batch_of([row]))


def test_a_missing_column_is_named():
    with pytest.raises(ParameterError, match="columns must be with key"):
        KERNEL.partial(batch_of(ROWS).drop_columns(["key"]))


@pytest.mark.parametrize(
    "blob",
    [b"", b"\x10", b"\x10\xa1a", b"\x10\x91\x95\xce\xff\xff\xff\xff\0\1\3\xc0", b"\1\0", b"\x80\0"],
)
def test_damaged_counters_are_refused(all_counted, blob):
    column = pa.array([blob] * all_counted.num_rows, pa.binary())
    place = all_counted.schema.get_field_index("counters")
    with pytest.raises(ValueError, match="damaged"):
        KERNEL.merge(all_counted.set_column(place, "counters", column))


def test_a_kernel_can_be_sent_to_a_worker(all_counted):
    assert pickle.loads(pickle.dumps(KERNEL)).partial(batch_of(ROWS)) == all_counted


def test_memory_does_not_grow_with_the_number_of_reports(monkeypatch):
    monkeypatch.setattr(kernel, "WAITING_BYTES", 100_000)
    batch = batch_of(random_rows(2_000, metrics=("theme",)))

    def peak(batches):
        tracemalloc.start()
        KERNEL.partial(batch for _ in range(batches))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)
    assert peak(800) < 1.5 * peak(100)


def test_an_estimate_is_that_of_all_reports_without_the_keys_that_are_left_out(all_counted):
    spec = SPECS["theme"]
    chosen = [row for row in ROWS if row[0] == spec.digest.hex() and row[2] != "bbbb"]
    tally = tally_for(spec)
    counts = tally.count(b"".join(row[3] for row in chosen))
    found = KERNEL.estimate(all_counted, "theme", without_keys=["bbbb"])
    wanted = tally.shares(counts, spec.values)
    assert found.reports == len(chosen)
    np.testing.assert_allclose(found.share, wanted.share)


def test_strings_are_estimated_from_candidates(all_counted):
    found = KERNEL.estimate(all_counted, "emoji", lists=ValueLists(candidates=("🙂", "🙃")))
    assert found.reports == sum(row[0] == SPECS["emoji"].digest.hex() for row in ROWS)


def test_a_metric_without_reports_is_named(all_counted):
    with pytest.raises(ParameterError, match="'colour'"):
        KERNEL.estimate(all_counted, "colour")
