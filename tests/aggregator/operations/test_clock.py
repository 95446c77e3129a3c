"""A clock that jumps far ahead closes and deletes nothing, and no device drops a report for it."""

from __future__ import annotations

import contextlib
import re

import pytest

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.maintenance import Maintenance
from deniable_aggregator.doors.http import status
from deniable_aggregator.doors.server.prometheus import PrometheusCollector
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.clock import CONFIRM_SECONDS, JUMP_DAYS, GuardedClock
from deniable_aggregator.keeping.store import Outcome
from deniable_shared.periods import SECONDS_PER_EPOCH
from tests.aggregator.service import NEVER_SECONDS, TODAY, Clock, Service, problem, upload
from tests.aggregator.stored import append, decoded, fold, register, rows

ACCEPT_DAYS = 3
RETAIN_DAYS = 10
FAR = 4_000
"""So many days is the clock ahead."""


class Passing:
    """A clock that nobody sets."""

    seconds = 1_000.0

    def __call__(self):
        return self.seconds

    def days(self, days):
        self.seconds += days * SECONDS_PER_EPOCH


class Server:
    """What looks after a store, with a clock that tests set and one that they cannot."""

    def __init__(self, store, day=TODAY):
        self.store = store
        self.clock, self.passing = Clock(day), Passing()
        self.checked = GuardedClock(store, self.clock, self.passing)
        self.maintenance = Maintenance(
            store,
            accept_days=ACCEPT_DAYS,
            retain_days=RETAIN_DAYS,
            clock=self.checked,
            catalogue=MetricCatalog(store),
        )

    def tend(self):
        self.maintenance.run()
        return stored(self.store)

    def takes(self, day=TODAY):
        """Whether reports of a day are still accepted."""
        return append(self.store, [decoded(epoch=day)]) == [Outcome.STORED]


def stored(store):
    """How many reports are in tallies, without those that wait."""
    return rows(store, "SELECT coalesce(sum(reports), 0) FROM tallies")[0][0]


@pytest.fixture
def store(target):
    """A store with reports of today, counted."""
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        append(opened, [decoded(b"\x01")])
        fold(opened)
        yield opened


def test_a_clock_that_is_set_far_ahead_closes_and_deletes_nothing(store):
    server = Server(store)
    assert server.tend() == 1
    server.clock.epoch += FAR
    assert server.tend() == 1
    assert server.takes()
    assert server.checked.days_ahead() == FAR
    server.clock.epoch = TODAY
    assert server.tend() == 1
    assert server.checked.days_ahead() == 0


@pytest.mark.one_store
def test_a_clock_that_jumps_while_it_is_looked_at_is_not_believed(store):
    readings = iter((TODAY, TODAY))  # when the server starts, and at the beginning of a look
    clock = GuardedClock(
        store, lambda: float(next(readings, TODAY + FAR) * SECONDS_PER_EPOCH), Passing()
    )
    assert clock.day() == TODAY
    assert clock.day() == TODAY


def test_a_server_that_starts_with_a_clock_far_ahead_closes_and_deletes_nothing(store):
    server = Server(store, TODAY + FAR)
    assert server.tend() == 1
    assert server.takes()
    assert server.checked.days_ahead() == FAR


@pytest.mark.one_store
def test_days_are_closed_on_time_by_the_time_that_passes_while_the_clock_is_in_doubt(store):
    server = Server(store)
    server.tend()
    server.clock.epoch += FAR
    server.tend()
    append(store, [decoded(epoch=TODAY - 1)])
    server.passing.days(2.5)
    server.tend()
    assert server.checked.days_ahead() == FAR - 3
    assert server.takes(TODAY)
    assert not server.takes(TODAY - 1)


@pytest.mark.one_store
@pytest.mark.parametrize("ahead", [1, JUMP_DAYS])
def test_a_clock_that_is_a_little_ahead_is_believed(store, ahead):
    server = Server(store)
    server.clock.epoch += ahead
    server.tend()
    assert server.checked.days_ahead() == 0


