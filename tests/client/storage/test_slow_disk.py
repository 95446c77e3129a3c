"""A disk that takes long, and a process that sits on the lock: `record` waits for neither."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from deniable import Outcome
from deniable._platform import files
from deniable._recording import waiting
from deniable._storage import device
from deniable_shared.periods import epoch_at
from tests.client.conftest import REGISTRY, pending_reports
from tests.client.programs import contents
from tests.client.storage.test_busy import held
from tests.client.transports import Accepting

SLACK_SECONDS = 0.25
"""A busy machine may add as much to the 50 ms that are waited for at most."""

WAIT_SECONDS = 0.05


@pytest.fixture(autouse=True)
def _as_it_is(monkeypatch):
    monkeypatch.setattr(device, "RECORD_WAIT_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr(device, "_LOCK_WAIT_SECONDS", 1.0)


SLOW = """
import os, sys, threading, time
import deniable
from deniable._storage import spool
spool.MAX_AGE_DAYS = 10**9
delay, fsync = float(sys.argv[3]), os.fsync
def slow(file):
    time.sleep(delay)
    fsync(file)
os.fsync = slow
class Server:
    bodies = set()
    def send(self, body, timeout_seconds):
        self.bodies.add(body)
        return deniable.Response(204)
    def close(self):
        pass
class Clock:
    now = 1.7e9
    def __call__(self):
        return Clock.now
client = deniable.Client(
    sys.argv[1], directory=sys.argv[2], consent=True, transport=Server(), clock=Clock(),
    upload_delay_seconds=0.0,
)
longest, made, end = 0.0, 0, time.monotonic() + max(1.0, 12 * delay)
outcomes = set()
while time.monotonic() < end:
    Clock.now += 86400
    for name, value in (("theme", "dark"), ("late", True)):
        began = time.perf_counter()
        outcome = client.record(name, value)
        longest = max(longest, time.perf_counter() - began)
        outcomes.add(str(outcome))
        made += outcome in ("recorded", "waiting")
    time.sleep(0.01)
while client.flush(timeout_seconds=60.0).pending or client._storage.waiting:
    pass
