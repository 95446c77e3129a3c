from __future__ import annotations

import contextlib
from unittest import mock

import pytest

from deniable_aggregator import Store
from deniable_aggregator.answering.maintenance import BUSY_LOOKS, Maintenance
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import GuardedClock
from deniable_aggregator.keeping.store import BeingReadError, Outcome, StoreUnavailableError, batch
from tests.aggregator.service import TODAY, Clock
from tests.aggregator.stored import TALLY, THEME, append, counted, decoded, fold, register, rows

ACCEPT_DAYS = 3


@pytest.fixture
def store(target):
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        yield opened


@pytest.fixture
def clock():
    return Clock()


def maintenance(store, clock, retain_days=None):
    checked = GuardedClock(store, clock, monotonic=clock)
    return Maintenance(
        store,
        accept_days=ACCEPT_DAYS,
        retain_days=retain_days,
        clock=checked,
        catalogue=MetricCatalog(store),
    )


def parts(store):
    return rows(store, "SELECT count(*) FROM tallies")[0][0]


def apart(store, days=(TODAY,)):
    """Reports of three folds, none of which was worth a merge."""
    with mock.patch.object(batch, "worth_merging", return_value=[]):
        for _ in range(3):
            append(store, [decoded(b"\x02", epoch=day) for day in days])
            fold(store)


def test_a_day_is_closed_when_it_is_too_old_and_stays_closed(store, clock):
    upload = decoded(b"\x01")
    append(store, [upload])
    maintaining = maintenance(store, clock)
    clock.epoch = TODAY + ACCEPT_DAYS
    maintaining.run()
    assert append(store, [upload]) == [Outcome.DUPLICATE]
    clock.epoch += 1
    maintaining.run()
    assert rows(store, "SELECT count(*) FROM seen") == [(0,)]
    clock.epoch = TODAY
    maintenance(store, clock).run()
    assert append(store, [upload]) == [Outcome.CLOSED]


def test_a_closing_that_failed_is_done_again(store, clock, monkeypatch):
    append(store, [decoded(b"\x01")])
    maintaining = maintenance(store, clock)
    clock.epoch += ACCEPT_DAYS + 1

    def fail():
        raise StoreUnavailableError("somebody reads")

    with monkeypatch.context() as patch:
        patch.setattr(store._database, "purge", fail)
        with pytest.raises(StoreUnavailableError):
            maintaining.run()
    called = []
    monkeypatch.setattr(store._database, "purge", lambda: called.append(True))
    maintaining.run()
    maintaining.run()
    assert called == [True]


def test_readers_that_keep_bytes_in_the_log_are_no_failure_unless_they_stay(
    store, clock, monkeypatch, caplog
):
    append(store, [decoded(b"\x01")])
    maintaining = maintenance(store, clock)
    clock.epoch += ACCEPT_DAYS + 1

    def kept():
        raise BeingReadError

    monkeypatch.setattr(store._database, "purge", kept)
    for looks in range(1, BUSY_LOOKS + 1):
        assert (maintaining.failures["close"], bool(caplog.text)) == (0, False), looks
        with pytest.raises(BeingReadError):
            maintaining.run()
    assert maintaining.failures["close"] == 1
    assert "closing days failed and will be tried again: deleted ids stay" in caplog.text


def test_a_closed_day_is_one_part(store, clock):
    apart(store)
    assert parts(store) == 3
    maintaining = maintenance(store, clock)
    clock.epoch += ACCEPT_DAYS + 1
    maintaining.run()
    assert parts(store) == 1
    assert counted(store) == [0, 0, 3]
    assert store.tallies.settler(lambda _: None).unsettled_days(clock.epoch) == []


@pytest.mark.parametrize("retain_days", [None, 10, 0])
def test_tallies_are_kept_for_as_long_as_configured_and_never_shorter_than_open(
    store, clock, retain_days
):
    append(store, [decoded(b"\x01", epoch=TODAY - day) for day in range(20)])
    fold(store)
    maintenance(store, clock, retain_days).run()
    kept = {None: 20, 10: 11, 0: ACCEPT_DAYS + 1}[retain_days]
    assert store.tallies.reports([TALLY]) == {THEME: kept}


def test_upkeep_stops_when_it_is_told_to(store, clock):
    apart(store)
    maintaining = maintenance(store, clock, retain_days=0)
    clock.epoch += ACCEPT_DAYS + 1
    maintaining.run(stopped=lambda: True)
    assert parts(store) == 3
    maintaining.run()
    assert parts(store) == 0


def test_what_fails_keeps_no_other_duty_from_being_done(store, clock, monkeypatch, caplog):
    apart(store, [TODAY, TODAY - 1])
    maintaining = maintenance(store, clock, retain_days=ACCEPT_DAYS + 1)
    clock.epoch += ACCEPT_DAYS + 1

    def fail(*_):
        raise StoreUnavailableError("somebody reads")

    with monkeypatch.context() as patch:
        patch.setattr(store.inbox, "close_epochs", fail)
        with pytest.raises(StoreUnavailableError):
            maintaining.run()
    assert store.tallies.reports([TALLY]) == {THEME: 3}
    assert (maintaining.failures["close"], maintaining.failures["compact"]) == (1, 0)
    assert "closing days failed and will be tried again: somebody reads" in caplog.text
    maintaining.run()
    assert parts(store) == 1
    assert append(store, [decoded()]) == [Outcome.CLOSED]
