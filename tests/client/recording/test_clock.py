"""A device's clock may be wrong: what is then recorded, sent, lost and silent."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import deniable
from deniable import _clock
from deniable._clock import DOUBT_SECONDS, EARLIEST_DAY, LATEST_DAY, DeviceClock
from deniable._platform.clocks import clock_counting_sleep
from deniable._status import Outcome
from deniable.testing import InMemoryTransport
from deniable_shared.periods import epoch_at
from tests.client.conftest import DAY, Clock

REGISTRY = b"""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
[metrics.first]
type = "boolean"
epsilon = 1.0
every = "once"
[metrics.monthly]
type = "boolean"
epsilon = 1.0
every = "month"
[metrics.kept]
type = "boolean"
epsilon = 0.5
repeat = "memoize"
every = "day"
epsilon_permanent = 1.0
"""
VALUES = {"theme": "dark", "first": True, "monthly": True, "kept": True}
NOW = 20_800 * DAY + DAY // 2
YEARS = 3_400  # in days
JULY = 20_635 * DAY


class Device:
    """A client of one directory with a clock of the test; it can be started again."""

    def __init__(self, directory, clock):
        self.directory, self.clock, self.transport = directory, clock, InMemoryTransport()
        self.start()

    def start(self):
        self.client = deniable.Client(
            REGISTRY,
            directory=self.directory,
            consent=True,
            transport=self.transport,
            background=False,
            clock=self.clock,
        )

    def restart(self):
        self.client.close()
        self.start()

    def record(self, *metrics):
        return [str(self.client.record(metric, VALUES[metric])) for metric in metrics or VALUES]


@pytest.fixture
def device(directory, clock):
    made = Device(directory, clock)
    yield made
    made.client.close()


class Elapsed(Clock):
    """A clock that counts sleep."""


@pytest.fixture
def elapsed():
    return Elapsed(5_000.0)


@pytest.fixture
def system_device(directory, clock, elapsed, monkeypatch):
    """A device whose clock is the system's, and so is not always believed."""
    monkeypatch.setattr(
        _clock, "device_clock", lambda given: DeviceClock(given, elapsed, believed=False)
    )
    made = Device(directory, clock)
    yield made
    made.client.close()


@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_was_once_years_ahead_costs_two_days_and_no_more(device, clock, restarted):
    assert device.record() == ["recorded"] * 4
    clock.forward(days=YEARS)
    assert device.record() == ["recorded", "already_reported", "recorded", "recorded"]
    clock.forward(days=1 - YEARS)
    for _ in range(2):
        if restarted:
            device.restart()
        assert device.record("theme", "kept") == ["already_reported"] * 2
        clock.forward(days=1)
    assert device.record("theme", "first", "kept") == ["recorded", "already_reported", "recorded"]
    clock.forward(days=31)
    assert device.record("theme", "monthly", "kept") == ["recorded"] * 3


def test_two_clocks_that_were_wrong_cost_no_more_than_one(device, clock):
    clock.forward(days=YEARS)
    device.record()
    clock.forward(days=2 * YEARS)
    device.record()
    clock.forward(days=-3 * YEARS)
    device.record()
    clock.forward(days=1)
    device.record()
    clock.forward(days=1)
    assert device.record("theme", "kept") == ["recorded"] * 2


def test_on_the_silent_day_the_budget_counts_as_spent(device, clock):
    clock.forward(days=YEARS)
    device.record("theme")
    clock.forward(days=-YEARS)
    assert device.client.status().epsilon_left_today == pytest.approx(3.0)
    device.record("theme")
    clock.forward(days=1)
    assert device.record("theme", "first") == ["already_reported", "over_budget"]
    status = device.client.status()
    assert (status.epsilon_left_today, status.epsilon_left_lifetime) == (0, pytest.approx(39.0))
    assert device.client.disclosure().problem is None
    clock.forward(days=1)
    assert device.record("theme", "first") == ["recorded"] * 2