def test_a_store_that_was_off_for_months_comes_back_with_the_first_report_of_today(store):
    server = Server(store, TODAY + 90)
    assert server.tend() == 1
    assert append(store, [decoded(epoch=TODAY + 90)]) == [Outcome.STORED]
    server.tend()
    assert server.checked.days_ahead() == 0
    assert stored(store) == 0
    assert append(store, [decoded(epoch=TODAY)]) == [Outcome.CLOSED]


@pytest.mark.one_store
def test_a_store_to_which_nobody_reports_any_more_comes_back_after_some_days(store):
    server = Server(store, TODAY + 90)
    server.tend()
    server.passing.seconds += CONFIRM_SECONDS - 1
    assert server.tend() == 1
    server.passing.seconds += 1
    assert server.tend() == 0
    assert server.checked.days_ahead() == 0


@pytest.mark.one_store
def test_a_report_of_a_newer_day_that_speaks_against_the_clock_keeps_it_in_doubt(store):
    server = Server(store, TODAY + FAR)
    server.tend()
    server.passing.seconds += CONFIRM_SECONDS - 1
    append(store, [decoded(epoch=TODAY + 3)])
    server.tend()
    server.passing.seconds += CONFIRM_SECONDS - 1
    assert server.tend() == 1
    assert server.checked.days_ahead() > 0


@pytest.mark.one_store
def test_years_of_running_are_believed_day_by_day(store):
    server = Server(store)
    for _ in range(40):
        server.clock.epoch += 5
        server.passing.days(5)
        server.tend()
        assert server.checked.days_ahead() == 0
    assert not server.takes()


def test_a_new_store_believes_any_clock(target):
    with contextlib.closing(Store(target)) as store:
        server = Server(store, TODAY + FAR)
        server.tend()
        assert server.checked.days_ahead() == 0


@pytest.fixture
def jumped(target, monkeypatch):
    """A server whose clock jumps while it runs."""
    monkeypatch.setattr(status, "CACHE_SECONDS", 0.0)
    settings = Settings(fold_seconds=NEVER_SECONDS, accept_days=ACCEPT_DAYS, batch_reports=1)
    service = Service(target, settings, passing=Passing())
    service.register()
    assert service.send(upload(b"\x01")).status_code == 204
    service.clock.epoch += FAR
    yield service
    service.close()


@pytest.mark.one_store
def test_devices_keep_what_a_clock_in_doubt_would_refuse_as_too_old(jumped):
    refused = jumped.send(upload(b"\x02"))
    problem(refused, 503, "clock_doubted")
    assert int(refused.headers["Retry-After"]) > 0
    jumped.clock.epoch = TODAY
    assert jumped.send(upload(b"\x02")).status_code == 204
    problem(jumped.send(upload(b"\x02", epoch=TODAY - ACCEPT_DAYS - 1)), 410, "epoch_closed")
    assert jumped.counts() == [0, 1, 1]


def test_an_operator_is_told_and_reports_are_not_kept_away(jumped, caplog):
    ready = jumped.http.get("/readyz")
    assert ready.status_code == 200
    assert f"{FAR:,} days ahead" in ready.get_json()["checks"]["clock"]
    told = PrometheusCollector(jumped.running).text()
    (ahead,) = re.findall(r"(?m)^deniable_clock_ahead_seconds (\S+)$", told)
    assert float(ahead) == FAR * SECONDS_PER_EPOCH
    assert 'deniable_ready{check="clock"} 0.0' in told
    for _ in range(3):
        jumped.running.maintenance.run()
    assert caplog.text.count(f"{FAR} days ahead of the newest report") == 1
    assert jumped.send(upload(b"\x01", epoch=TODAY + FAR)).status_code == 204
    jumped.running.maintenance.run()
    assert jumped.http.get("/readyz").get_json()["checks"]["clock"] == "ok"
