"""Of each key's day the largest upload is known, as one number that nothing loses."""

from __future__ import annotations

import contextlib
import secrets

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering.roll_up import RollUp
from deniable_aggregator.answering.rolled_slices import PeriodSummary
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.store import NewPart, TallyKey, Volume
from deniable_aggregator.keeping.store.encoding import encode_counters
from deniable_aggregator.keeping.store.transfer import copy_store
from deniable_shared import wire
from tests.aggregator.service import TODAY
from tests.aggregator.stored import (
    KEY,
    TALLY,
    THEME,
    append,
    decoded,
    fold,
    register,
    rows,
    settle,
)


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        yield opened


def volume(store, epoch=TODAY):
    return store.tallies.volumes([TALLY], epoch, epoch)[THEME][epoch][KEY]


def test_of_uploads_in_one_commit_the_largest_counts(store):
    append(store, [decoded(b"\x00"), decoded(b"\x01\x02\x00"), decoded(b"\x01")])
    fold(store)
    assert volume(store) == Volume(5, 3)
    (each,) = store.tallies.read(TALLY, TODAY, TODAY)
    assert (each.reports, each.largest) == (5, 3)


def test_the_parts_of_an_upload_are_one_upload(store):
    parts = (wire.Part(THEME, TODAY, b"\x00\x01"), wire.Part(THEME, TODAY - 1, b"\x02"))
    append(store, [wire.Upload(secrets.token_bytes(wire.ID_BYTES), parts)])
    fold(store)
    assert (volume(store), volume(store, TODAY - 1)) == (Volume(2, 2), Volume(1, 1))


def test_an_upload_that_is_sent_again_changes_nothing(store):
    large = decoded(b"\x00" * 7)
    append(store, [large])
    fold(store)
    append(store, [large, decoded(b"\x00")])
    fold(store)
    assert volume(store) == Volume(8, 7)


def test_nothing_but_the_largest_is_kept(store):
    """No list of uploads: a part has one number, whatever came."""
    for reports in (2, 9, 4, 1):
        append(store, [decoded(b"\x01" * reports)])
        fold(store)
    store.inbox.close_epochs(TODAY + 1)
    assert settle(store, TODAY)
    assert rows(store, "SELECT reports, largest FROM tallies") == [(16, 9)]


def test_it_outlives_a_roll_up_and_what_comes_late(store):
    epochs = range(TODAY - 100, TODAY - 30)
    for epoch in epochs:
        append(store, [decoded(b"\x00" * (1 + epoch % 5), epoch=epoch), decoded(epoch=epoch)])
    fold(store)
    assert RollUp(store, MetricCatalog(store), "month").run(TODAY - 20, ())
    period = store.rolled.read(THEME, *[TODAY - 60] * 2)[0]
    day = PeriodSummary.decode(period.summary).volumes[KEY][TODAY - 60]
    assert day == (2 + (TODAY - 60) % 5, 1 + (TODAY - 60) % 5)
    append(store, [decoded(b"\x00" * 6, epoch=TODAY - 60)])
    fold(store)
    assert RollUp(store, MetricCatalog(store), "month").run(TODAY - 20, ())
    period = store.rolled.read(THEME, *[TODAY - 60] * 2)[0]
    assert PeriodSummary.decode(period.summary).volumes[KEY][TODAY - 60] == (day[0] + 6, 6)


def test_a_copy_and_sums_that_are_loaded_again_keep_it(store, target, fresh_target):
    append(store, [decoded(b"\x00" * 4), decoded(b"\x01")])
    fold(store)
    counters = TALLY.fold(b"\x00" * 4 + b"\x01" * 2)[1]
    sums = {TallyKey(THEME, TODAY, KEY): [NewPart(6, encode_counters(counters, TALLY.cells))]}
    store.tallies.load(sums, {THEME: TALLY}, {KEY: "flightdeck"}, replace=True)
    assert volume(store) == Volume(6, 4)
    other = fresh_target()
    copy_store(target, other, lambda *_: None)
    with contextlib.closing(Store(other)) as copied:
        assert volume(copied) == Volume(6, 4)