def test_waiting_reports_of_days_that_lie_ahead_are_dropped_and_stay_paid(device, clock):
    clock.forward(days=YEARS)
    device.record("theme")
    clock.forward(days=-YEARS)
    device.record("monthly")
    assert device.client.status().pending == 2
    clock.forward(days=1)
    device.record("theme")
    status = device.client.status()
    assert (status.pending, dict(status.dropped)) == (1, {"clock_ahead": 1})
    assert status.epsilon_left_lifetime == pytest.approx(38.0)
    device.client.flush()
    assert [report.epoch for report in device.transport.reports] == [epoch_at(clock()) - 1]


def test_a_device_that_counts_absence_goes_on_after_a_clock_that_was_ahead(directory, clock):
    registry = REGISTRY.replace(b"complete", b'absent = "none"\ncomplete', 1)
    transport = InMemoryTransport()
    with deniable.Client(
        registry,
        directory=directory,
        consent=True,
        transport=transport,
        background=False,
        clock=clock,
    ) as client:
        client.record("theme", "dark")
        clock.forward(days=YEARS)
        client.record("monthly", True)
        clock.forward(days=-YEARS)
        for _ in range(5):
            clock.forward(days=1)
            client.record("kept", True)
        client.flush()
        digest = client._registry.metrics["theme"].spec.digest
        days = sorted(each.epoch for each in transport.reports if each.digest == digest)
        # The silent day is the second one; on the fifth, its absence is not over yet.
        assert days == [20_800, 20_803, 20_804]


@pytest.mark.parametrize(
    "wrong",
    [3_600.0, JULY, EARLIEST_DAY * DAY - 1, LATEST_DAY * DAY, 1e12 * 1.8, -1.0],
)
def test_a_clock_that_is_certainly_wrong_spends_and_stores_nothing(system_device, clock, wrong):
    clock.now = wrong
    system_device.restart()
    assert system_device.record() == ["clock_wrong"] * 4
    assert list(system_device.directory.glob("*")) == []
    status = system_device.client.status()
    assert status.last_error.startswith("clock_wrong: ")
    assert status.outcomes == {"clock_wrong": 4}
    assert system_device.client.flush().problem == status.last_error


def test_once_survives_a_start_in_1970(system_device, clock):
    clock.now = 30.0
    system_device.restart()
    assert system_device.record("first") == ["clock_wrong"]
    system_device.client.flush()
    clock.now = NOW
    system_device.restart()
    assert system_device.record("first") == ["recorded"]
    assert system_device.client.status().last_error is None
    system_device.client.flush()
    assert [report.epoch for report in system_device.transport.reports] == [20_800]


def test_the_constant_is_a_day_of_the_past_and_holds_for_20_years():
    assert epoch_at(time.time()) >= EARLIEST_DAY
    assert LATEST_DAY - EARLIEST_DAY == 20 * 365 + 5


def test_a_clock_given_by_a_test_is_believed_whatever_it_says(device, clock):
    clock.now = 3_600.0
    assert device.record("theme") == ["recorded"]


def test_after_a_jump_nothing_is_recorded_or_sent_until_a_second_look(
    system_device, clock, elapsed
):
    assert system_device.record("theme") == ["recorded"]
    clock.forward(days=2)
    assert system_device.record("theme") == ["clock_wrong"]
    assert system_device.client.flush().problem.startswith("clock_wrong: ")
    assert system_device.transport.reports == []
    for clock_ in (clock, elapsed):
        clock_.now += DOUBT_SECONDS / 2
    assert system_device.record("theme") == ["clock_wrong"]
    for clock_ in (clock, elapsed):
        clock_.now += DOUBT_SECONDS / 2
    assert system_device.record("theme") == ["recorded"]
    assert system_device.client.status().last_error is None
    assert system_device.client.flush().sent == 2


def test_a_process_that_saw_the_clock_go_back_loses_one_day(system_device, clock, elapsed):
    clock.forward(days=YEARS)
    system_device.restart()
    assert system_device.record("theme") == ["recorded"]
    clock.forward(days=-YEARS)
    assert system_device.record("theme") == ["clock_wrong"]
    clock.now, elapsed.now = clock.now + DOUBT_SECONDS, elapsed.now + DOUBT_SECONDS
    assert system_device.record("theme", "first") == ["already_reported", "over_budget"]
    clock.forward(days=1)
    elapsed.now += DAY
    assert system_device.record("theme", "first") == ["recorded"] * 2