client.close()
print(longest, made, len(Server.bodies), sum(client.status().dropped.values()), *sorted(outcomes))
"""


@pytest.mark.service
@pytest.mark.parametrize("delay", [0.01, 0.1, 0.3])
def test_record_does_not_wait_for_a_slow_disk_and_loses_nothing(plenty, directory, delay):
    done = subprocess.run(
        [sys.executable, "-c", SLOW, plenty, directory, str(delay)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    longest, made, arrived, dropped, *outcomes = done.stdout.split()
    assert float(longest) < WAIT_SECONDS + SLACK_SECONDS
    assert {*outcomes} <= {"recorded", "waiting"}
    assert int(made) == int(arrived) + int(dropped) > 20
    assert int(dropped) == 0


@pytest.mark.service
def test_after_one_vain_wait_nothing_waits_until_the_lock_is_free(make_client, directory, clock):
    client = make_client(clock=clock)
    assert client.record("theme", "dark") is Outcome.RECORDED
    with held(directory):
        clock.forward(days=1)
        began = time.monotonic()
        for name, value in (("theme", "dark"), ("late", True), ("emoji", "x"), ("city", "Bergen")):
            assert client.record(name, value) is Outcome.WAITING
        assert time.monotonic() - began < WAIT_SECONDS + SLACK_SECONDS
        assert client.record("theme", "dark") is Outcome.ALREADY_REPORTED  # its period is taken
        assert contents(directory).spool.count() == 1
    clock.forward(days=1)
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert not client._storage.waiting
    assert contents(directory).spool.count() == 6
    assert client.status().epsilon_left_lifetime == pytest.approx(34.0, abs=1e-6)


@pytest.mark.service
def test_a_frozen_process_keeps_nobody_from_recording(make_client, plenty, command):
    sits = "client._storage.run_locked(lambda: (say('inside'), time.sleep(60)))"
    with subprocess.Popen(command(sits), stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        client = make_client(registry=plenty)
        began = time.monotonic()
        assert client.record("theme", "dark") is Outcome.WAITING
        assert client.record("late", value=True) is Outcome.WAITING
        assert time.monotonic() - began < WAIT_SECONDS + SLACK_SECONDS
        process.kill()
        process.stdout.close()
    assert client.flush().pending == 2


@pytest.mark.service
def test_an_event_loop_goes_on_while_others_hold_the_lock(make_client, directory, clock):
    client = make_client(clock=clock)
    client.record("theme", "dark")

    async def serve():
        ticks, gaps = time.monotonic(), []
        for _ in range(20):
            clock.forward(days=1)
            client.record("theme", "dark")
            await asyncio.sleep(0)
            now = time.monotonic()
            gaps.append(now - ticks)
            ticks = now
        return sorted(gaps)

    with held(directory):
        gaps = asyncio.run(serve())
    assert gaps[-1] < WAIT_SECONDS + SLACK_SECONDS
    assert gaps[-2] < SLACK_SECONDS


@contextlib.contextmanager
def busy(storage):
    """Another thread is in the storage."""
    inside, leave = threading.Event(), threading.Event()

    def sit():
        inside.set()
        leave.wait(30)

    thread = threading.Thread(target=storage.run_locked, args=(sit,))
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_only_the_randomized_report_waits(make_client, clock):
    client = make_client(clock=clock)
    client.record("theme", "dark")
    with busy(client._storage):
        assert client.record("emoji", "a very private word") is Outcome.WAITING
        (kept,) = client._storage.waiting
        assert "private" not in repr(kept)
        assert kept.payload
    client.flush()
    digest = kept.plan.spec.digest
    (report,) = [each for each in pending_reports(client) if each.digest == digest]
    assert (report.payload, report.upload_id) == (kept.payload, kept.upload_id)


@pytest.mark.service
def test_a_memoised_metric_waits_only_if_the_secret_is_known(make_client, clock, directory):
    make_client(clock=clock).record("theme", "dark")
    client = make_client(clock=clock, another_process=True, consent=False)
    client._agreed = client._consent.grant()
    with held(directory):  # before this client has read anything
        assert client.record("city", "Bergen") is Outcome.STORAGE_UNAVAILABLE
        assert client.record("emoji", "x") is Outcome.WAITING
    assert client.record("city", "Bergen") is Outcome.RECORDED


def test_the_debit_decides_later_whether_a_waiting_report_stays(make_client, clock):
    client = make_client(clock=clock)
    client.record("late", value=True)
    other = make_client(clock=clock, another_process=True)
    with busy(client._storage):
        assert client.record("theme", "dark") is Outcome.WAITING
    assert other.record("theme", "light") is Outcome.RECORDED
    assert client.record("emoji", "x") is Outcome.RECORDED
    assert client.status().dropped == {"not_written": 1}
    assert client.status().pending == 3
    assert client.status().epsilon_left_lifetime == pytest.approx(37.0, abs=1e-6)


@pytest.mark.service
@pytest.mark.parametrize("act", ["withdraw", "forget", "fork", "close"])
def test_what_empties_the_memory(make_client, clock, directory, act):
    client = make_client(clock=clock)
    client.record("theme", "dark")
    with busy(client._storage):
        assert client.record("emoji", "x") is Outcome.WAITING
        if act == "withdraw":
            client._consent.withdraw()
            assert client.status().dropped == {"consent_withdrawn": 1}
        elif act == "fork":
            child = os.fork()
            if child == 0:
                os._exit(len(client._storage.waiting))
            assert os.waitpid(child, 0)[1] == 0
            assert len(client._storage.waiting) == 1
            return
    if act == "forget":
        assert client.forget() == 2
    client.close()
    assert not client._storage.waiting
    assert contents(directory).spool.count() == (2 if act == "close" else 0)


def test_the_memory_is_bounded(make_client, clock):
    client = make_client(clock=clock)
    client.record("theme", "dark")
    outcomes = []
    with busy(client._storage):
        for _ in range(waiting.MAX_WAITING + 5):
            clock.forward(days=1)
            outcomes.append(client.record("theme", "dark"))
        assert len(client._storage.waiting) == waiting.MAX_WAITING
    assert outcomes == ["waiting"] * waiting.MAX_WAITING + ["storage_unavailable"] * 5


def test_absence_is_reported_before_a_value_that_waited(make_client, clock, registry):
    """Otherwise a busy lock would take a report exactly if there was a value a day later."""
    registry.write_text(
        REGISTRY + '[metrics.crash]\ntype = "category"\nvalues = ["startup"]\n'
        'absent = "none"\nepsilon = 1.0\n',
        encoding="utf-8",
    )
    client = make_client(clock=clock)
    assert client.record("theme", "dark") is Outcome.RECORDED  # enrols
    clock.forward(days=1)
    with busy(client._storage):
        assert client.record("crash", "startup") is Outcome.WAITING
    client.flush()
    days = [each.epoch for each in pending_reports(client)]
    today = int(clock.now // 86_400)
    assert sorted(days)[-2:] == [today - 1, today]


def syncs(monkeypatch):
    """A list that grows with each wait for the disk."""
    seen, sync = [], files.sync

    def watched(file):
        seen.append(file)
        sync(file)

    monkeypatch.setattr(files, "sync", watched)
    return seen


def test_a_round_waits_for_the_disk_as_often_for_many_reports_as_for_one(
    make_client, plenty, clock, monkeypatch
):
    client = make_client(registry=plenty, clock=clock, transport=Accepting())
    client.record("theme", "dark")
    client.flush()
    counts = []
    for days in (1, 50):
        for _ in range(days):
            clock.forward(days=1)
            assert client.record("theme", "dark") is Outcome.RECORDED
        with monkeypatch.context() as patch:
            seen = syncs(patch)
            assert client.flush().sent == days
            counts.append(len(seen))
    assert counts == [7, 7]
    with monkeypatch.context() as patch:
        seen = syncs(patch)
        client.flush()
        assert len(seen) <= 3


@pytest.mark.service
def test_what_waited_for_days_is_no_clock_that_went_back(make_client, directory, clock):
    """Another process has begun a later day meanwhile; its reports stay, and its day goes on."""
    client, other = make_client(), make_client(another_process=True)
    assert client.record("theme", "dark") is Outcome.RECORDED
    with held(directory):
        for _ in range(2):
            clock.forward(days=2)
            assert client.record("theme", "dark") is Outcome.WAITING
    clock.forward(days=3)
    assert other.record("late", value=True) is Outcome.RECORDED
    assert client.flush().pending == 4
    assert other.record("theme", "dark") is Outcome.RECORDED


@pytest.mark.service
def test_what_waits_from_a_clock_that_was_ahead_is_given_up(make_client, directory, clock):
    client = make_client()
    assert client.record("theme", "dark") is Outcome.RECORDED
    with held(directory):
        clock.forward(days=400)
        assert client.record("theme", "dark") is Outcome.WAITING
    clock.forward(days=-399)
    assert client.record("late", value=True) is Outcome.RECORDED
    assert client.status().dropped == {"not_written": 1}
    assert contents(directory).ledger.latest_day() == epoch_at(clock())
