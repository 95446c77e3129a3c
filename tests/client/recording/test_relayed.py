"""What goes through a relay is dated and sent by periods, so that many reports look alike."""

from __future__ import annotations

import pytest

from deniable import Outcome
from deniable_shared import wire
from deniable_shared.periods import period
from tests.client.conftest import DAY, NOON, pending_reports
from tests.client.relayed import relayed
from tests.client.transport.test_relay import Sealing
from tests.client.transports import Accepting

TODAY = NOON // DAY
HOUR = 3_600


@pytest.fixture
def device(make_client, clock):
    def make(registry=None, **options):
        options.setdefault("transport", Sealing())
        return make_client(registry=registry or relayed(), clock=clock, **options)

    return make


def last_day(every, day):
    """The last day of a period, found from the calendar."""
    end = day
    while period(every, end + 1) == period(every, day):
        end += 1
    return end


@pytest.mark.parametrize("delay", [0.0, 60.0, 30.0 * DAY])
@pytest.mark.parametrize("name", ["theme", "late", "size", "first", "crash", "kept"])
def test_a_report_has_the_last_day_of_its_period_and_leaves_12_to_36_hours_after(
    device, name, delay
):
    registry = relayed()
    client = device(registry, upload_delay_seconds=delay)
    metric = registry.metrics[name]
    value = metric.spec.values[0] if metric.spec.type == "category" else True
    assert client.record(name, value) is Outcome.RECORDED
    (report,) = [each for each in pending_reports(client) if each.digest == metric.spec.digest]
    every = "week" if metric.spec.every == "once" else metric.spec.every
    assert report.epoch == last_day(every, TODAY)
    over = (report.epoch + 1) * DAY
    assert over + 12 * HOUR <= report.due <= over + 36 * HOUR


def test_due_times_are_spread_over_the_whole_day(device, clock):
    client = device(upload_delay_seconds=0.0)
    offsets = []
    for _ in range(60):
        client.record("theme", "dark")
        clock.forward(days=1)
    for each in pending_reports(client):
        offsets.append((each.due - (each.epoch + 1) * DAY) / HOUR - 12)
    assert len(offsets) > 60
    assert min(offsets) < 4
    assert max(offsets) > 20


def test_no_metric_without_a_relay_is_dated_otherwise(make_client, registry):
    client = make_client(registry=registry, transport=Accepting())
    client.record("late", True)
    (report,) = pending_reports(client)
    assert report.epoch == TODAY
    assert report.due <= NOON + DAY


def test_a_flush_leaves_reports_until_twelve_hours_after_their_period(device, clock):
    transport = Sealing()
    client = device(transport=transport)
    client.record("theme", "dark")
    for hours in (6, 12, 23):
        clock.now = NOON + hours * HOUR
        client.flush()
        assert transport.bodies == []
    clock.now = (TODAY + 1) * DAY + 12 * HOUR
    client.flush()
    days = {part.epoch for body in transport.bodies for part in wire.decode(body).parts}
    assert days == {TODAY}


def test_a_clock_that_is_hours_ahead_sends_nothing_before_the_close(device, clock):
    # The close of the relay's week is at its midnight; this device's clock is 11 hours ahead.
    transport = Sealing()
    client = device(transport=transport)
    client.record("late", True)
    week_is_over = (last_day("week", TODAY) + 1) * DAY
    clock.now = week_is_over + 11 * HOUR
    client.flush()
    assert [
        part
        for body in transport.bodies
        for part in wire.decode(body).parts
        if part.digest == relayed().metrics["late"].spec.digest
    ] == []


@pytest.mark.parametrize(("days", "sent"), [(6, True), (7, True), (8, False)])
def test_what_is_taken_through_a_relay_alone_is_dropped_a_week_after_its_period(
    device, clock, days, sent
):
    transport, registry = Sealing(), relayed()
    client = device(registry, transport=transport)
    for name, value in (("late", True), ("theme", "dark")):
        client.record(name, value)
    left = client.status().epsilon_left_lifetime
    client.close()
    clock.now = (last_day("week", TODAY) + days) * DAY + DAY // 2
    client = device(registry, transport=transport, another_process=True)
    client.flush()
    versions = {part.digest for body in transport.bodies for part in wire.decode(body).parts}
    assert (registry.metrics["late"].spec.digest in versions) is sent
    assert client.status().dropped.get("too_late", 0) >= (not sent)
    assert registry.metrics["theme"].spec.digest in versions  # direct reports are taken, too
    assert client.status().epsilon_left_lifetime <= left


def lives_of(device, clock, value, days):
    """What leaves a device that was off for some days, and what is left of its budget."""
    transport, registry = Sealing(), relayed()
    clock.now = NOON
    folder = {"directory": device.folder / f"{value}-{days}"}
    client = device.make(registry, transport=transport, **folder)
    if value is not None:
        client.record("crash", value)
    client.close()
    clock.forward(days=days)
    client = device.make(registry, transport=transport, another_process=True, **folder)
    client.flush()
    digest = registry.metrics["crash"].spec.digest
    parts = [part for body in transport.bodies for part in wire.decode(body).parts]
    status = client.status()
    sent = sorted((part.epoch, len(part.payload)) for part in parts if part.digest == digest)
    left = status.epsilon_left_today, status.epsilon_left_lifetime
    client.close()
    return sent, left


@pytest.mark.parametrize("days", [1, 2, 6, 7, 8, 9, 30])
def test_neither_reports_nor_budget_tell_whether_there_was_a_value(device, clock, tmp_path, days):
    class Devices:
        make = staticmethod(device)
        folder = tmp_path

    lives = [lives_of(Devices, clock, value, days) for value in (None, "startup", "export")]
    assert lives[0] == lives[1] == lives[2]
    sent, _ = lives[0]
    assert [epoch for epoch, _ in sent] == ([TODAY] if days <= 7 else [])


def test_overdue_reports_of_a_relay_do_not_leave_together_though_the_delay_is_0(device, clock):
    transport = Sealing()
    client = device(transport=transport, upload_delay_seconds=0.0)
    client.record("theme", "dark")
    client.record("kept", True)
    clock.forward(days=3)
    rounds = client._uploader._rounds
    client._recorder.prepare()
    client._storage.seal()
    first = client._storage.run_locked(rounds.next_due_report, clock(), False)
    assert first is not None
    others = [each for each in pending_reports(client) if each.upload_id != first.upload_id]
    assert others
    assert any(each.due > clock() for each in others)
