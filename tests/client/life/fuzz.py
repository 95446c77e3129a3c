"""Short random lives with kills and power failures, judged by what left the device alone.

Each period of a metric leaves under one id, and an id always has the same bytes. What left costs no
more than the ledger says. The storage never refuses. What was recorded leaves or waits, unless the
power failed before it was synced.
"""

from __future__ import annotations

import contextlib
import time
from random import Random
from unittest import mock

import deniable
from deniable._storage.directory import StorageError
from deniable_shared import wire
from deniable_shared.periods import period
from tests.client.life.device import _one_round
from tests.client.life.disk import Disk, noting

DAY_SECONDS = 86_400
BEGIN = 20_697 * DAY_SECONDS + 6 * 3_600.0
STEPS = 60
LIFETIME = 200.0
KEPT_DAYS = 14

_FLAG = '[metrics.{}]\ntype = "boolean"\nepsilon = {}\n'
REGISTRY = deniable.parse_registry(
    f"""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 6.0
epsilon_lifetime = {LIFETIME}
{"".join(_FLAG.format(f"b{number}", 0.5 + number / 10) for number in range(4))}
{_FLAG.format("w", 1.0)}every = "week"
{_FLAG.format("m", 0.99)}every = "day"
repeat = "memoize"
epsilon_permanent = 1.0
"""
)
NAMES = list(REGISTRY.metrics)
SPECS = {metric.spec.digest: metric.spec for metric in REGISTRY.metrics.values()}


class BrokenError(Exception):
    """A promise was broken."""


class Life:
    """A device, its disk, and the aggregator, which sees what leaves.

    Attributes:
        mood: how the aggregator answers.
        left: the ids of uploads, by metric and period.
        owed: metrics and periods that were recorded, and must leave or wait.
        safe: those that no power failure can take.
    """

    def __init__(self, seed, folder, notes):
        self.random = Random(seed)
        self.now, self.awake = BEGIN, 0.0
        self.directory = folder / "state" / "device"
        self.directory.parent.mkdir(parents=True)
        self.disk = Disk(folder)
        notes.add(self.disk)
        self.mood, self.broken, self.client, self.power = "up", None, None, False
        self.bodies, self.left, self.owed, self.safe = {}, {}, set(), set()

    # The aggregator.

    def send(self, body, timeout_seconds):
        assert timeout_seconds > 0
        if self.disk.stopped is not None:
            raise ConnectionAbortedError
        if self.mood == "down":
            raise ConnectionRefusedError
        upload = wire.decode(body)
        spec = SPECS[upload.parts[0].digest]
        ids = self.left.setdefault((spec.name, period(spec.every, upload.parts[0].epoch)), set())
        ids.add(upload.id)
        if self.bodies.setdefault(upload.id, body) != body:
            self.broken = self.broken or "an id came with other bytes"
        if len(ids) > 1:
            self.broken = self.broken or f"a report of {spec.name} left under two ids"
        if self.mood == "lossy":
            raise TimeoutError
        return deniable.Response(503 if self.mood == "busy" else 204)

    def close(self):
        pass

    # The device.

    def act(self, action):
        """What an action returns; None if the device died during it."""
        if self.client is None:
            self.client = deniable.Client(
                REGISTRY, directory=self.directory, transport=self, consent=True,
                background=False, clock=lambda: self.now,
            )  # fmt: skip
        try:
            result = action(self.client)
        except StorageError as error:  # of a round that the thread would have caught
            raise BrokenError(f"the storage refuses: {error}") from None
        if self.broken is not None:
            raise BrokenError(self.broken)
        if self.disk.stopped is not None:
            self.die()
            return None
        return result

    def die(self):
        client, self.client = self.client, None
        if client is not None:
            with self.disk.paused():
                client.close()
        self.disk.restart(self.random if self.power else None)
        if self.power:
            self.owed &= self.safe
        self.broken = None

    def check(self):
        status = self.act(lambda client: client.status())
        if status is None:
            return
        if status.pending is None:
            raise BrokenError(f"the storage refuses: {status.last_error}")
        memoized = sum(name == "m" for name, _ in self.left)
        mechanism = REGISTRY.metrics["m"].spec.mechanism
        cost = min(memoized * mechanism.epsilon, mechanism.epsilon_total)
        cost += sum(REGISTRY.metrics[n].spec.mechanism.epsilon for n, _ in self.left if n != "m")
        spent = LIFETIME - status.epsilon_left_lifetime
        if cost > spent + 1e-6:
            raise BrokenError(f"what left costs {cost:.4f}, of which {spent:.4f} are paid")

    def record(self):
        name = self.random.choice(NAMES)
        key = name, period(REGISTRY.metrics[name].spec.every, int(self.now // DAY_SECONDS))
        outcome = self.act(lambda client: client.record(name, value=True))
        if outcome == "recorded":
            if key in self.left:
                raise BrokenError(f"{name} was recorded again after it had left")
            self.owed.add(key)
        elif outcome not in (None, "already_reported", "over_budget"):
            raise BrokenError(f"{outcome}: {self.client.status().last_error}")

    def step(self):
        draw = self.random
        if draw.random() < 0.25:
            self.power = draw.random() < 0.6
            self.disk.stop_at(draw.randint(1, 25))
        chance = draw.random()
        if chance < 0.55:
            self.record()
        elif chance < 0.75:
            self.mood = draw.choice(["up", "up", "lossy", "down", "busy"])
            if draw.random() < 0.5:
                if self.act(lambda client: client.flush(timeout_seconds=30.0)) is not None:
                    self.safe = set(self.owed)
            else:
                self.act(lambda client: (_one_round(client), True))
        elif chance < 0.83:
            if self.client is not None and self.act(lambda client: (client.close(), True)):
                self.client = None
        elif chance < 0.90:
            self.power = draw.random() < 0.6
            self.disk.stop_now()
            self.die()
        else:
            seconds = draw.uniform(0.02, 1.3) * DAY_SECONDS
            self.now += seconds
            self.awake += seconds * (draw.random() < 0.7)
        if draw.random() < 0.2:
            self.check()

    def end(self):
        self.disk.go_on()
        self.mood = "up"
        self.now += 1.01 * DAY_SECONDS
        self.awake += 1.01 * DAY_SECONDS
        self.act(lambda client: client.flush(timeout_seconds=30.0))
        self.check()
        today = int(self.now // DAY_SECONDS)
        missing = [
            each
            for each in self.owed - {*self.left}
            if each[0] not in "wm" and each[1] > today - KEPT_DAYS
        ]
        if missing:
            raise BrokenError(f"recorded, and never left: {missing}")


def live(seed, folder):
    """Lives the life of a seed.

    Raises:
        BrokenError: if a promise was broken.
    """
    real = time.monotonic
    with noting() as notes, contextlib.ExitStack() as stack:
        life = Life(seed, folder, notes)

        def monotonic():
            return real() + life.awake

        stack.enter_context(mock.patch.object(time, "monotonic", monotonic))
        stack.callback(lambda: life.client is None or life.client.close())
        for _ in range(STEPS):
            life.step()
        life.end()
