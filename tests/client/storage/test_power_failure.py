"""Kills and power failures in a device's first days, at every write; any part of it may be lost.

The disk of these tests notes what is written and synced; see `tests.client.life.disk`.
"""

from __future__ import annotations

import random

import pytest

import deniable
from deniable import Outcome, Response
from deniable._storage import device
from deniable_shared import wire
from deniable_shared.registry import parse
from tests.client.conftest import NOON, REGISTRY, Clock
from tests.client.life.disk import Disk, noting
from tests.repetitions import full_or_small

FAILURES = full_or_small(6, 1)
"""How many power failures at a write, each of which loses other parts."""

STRIDE = full_or_small(1, 3)
"""After how many writes there is the next."""

VALUES = {"theme": "dark", "emoji": "x", "city": "Bergen"}
BUDGET = 40.0
STILL_FINE = {Outcome.RECORDED, Outcome.ALREADY_REPORTED}


class Notes:
    """A transport that takes everything; what has left the device cannot be lost again."""

    def __init__(self):
        self.bodies = []

    def send(self, body, timeout_seconds):  # noqa: ARG002
        self.bodies.append(body)
        return Response(204)

    def close(self):
        pass


class EveryStep(Disk):
    """Remembers what the disk holds after each step.

    Attributes:
        moments: for each step what the disk held, how many reports had left the device by then, and
            how many had been acknowledged.
        clients: those that use the device.
    """

    def __init__(self, folder, transport):
        self.moments = []
        self.clients = []
        self._transport = transport
        super().__init__(folder)

    def _step(self):
        super()._step()
        self.stop_now()
        acknowledged = sum(client._events.outcomes().get("recorded", 0) for client in self.clients)
        self.moments.append((self.stopped, len(self._transport.bodies), acknowledged))
        self.stopped = None


def begin(directory, clock, transport):
    return deniable.Client(
        parse(REGISTRY), directory=directory, consent=True, background=False, clock=clock,
        transport=transport,
    )  # fmt: skip


def record_all(client):
    return [client.record(name, value) for name, value in VALUES.items()]


def close_and_flush(client, clock, again):
    """The device records, is closed, records the next day, uploads then, and so once more."""
    record_all(client)
    for _ in range(2):
        client.close()
        clock.forward(days=1)
        client = again()
        record_all(client)
        client.flush()
        clock.forward(days=1)
        record_all(client)
    client.close()


def flush_at_once(client, clock, again):  # noqa: ARG001
    """The device uploads in its first process."""
    record_all(client)
    client.flush()
    clock.forward(days=1)
    record_all(client)
    client.flush()
    client.close()


def opt_out_and_in(client, clock, again):  # noqa: ARG001
    """The user withdraws consent before anything was sent, and gives it again."""
    record_all(client)
    client.consent = False
    clock.forward(days=1)
    client.consent = True
    record_all(client)
    client.flush()
    client.close()


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


@pytest.fixture(params=[close_and_flush, flush_at_once, opt_out_and_in])
def lived(request, tmp_path):
    """A device's disk and what had left it at each step of its first days."""
    folder = tmp_path / "disk"
    (folder / "home").mkdir(parents=True)
    directory, clock, transport = folder / "home" / "app" / "device", Clock(), Notes()
    disk = EveryStep(folder, transport)
    with noting() as notes:
        notes.add(disk)

        def again():
            disk.clients.append(begin(directory, clock, transport))
            return disk.clients[-1]

        request.param(again(), clock, again)
    return disk, directory, transport.bodies


@pytest.mark.slow
def test_a_power_failure_at_any_moment_refills_no_budget_and_silences_no_device(lived):
    disk, directory, bodies = lived
    assert len(disk.moments) > 40
    anew = 0
    for step in range(0, len(disk.moments), STRIDE):
        moment, count, _ = disk.moments[step]
        for seed in range(FAILURES):
            disk.stopped = moment
            disk.restart(random.Random(f"{step} {seed}"))
            anew += lives_on(directory, bodies[:count])
    assert anew


@pytest.mark.parametrize("lived", [close_and_flush], indirect=True)
def test_a_kill_at_any_moment_loses_nothing_that_was_recorded(lived):
    disk, directory, bodies = lived
    for moment, count, acknowledged in disk.moments[:: 4 * STRIDE]:
        disk.stopped = moment
        disk.restart()
        transport = Notes()
        with begin(directory, Clock(NOON), transport) as client:
            client.flush(timeout_seconds=60.0)
            pending = client.status().pending
        assert pending + len({*bodies[:count], *transport.bodies}) >= acknowledged


class CountingDisk(Disk):
    """Counts how often somebody waits for it."""

    syncs = 0

    def synced(self, path):
        super().synced(path)
        self.syncs += 1

    def synced_directory(self, path):
        super().synced_directory(path)
        self.syncs += 1


def test_recording_does_not_wait_for_the_disk(tmp_path):
    """Neither the first report of a device or of a process, nor the one after an upload."""
    folder = tmp_path / "disk"
    folder.mkdir()
    clock, disk = Clock(), CountingDisk(folder)

    def syncs_of(act):
        before = disk.syncs
        act()
        return disk.syncs - before

    with noting() as notes:
        notes.add(disk)
        for _ in range(2):
            client = begin(folder / "device", clock, Notes())
            assert syncs_of(lambda: record_all(client)) == 0  # noqa: B023  called at once
            assert syncs_of(client.flush) > 0
            clock.forward(days=1)
            assert syncs_of(lambda: record_all(client)) == 0  # noqa: B023
            client.close()
            clock.forward(days=1)


def lives_on(directory, sent):
    """Checks a device after a power failure; whether it has begun anew."""
    clock, transport = Clock(NOON), Notes()
    with begin(directory, clock, transport) as client:
        left = client.status().epsilon_left_lifetime
        # What was sent is paid for, though each metric may have been reported and not sent, too.
        assert left <= BUDGET - len(set(sent)) + 1e-6
        for _ in range(2):
            assert set(record_all(client)) <= STILL_FINE
            clock.forward(days=10)  # more than the device has lived
        assert client.flush(timeout_seconds=60.0).pending == 0
        uploads = {*sent, *transport.bodies}
        spent = BUDGET - client.status().epsilon_left_lifetime
        assert len(uploads) <= spent + 1e-6
        assert len({report_of(body) for body in uploads}) == len(uploads)
    return left == BUDGET


def report_of(body):
    """Metric and day of an upload."""
    (part,) = wire.decode(body).parts
    return part.digest, part.epoch
