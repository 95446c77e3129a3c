from __future__ import annotations

import contextlib
import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator import Store
from deniable_aggregator.keeping import fold
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.store import Sender, StoreUnavailableError, TallyKey
from deniable_shared import registry, wire
from tests.aggregator.service import REGISTRY, SPECS, TODAY, serving, upload
from tests.aggregator.stored import TALLY, add_key, rows
from tests.waiting import wait_until

THEME = SPECS["theme"].digest
SENDER = Sender("flightdeck", "cafe")


@contextlib.contextmanager
def opened(target):
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), TODAY)
        if store.keys.find(SENDER.key_id) is None:
            add_key(store, SENDER.key_id)
        yield store, fold.InboxFold(store, MetricCatalog(store))


def send(store, payload, epoch=TODAY):
    store.inbox.append([wire.decode(upload(payload, epoch=epoch))], [SENDER])


def counted(store, epoch=TODAY):
    return store.tallies.total(TALLY, epoch, epoch).cells.tolist()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    reports=st.lists(st.integers(0, 2), min_size=1, max_size=40),
    data=st.data(),
)
def test_any_partition_into_uploads_groups_and_folds_gives_the_same_tally(folding, reports, data):
    store, inbox_fold, unused_days = folding
    epoch = next(unused_days)
    rest = list(reports)
    while rest:
        group = []
        for _ in range(data.draw(st.integers(1, 3), label="uploads")):
            size = data.draw(st.integers(1, 5), label="reports")
            if rest:
                group.append(wire.decode(upload(bytes(rest[:size]), epoch=epoch)))
                rest = rest[size:]
        store.inbox.append(group, [SENDER] * len(group))
        if data.draw(st.booleans(), label="fold"):
            inbox_fold.fold(seconds=60)
    inbox_fold.fold(seconds=60)
    expected = Counter(reports)
    assert counted(store, epoch) == [expected[item] for item in range(3)]


@pytest.fixture
def folding(target):
    """A store for all examples, since to make one takes long; every example has its own day."""
    with opened(target) as (store, inbox_fold):
        yield store, inbox_fold, itertools.count(TODAY)


def test_a_fold_empties_the_inbox_and_a_second_one_changes_nothing(target):
    with opened(target) as (store, inbox_fold):
        for epoch in (TODAY, TODAY - 1):
            send(store, b"\x00\x01", epoch)
        for _ in range(2):
            inbox_fold.fold(seconds=60)
            assert counted(store) == counted(store, TODAY - 1) == [1, 1, 0]
            assert store.inbox.size([THEME]) == (0, 0)


def test_a_backlog_of_many_batches_is_counted_whole(target, monkeypatch):
    monkeypatch.setattr(fold, "BATCH_BYTES", 64)
    monkeypatch.setattr(fold, "BATCH_ROWS", 7)
    with opened(target) as (store, inbox_fold):
        for size in range(1, 40):
            send(store, b"\x02" * size)
        with store.inbox.claim(max_bytes=64, max_rows=7) as batch:
            assert len(batch.rows) <= 7
        inbox_fold.fold(seconds=60)
        assert counted(store) == [0, 0, sum(range(1, 40))]


def test_a_fold_rests_after_each_batch_and_says_whether_more_wait(target, monkeypatch):
    monkeypatch.setattr(fold, "BATCH_ROWS", 1)
    now = itertools.count()
    with opened(target) as (store, _):
        waiting = fold.InboxFold(store, MetricCatalog(store), monotonic=lambda: next(now))
        rests = []

        def rest(worked):
            rests.append(worked)
            return len(rests) == 2

        for _ in range(4):
            send(store, b"\x01")
        assert waiting.fold(seconds=60, rest=rest)
        assert rests == [1, 1]
        assert counted(store) == [0, 2, 0]
        assert not waiting.fold(seconds=60, rest=rest)
        assert counted(store) == [0, 4, 0]


def seconds_to_drain(work, step=0.1):
    """How long a backlog of so many seconds of work takes, by a clock of rests and work alone."""
    now = 0.0
    for _ in range(round(work / step)):
        now += step + fold.rest_seconds(step, now)
    return now