def test_a_jump_there_and_back_changes_nothing(system_device, clock):
    assert system_device.record("theme") == ["recorded"]
    clock.forward(days=YEARS)
    assert system_device.record("first", "monthly") == ["clock_wrong"] * 2
    clock.forward(days=-YEARS)
    assert system_device.record() == ["already_reported"] + ["recorded"] * 3


def test_a_second_jump_begins_the_minute_anew(system_device, clock, elapsed):
    system_device.record("theme")
    clock.forward(days=3)
    assert system_device.record("theme") == ["clock_wrong"]
    clock.forward(days=3)
    elapsed.now += DOUBT_SECONDS
    assert system_device.record("theme") == ["clock_wrong"]
    clock.now, elapsed.now = clock.now + DOUBT_SECONDS, elapsed.now + DOUBT_SECONDS
    assert system_device.record("theme") == ["recorded"]


def test_sleep_and_slow_corrections_are_no_jump(system_device, clock, elapsed):
    for _ in range(5):
        assert system_device.record("theme") == ["recorded"]
        clock.forward(days=3)
        elapsed.now += 3 * DAY - 1_800  # half an hour each time


def test_a_clock_in_doubt_drops_no_report_for_its_age(system_device, clock):
    system_device.record("kept")  # memoised, so dropped after 14 days
    clock.forward(days=20)
    system_device.client.flush()
    assert system_device.client.status().pending == 1
    clock.forward(days=-20)
    assert system_device.client.flush().sent == 1


def test_consent_can_be_refused_whatever_the_clock_says(directory, clock, monkeypatch):
    monkeypatch.setattr(
        _clock, "device_clock", lambda given: DeviceClock(given, None, believed=False)
    )
    options = {"directory": directory, "transport": InMemoryTransport(), "clock": clock}
    with deniable.Client(REGISTRY, remember_consent=True, **options) as client:
        client.consent = True
        client.record("theme", "dark")
        clock.now = 1e15
        client.consent = False
    with deniable.Client(REGISTRY, remember_consent=True, **options) as client:
        assert client.remembered_consent.agreed is False
        assert client.status().pending == 0


def test_without_a_clock_that_counts_sleep_no_jump_is_noticed(monkeypatch):
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    assert clock_counting_sleep() is None
    now = Clock(NOW)
    device_clock = DeviceClock(now, None, believed=False)
    assert device_clock.doubt() is None
    now.forward(days=200)
    assert device_clock.doubt() is None


def test_the_clock_of_the_system_is_doubted_and_no_other():
    assert _clock.device_clock(lambda: 0.0).doubt() is None
    assert _clock.device_clock(time.time).doubt() is None


def test_a_report_of_a_day_that_lies_ahead_waits_and_nothing_else_changes(device):
    device.record("theme", "monthly")
    theme = device.client._registry.metrics["theme"].spec.digest
    sent, early = device.transport.send, True

    def send(body, timeout_seconds):
        response = sent(body, timeout_seconds)
        ahead = early and device.transport.reports[-1].digest == theme
        return response._replace(status=425 if ahead else 204)

    device.transport.send = send
    before = device.client.status().epsilon_left_lifetime
    result = device.client.flush()
    assert (result.sent, result.pending, result.dropped) == (1, 1, 0)
    assert result.problem.startswith("clock_ahead: ")
    assert device.client.status().last_error == result.problem
    assert device.client.status().epsilon_left_lifetime == before
    assert device.record("theme", "kept") == ["already_reported", "recorded"]
    early = False
    assert device.client.flush().sent == 2
    assert device.client.status().last_error is None


def test_the_client_asks_nobody_for_the_time():
    folder = Path(deniable.__file__).parent
    texts = [path.read_text("utf-8") for path in folder.rglob("*.py")]
    assert not any('"Date"' in text or "'Date'" in text for text in texts)


def test_clock_wrong_is_no_mistake_of_the_programmer(directory, clock, monkeypatch):
    monkeypatch.setattr(
        _clock, "device_clock", lambda given: DeviceClock(given, None, believed=False)
    )
    clock.now = 0.0
    with deniable.Client(
        REGISTRY,
        directory=directory,
        consent=True,
        transport=InMemoryTransport(),
        background=False,
        strict=True,
        clock=clock,
    ) as client:
        assert client.record("theme", "dark") is Outcome.CLOCK_WRONG
