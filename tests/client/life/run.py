"""Lives a life: the steps of a plan, with the account at work."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from pathlib import Path
from random import Random
from unittest import mock

from tests.client.life.account import Account, BrokenPromiseError, expect
from tests.client.life.aggregator import Aggregator
from tests.client.life.device import DAY_SECONDS, DOCUMENTS, Device
from tests.client.life.disk import noting
from tests.client.life.registries import DISABLED, MARK, THINNED, release, value_of
from tests.client.signing import signed

FIRST_DAY = 20_697
"""2026-09-01, in days since 1970-01-01."""


class World:
    """The time, the aggregator, the devices and the account of one life.

    Args:
        folder: an empty one, for the devices' disks.
        seed: decides which values are recorded and what a power failure takes; the client draws
            from the operating system's randomness as ever.
        notes: the block within which writes are noted.
        say: is told each step; nothing by default.
    """

    def __init__(self, folder, seed, notes, say=lambda *_: None):
        self.folder, self.notes, self.say = Path(folder), notes, say
        self.random = Random(f"{seed} in detail")
        self.now = FIRST_DAY * DAY_SECONDS + 6 * 3_600.0
        self.awake_seconds = 0.0
        self.account = Account()
        self.aggregator = Aggregator()
        self.words = []
        self._serial = 0
        self.devices = {"a": Device("a", self.folder / "a", self)}

    def next_serial(self, steps=1):
        """Numbers that increase, with room for the reports of one step, or of some."""
        self._serial += 10 * steps
        return self._serial

    def pass_time(self, seconds):
        """Time passes while the device is awake."""
        self.now += seconds
        self.awake_seconds += seconds

    def step(self, name, what, *details):
        """One step of a plan."""
        self.say(name, what, *details)
        if not name:
            getattr(self, f"_{what}")(*details)
            return
        if what == "become_copy_of":
            self.devices[name] = Device(name, self.folder / name, self)
            details = (self.devices[details[0]],)
        device = self.devices.get(name)
        if device is None:
            return
        if what in ("record", "record_city"):
            metric = details[0] if details else "city"
            device.record(metric, *value_of(metric, self.random))
        elif what == "wrong_clock":
            device.offset = details[0] * DAY_SECONDS
        elif what == "correct_clock":
            device.offset = 0.0
        elif what in ("die", "stop_at"):
            *details, power = details
            getattr(device, what)(*details, power=power)
        else:
            getattr(device, what)(*details)

    def end_of_day(self):
        """What is looked at once a day: every byte, and the words of every status."""
        words = "\n".join(self.words)
        self.words.clear()
        for device in self.devices.values():
            files = [path for path in device.disk.folder.rglob("*") if path.is_file()]
            data = b"\n".join([*(path.read_bytes() for path in files), words.encode()])
            expect("clear", MARK.encode() not in data, "a recorded value is on the device")
            if not device.is_dead:
                device.disk.check()
                self.account.check(device)
                if device.client is not None and device.agreed:
                    self.account.read(device, device.client.disclosure())

    def end(self):
        """What is looked at in the end."""
        self.end_of_day()
        self.account.end()

    def _day(self, number):
        if number:
            self.end_of_day()
        begin = (FIRST_DAY + number) * DAY_SECONDS
        self._sleep(max(0.0, begin + 6 * 3_600.0 - self.now), awake=False)

    def _sleep(self, seconds, awake):
        self.now += seconds
        if awake:
            self.awake_seconds += seconds

    def _zone(self, name):
        os.environ["TZ"] = name
        time.tzset()

    def _mood(self, mood):
        self.aggregator.mood = mood

    def _register(self, number):
        metrics = release(number).metrics.values()
        self.aggregator.registered |= {metric.spec.digest for metric in metrics}

    def _publish(self, serial):
        does = {"thin": THINNED, "disable": list(DISABLED)}
        fields = {what: does[what] for what in DOCUMENTS[serial]}
        self.aggregator.document = signed(serial, application="longlife", **fields)


def live(folder, seed, steps, say=lambda *_: None):
    """Lives a life.

    Args:
        folder: an empty one.
        seed: of the plan.
        steps: the plan, or a part of it.
        say: see `World`.

    Returns:
        The world in the end.

    Raises:
        BrokenPromiseError: if a promise was broken.
    """
    heard = logging.getLogger("deniable")
    real = time.monotonic
    with contextlib.ExitStack() as stack:
        notes = stack.enter_context(noting())
        world = World(folder, seed, notes, say)

        def monotonic():
            return real() + world.awake_seconds

        handler = _Words(world)
        heard.addHandler(handler)
        stack.callback(heard.removeHandler, handler)
        stack.callback(time.tzset)
        stack.enter_context(mock.patch.dict(os.environ))
        os.environ.pop("DO_NOT_TRACK", None)
        stack.enter_context(mock.patch.object(time, "monotonic", monotonic))
        step = ()
        try:
            for step in steps:
                world.step(*step)
            world.end()
        except BrokenPromiseError as error:
            error.add_note(f"in {step}; again: python -m tests.client.life --seed {seed} --trace")
            raise
        finally:
            for device in world.devices.values():
                if device.client is not None:
                    device.client.close()
    return world


class _Words(logging.Handler):
    """Keeps what the client logs, to be searched for values."""

    def __init__(self, world):
        super().__init__()
        self._world = world

    def emit(self, record):
        self._world.words.append(self.format(record))