def test_little_is_folded_in_a_quarter_of_the_time_and_much_in_hardly_more_than_it_takes():
    assert seconds_to_drain(0.5) == pytest.approx(2)
    assert seconds_to_drain(60) < 1.5 * 60
    assert seconds_to_drain(3_600) < 1.05 * 3_600
    shares = [1 / (1 + fold.rest_seconds(1, lag)) for lag in (0, 1, 10, 90)]
    assert shares == pytest.approx([0.25, 0.25, 0.5, 0.9])


def test_rows_that_two_processes_want_to_count_are_counted_once(target):
    with opened(target) as (store, inbox_fold), opened(target) as (other_store, other_fold):
        send(store, b"\x01")
        send(store, b"\x01")
        with store.inbox.claim(max_bytes=100, max_rows=1) as batch:
            other_fold.fold(seconds=60)
            # Either the row was locked, and is this one's to count, or it is gone.
            mine = {TallyKey(THEME, TODAY, SENDER.key_id): (TALLY, batch.rows)}
            was_mine = batch.move_to_tallies(mine)
        assert was_mine == store._database.locks_rows
        assert counted(store) == ([0, 1, 0] if was_mine else [0, 2, 0])
        inbox_fold.fold(seconds=60)
        assert counted(store) == counted(other_store) == [0, 2, 0]


def test_a_row_that_cannot_be_counted_is_set_aside_and_blocks_nothing(service, caplog):
    add_key(service.store, SENDER.key_id)
    service.send(upload(b"\x01"))
    service.store.inbox.append([wire.decode(upload(b"\x07"))], [SENDER])  # past the check of ingest
    service.send(upload(b"\x02"))
    assert service.counts() == [0, 1, 1]
    assert service.counts() == [0, 1, 1]
    assert service.status()["inbox"] == {"rows": 0, "bytes": 0, "rows_set_aside": 1}
    assert "set aside" in caplog.text


def test_rows_of_an_unregistered_metric_are_set_aside(service):
    add_key(service.store, SENDER.key_id)
    alien = wire.Upload(bytes(16), (wire.Part(bytes(32), TODAY, b"\x01"),))
    service.store.inbox.append([alien], [SENDER])
    service.send(upload(b"\x02"))
    assert service.counts() == [0, 0, 1]
    assert service.store.inbox.count_set_aside([bytes(32)]) == 1


def test_a_metric_that_another_server_registered_a_moment_ago_is_counted(target):
    with contextlib.closing(Store(target)) as store:
        catalogue = MetricCatalog(store, monotonic=lambda: 0.0)
        add_key(store, SENDER.key_id)
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), TODAY)
        send(store, b"\x02")
        fold.InboxFold(store, catalogue).fold(seconds=60)
        assert counted(store) == [0, 0, 1]


def test_a_fold_that_fails_loses_nothing(target, monkeypatch):
    with opened(target) as (store, inbox_fold):
        send(store, b"\x00\x01\x02")
        with monkeypatch.context() as patch:
            patch.setattr(
                "deniable_aggregator.keeping.store.batch.insert_parts",
                lambda *_: (_ for _ in ()).throw(StoreUnavailableError("full")),
            )
            with pytest.raises(StoreUnavailableError):
                inbox_fold.fold(seconds=60)
        assert counted(store) == [0, 0, 0]
        inbox_fold.fold(seconds=60)
        assert counted(store) == [1, 1, 1]


def test_the_server_folds_and_closes_epochs_by_itself(target):
    with serving(target, fold_seconds=0.01) as service:
        service.register()
        retried = upload(b"\x01", epoch=TODAY)
        assert service.send(retried).status_code == 204
        wait_until(lambda: service.status()["inbox"]["rows"] == 0)
        assert counted(service.store) == [0, 1, 0]
        service.clock.epoch = TODAY + 15
        wait_until(lambda: rows(service.store, "SELECT count(*) FROM seen") == [(0,)])
        service.clock.epoch = TODAY  # a clock that is set back does not open a day again
        assert service.send(retried).get_json()["code"] == "epoch_closed"
        assert service.send(upload(b"\x01", epoch=TODAY)).get_json()["code"] == "epoch_closed"
        assert service.send(upload(b"\x01", epoch=TODAY + 1)).status_code == 204
        wait_until(lambda: service.status()["inbox"]["rows"] == 0)
        assert counted(service.store) == [0, 1, 0]
