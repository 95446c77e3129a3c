"""Lives that differ in values only, with the same random bytes, look the same from outside.

Each report has random bytes of its own, by its metric and period, so that reports of two lives can
be compared although they are made at other moments.
"""

from __future__ import annotations

import hashlib
import random
import re

import pytest

from deniable._recording.report_writer import ReportWriter
from deniable_shared import wire
from deniable_shared.planning.budget import epsilon_of_busiest_day
from deniable_shared.registry import parse
from deniable_shared.sealing import PrivateKey
from tests.client.conftest import DAY, NOON
from tests.client.transport.test_relay import Sealing

DAYS = 24
LIVES = 4


class Bytes:
    """A source of random bytes that begins anew where it is told to."""

    def __init__(self):
        self.begin("")

    def begin(self, label):
        self._state, self._count = label.encode(), 0

    def __call__(self, count):
        self._count += 1
        return hashlib.shake_256(self._state + b"|%d" % self._count).digest(count)


def registry_of(draw):
    """Some metrics that report absence, in a budget that is never enough, among others."""
    kinds = [
        'type = "category"\nvalues = ["a", "b"]\nabsent = "none"',
        'type = "category"\nvalues = ["a", "b"]\nabsent = "a"\nrepeat = "memoize"\n'
        "epsilon_permanent = 4.0",
        'type = "boolean"',
        'type = "category"\nvalues = ["a", "b"]\ncomplete = true',
        'type = "category"\nvalues = ["a", "b"]\nabsent = "none"\npick = "random"',
    ]
    metrics = []
    for number in range(draw.randint(3, 6)):
        kind = kinds[number % 3] if number < 3 else draw.choice(kinds)
        epsilon, every = draw.choice([0.5, 1.0, 1.5]), draw.choice(["day", "day", "week", "month"])
        metrics.append(f'[metrics.m{number}]\n{kind}\nepsilon = {epsilon}\nevery = "{every}"\n')
    draw.shuffle(metrics)
    budget = f"epsilon_per_day = {draw.choice([1.5, 2.0, 2.5, 4.0])}\n"
    budget += f"epsilon_lifetime = {draw.choice([8.0, 20.0, 60.0])}\n"
    return f'registry = 1\napplication = "coupled"\n[budget]\n{budget}' + "".join(metrics)


def behind_relay(text, draw):
    """The same metrics behind a relay, which some of them require."""
    key = PrivateKey.generate().public.text
    relay = f'[relay]\nurl = "https://relay.example.org"\nkey = "{key}"\n'
    head, *metrics = text.split("[metrics.")
    required = [metric + 'relay = "required"\n' * (draw.random() < 0.7) for metric in metrics]
    return head + relay + "".join(f"[metrics.{metric}" for metric in required)


@pytest.fixture
def coupled(monkeypatch, make_client, clock):
    """A life: what leaves the device, what other metrics are told, and what the ledger says."""
    source = Bytes()
    write = ReportWriter.write

    def writing(self, plan, item, number, *rest):
        label = f"{plan.spec.name} {number}"
        source.begin(label)
        self._randomness.discard_buffer()
        report = plan.randomizer.report

        def reporting(*arguments):
            payload = report(*arguments)
            source.begin(f"{label} afterwards")
            self._randomness.discard_buffer()
            return payload

        plan.randomizer.report = reporting
        try:
            return write(self, plan, item, number, *rest)
        finally:
            plan.randomizer.report = report

    monkeypatch.setattr(ReportWriter, "write", writing)

    def live(text, folder, days, values):
        registry, transport = parse(text), Sealing()
        clock.now = NOON
        client = make_client(
            registry=registry, directory=folder, transport=transport, clock=clock, background=False
        )
        client._recorder._writer._randomness._source = source
        told, ends = [], []
        for day in days:
            clock.now = NOON + day * DAY
            for name, metric in registry.metrics.items():
                if metric.spec.reports_absence:
                    if (value := values.get((name, day))) is not None:
                        for _ in range(3 if metric.spec.picks else 1):
                            client.record(name, value)
                else:
                    told.append(client.record(name, _value_of(metric)))
            client.flush()
            status = client.status()
            ends.append((status.epsilon_left_today, status.epsilon_left_lifetime))
        clock.forward(days=40)  # every period is over
        client.flush()
        client.close()
        bodies = [(wire.decode(body), len(body)) for body in transport.bodies]
        seen = sorted(
            (upload.id, part.epoch, part.digest, len(part.payload), size)
            for upload, size in bodies
            for part in upload.parts
        )
        return seen, told, ends

    return live


def _value_of(metric):
    return True if metric.spec.type == "boolean" else metric.spec.values[0]


@pytest.mark.parametrize("seed", range(12))
def test_nothing_but_the_payload_depends_on_what_was_recorded(coupled, directory, seed):
    """Days, ids, lengths, the order, other metrics' outcomes, the end of the budget, the ledger."""
    draw = random.Random(seed)
    text = registry_of(draw)
    days = sorted(draw.sample(range(DAYS), draw.randint(8, DAYS)))
    assert_lives_look_the_same(coupled, directory, draw, text, days)


@pytest.mark.parametrize("seed", range(8))
def test_nor_behind_a_relay_where_late_reports_are_dropped(coupled, directory, seed):
    """On a device that is off for days, often for more than the seven that its reports have."""
    draw = random.Random(seed)
    text = behind_relay(registry_of(draw), draw)
    days = sorted(draw.sample(range(2 * DAYS), draw.randint(8, 14)))
    assert_lives_look_the_same(coupled, directory, draw, text, days)


def assert_lives_look_the_same(coupled, directory, draw, text, days):
    names = parse(text).metrics
    seen = []
    for life in range(LIVES):
        often = [0.0, 1.0, 0.5, 0.2][life]
        values = {
            (name, day): draw.choice("ab")
            for name in names
            for day in days
            if draw.random() < often
        }
        seen.append(coupled(text, directory.parent / f"{life}", days, values))
    assert seen[0][0]
    same = [each == seen[0] for each in seen]  # a difference is long
    assert all(same)


@pytest.mark.parametrize("seed", range(4))
def test_no_day_costs_more_than_the_busiest_is_said_to(coupled, directory, seed):
    """And the first day costs as much."""
    draw = random.Random(seed)
    text = re.sub(r"epsilon_per_day = \S+", "epsilon_per_day = 16", registry_of(draw))
    text = re.sub(r"epsilon_lifetime = \S+", "epsilon_lifetime = 400", text)
    names, days = parse(text).metrics, range(DAYS)
    values = {(name, day): "a" for name in names for day in days if draw.random() < 0.5}
    _, _, ends = coupled(text, directory.parent / f"busy-{seed}", days, values)
    busiest = epsilon_of_busiest_day(parse(text))
    spent = [16 - left for left, _ in ends]
    assert max(spent) == pytest.approx(spent[0]) == pytest.approx(busiest, rel=1e-6)
