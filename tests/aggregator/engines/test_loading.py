"""Loading what was counted elsewhere: each slice once, all or nothing, and every command works."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from deniable_aggregator import Store
from deniable_aggregator.answering.engines import Kernel
from deniable_aggregator.answering.engines.counters import encode_sums, sums
from deniable_aggregator.answering.engines.loading import load_tallies
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.store import (
    InboxRow,
    StoreRefusedError,
    StoreUnavailableError,
    loading,
)
from deniable_aggregator.keeping.store.encoding import CounterSum
from deniable_shared import registry
from tests.aggregator.engines.reported import DAYS, KEYS, REGISTRY, SPECS, batch_of, random_rows
from tests.aggregator.stored import add_key, execute, fold, key_administrator
from tests.aggregator.tries import drawn_reports, random_words, words_spec
from tests.command_line import deniable

KERNEL = Kernel(SPECS.values())
ROWS = random_rows(400)
TALLIES = KERNEL.partial(batch_of(ROWS))
FIRST, LAST = 0, 2**31 - 1
WORDS = """
[metrics.words]
type = "string"
discover = true
longest = 6
epsilon = 4
every = "week"
"""


@pytest.fixture
def store(target):
    store = Store(target)
    store.metrics.register(registry.parse(REGISTRY).metrics.values(), 20_000)
    yield store
    store.close()


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "tallies.parquet"
    pq.write_table(TALLIES, file)
    return file


def content(store):
    """The tally of every metric."""
    found = {}
    for name, spec in SPECS.items():
        total = store.tallies.total(tally_for(spec), FIRST, LAST)
        found[name] = total.reports, total.cells.tolist()
    return found


def payloads(rows, name):
    return b"".join(row[3] for row in rows if row[0] == SPECS[name].digest.hex())


def counted(rows):
    found = {}
    for name, spec in SPECS.items():
        counts = tally_for(spec).count(payloads(rows, name))
        found[name] = tally_for(spec).reports(counts), counts.tolist()
    return found


def test_what_was_loaded_is_what_was_reported_and_loading_again_changes_nothing(store, file):
    loaded = load_tallies(store, [file])
    assert loaded == (TALLIES.num_rows, 0, 0, len(ROWS), len(KEYS))
    assert content(store) == counted(ROWS)
    assert load_tallies(store, [file]) == (0, 0, TALLIES.num_rows, 0, 0)
    assert content(store) == counted(ROWS)
    acts = [entry.act for entry in store.audit.entries()]
    assert acts.count("store.load") == 1


def test_totals_are_those_of_the_slices(store, file):
    load_tallies(store, [file])
    totals = store.tallies.reports([tally_for(spec) for spec in SPECS.values()])
    assert totals == {SPECS[name].digest: found[0] for name, found in counted(ROWS).items()}


def test_a_day_with_more_reports_than_before_is_refused_or_replaced(store, file, tmp_path):
    load_tallies(store, [file])
    more = [*ROWS, *random_rows(50, seed=2)]
    late = tmp_path / "late.parquet"
    pq.write_table(KERNEL.partial(batch_of(more)), late)
    with pytest.raises(StoreRefusedError, match="nothing was loaded"):
        load_tallies(store, [late])
    assert content(store) == counted(ROWS)
    assert load_tallies(store, [late], replace=True).replaced > 0
    assert content(store) == counted(more)
    totals = store.tallies.reports([tally_for(spec) for spec in SPECS.values()])
    assert sum(totals.values()) == len(more)


def test_a_slice_whose_reports_wait_is_not_replaced(store, file):
    """They would be counted on top."""
    where, reports = SPECS["theme"].digest, payloads(ROWS[:50], "theme")
    add_key(store, "aaaa")
    row = InboxRow(1, where, epoch_of(DAYS[0]), "aaaa", reports)
    store._database.ingest(lambda step: step.append_rows([row]))
    with pytest.raises(StoreUnavailableError, match="load again when they are"):
        load_tallies(store, [file], replace=True)
    fold(store)
    load_tallies(store, [file], replace=True)
    fold(store)
    assert content(store) == counted(ROWS)


def test_a_slice_that_another_process_is_changing_is_not_replaced(store, file, monkeypatch):
    """Parts that others have locked would stay beside the new sum."""
    load_tallies(store, [file])
    execute(store, "UPDATE tallies SET reports = reports + 1")
    monkeypatch.setattr(loading, "lock_parts", lambda *_: {})
    with pytest.raises(StoreUnavailableError, match="load again when they are"):
        load_tallies(store, [file], replace=True)


def test_files_that_are_loaded_together_add_up(store, tmp_path):
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for file, rows in zip(files, (ROWS[:200], ROWS[200:]), strict=True):
        pq.write_table(KERNEL.partial(batch_of(rows)), file)
    load_tallies(store, files)
    assert content(store) == counted(ROWS)
    with pytest.raises(StoreRefusedError, match="would count twice"):
        load_tallies(store, [files[0], files[0]])


def test_a_load_that_fails_leaves_nothing(store, file, monkeypatch):
    def fail(*_):
        raise StoreUnavailableError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(loading, "add_to_totals", fail)
        with pytest.raises(StoreUnavailableError):
            load_tallies(store, [file])
    assert {reports for reports, _ in content(store).values()} == {0}
    assert store.keys.all() == []
    load_tallies(store, [file])
    assert content(store) == counted(ROWS)


def test_reports_of_a_loaded_key_can_be_excluded_and_nobody_can_upload_with_it(store, file):
    load_tallies(store, [file])
    assert all(key.revoked is not None for key in store.keys.all())
    key_administrator(store).exclude("bbbb")
    assert content(store) == counted([row for row in ROWS if row[2] != "bbbb"])


@pytest.mark.one_store
def test_a_day_that_was_rolled_up_is_refused(store, file):
    (first, *_) = DAYS
    execute(
        store,
        "INSERT INTO rolled_periods (id, metric, since, until, key, first, reports, summary, "
        f"counters) SELECT 1, number, {epoch_of(first)}, {epoch_of(first)}, 0, {epoch_of(first)}, "
        "1, x'00', x'00' FROM metrics WHERE name = 'theme'",
    )
    with pytest.raises(StoreRefusedError, match="has rolled up 2026-01-01"):
        load_tallies(store, [file])


@pytest.mark.one_store
def test_what_is_no_sum_of_reports_is_refused_by_name(store, tmp_path):
    damaged = tmp_path / "damaged.parquet"
    (one, *_) = sums([TALLIES], KERNEL._lengths)
    for wrong in (
        one._replace(reports=one.reports + 1),
        one._replace(counters=CounterSum(1)),
        one._replace(where=one.where._replace(version="00" * 32)),
    ):
        pq.write_table(encode_sums([wrong], lambda _: 1), damaged)
        with pytest.raises(StoreRefusedError, match=r"counters of|not a registered metric"):
            load_tallies(store, [damaged])
    damaged.write_bytes(b"PAR1")
    with pytest.raises(StoreRefusedError, match="must be sums of reports"):
        load_tallies(store, [damaged])


@pytest.mark.one_store
def test_the_command_says_what_it_loaded(store, file):
    options = ["store", "load", "--store", str(store.path), str(file)]
    said = CliRunner().invoke(deniable, options)
    assert f"loaded {len(ROWS)} reports" in said.output
    again = CliRunner().invoke(deniable, [*options, "--json"])
    assert json.loads(again.output)["unchanged"] == TALLIES.num_rows


@pytest.mark.one_store
def test_reports_of_millions_of_counters_are_counted_merged_and_loaded_in_little_memory(
    store, tmp_path
):
    spec = words_spec(every="week")
    declared = registry.parse(REGISTRY.split("[metrics.")[0] + WORDS).metrics["words"]
    assert declared.spec == replace(spec, application=declared.spec.application)
    store.metrics.register([declared], 20_000)
    generator = np.random.default_rng(5)
    words = random_words(50, 6, generator)
    reports = drawn_reports(declared.spec, words, generator.integers(0, 50, 2_000), generator)
    version = declared.spec.digest.hex()
    rows = [
        (version, DAYS[number % 2], KEYS[number % 3], report.tobytes())
        for number, report in enumerate(reports)
    ]
    kernel, file = Kernel([declared.spec]), tmp_path / "words.parquet"
    tracemalloc.start()
    try:
        parts = [kernel.partial(batch_of(some)) for some in (rows[:700], rows[700:])]
        pq.write_table(kernel.merge(parts), file)
        assert load_tallies(store, [file]).added == 6
        assert load_tallies(store, [file]).unchanged == 6
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    tally = tally_for(declared.spec)
    assert peak < 8 << 20 < 8 * tally.cells
    total = store.tallies.total(tally, FIRST, LAST)
    assert total.reports == 2_000
    assert (total.cells == tally.count(reports.tobytes())).all()
