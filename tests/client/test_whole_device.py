"""What a whole device sends and keeps is what the audited randomizers draw, and nothing besides.

The audit and the conformance suite enumerate randomizers. These tests close the way from there to
what an aggregator and a thief see: with the operating system's random bytes replaced by a known
stream, everything else about a device has to be the same whatever was recorded.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from dataclasses import replace
from fractions import Fraction

import pytest

from deniable._randomness import BUFFER_BYTES, Randomness
from deniable._storage import records
from deniable.randomizers import randomizer_for
from deniable_shared import wire
from deniable_shared.attributes import Attribute
from deniable_shared.mechanisms import GeneralizedRandomizedResponse
from deniable_shared.registry import Budget, Metric, Registry
from deniable_shared.segments import Segments
from deniable_shared.spec import Spec
from tests.client.conftest import DAY, pending_reports
from tests.client.programs import secret_of
from tests.client.transports import Accepting
from tests.vectors.make import SPECS

DELAY_SECONDS = 6 * 3_600.0
HOUR = 3_600.0
WORDS = 1 << 32


def named(place, spec):
    return replace(spec, name=f"metric{place}")


THEME = Attribute("theme", "category", ("light", "dark", "system"))
CHANNEL = Attribute("channel", "category", ("stable", "beta"))
PAIRS = Segments(THEME, CHANNEL)
IN_SEGMENTS = Spec(
    "tests",
    "theme",
    "category",
    PAIRS.items,
    None,
    GeneralizedRandomizedResponse.for_epsilon(6, Fraction(1)),
    "day",
    segments=PAIRS,
)
METRICS = {name: named(place, SPECS[name][0]) for place, name in enumerate(SPECS)}
METRICS["segments"] = IN_SEGMENTS
METRICS["others"] = Spec(
    "tests",
    "others",
    "category",
    ("light", "dark", "another"),
    "another",
    GeneralizedRandomizedResponse.for_epsilon(3, Fraction(1)),
    "day",
)
METRICS["monthly"] = replace(METRICS["others"], name="monthly", every="month")
LONG = "a long text " * 250
VALUES = {
    name: [(value, None) for value in [*values, *[LONG] * (spec.type == "string")]]
    for name, (spec, values) in SPECS.items()
}
VALUES["segments"] = [("dark", "stable"), ("dark", "beta"), ("light", "beta")]
VALUES["others"] = [("dark", None), *[("never heard of", None)] * 6]
VALUES["monthly"] = [("dark", None)] * 7  # more than a year
"""What is recorded of each metric: pairs of a value and a segment."""

REGISTRY = Registry(
    "tests",
    Budget(epsilon_per_day=16.0, epsilon_lifetime=400.0),
    {spec.name: Metric(spec, "tests", (), None, 100_000) for spec in METRICS.values()},
)


@pytest.fixture
def known_stream(monkeypatch):
    """Replaces the operating system's random bytes by a stream that a seed determines."""
    assert Randomness.__init__.__defaults__ == (os.urandom, BUFFER_BYTES)

    def known_stream(seed):
        blocks = itertools.count()

        def source(count):
            return hashlib.shake_256(f"{seed}/{next(blocks)}".encode()).digest(count)

        monkeypatch.setattr(os, "urandom", source)
        monkeypatch.setattr(Randomness.__init__, "__defaults__", (source, BUFFER_BYTES))

    return known_stream


@pytest.fixture
def make_device(make_client, directory):
    numbers = itertools.count()

    def make_device(place=None):
        place = place or directory.parent / f"device {next(numbers)}"
        options = {"transport": Accepting(), "endpoint": None, "key": None}
        options |= {"registry": REGISTRY, "upload_delay_seconds": DELAY_SECONDS}
        return make_client(directory=place, **options), place

    return make_device


@pytest.fixture
def drawn(monkeypatch):
    """The bytes that clients have drawn for reports, ids and delays, since it was last emptied."""
    taken, take = bytearray(), Randomness.take

    def noting(self, count):
        data = take(self, count)
        if self._source is Randomness.__init__.__defaults__[0]:
            taken.extend(data)
        return data

    monkeypatch.setattr(Randomness, "take", noting)
    return taken


@pytest.mark.parametrize("name", METRICS)
def test_a_device_sends_what_the_audited_randomizer_draws_from_the_systems_bytes(
    make_device, known_stream, drawn, clock, name
):
    """Of the bytes drawn, the first 4 make the delay, the next 16 the id, all others the noise."""
    spec = METRICS[name]
    longest = HOUR if spec.mechanism.epsilon_permanent else DELAY_SECONDS
    known_stream(name)
    client, place = make_device()
    for value, segment in VALUES[name] * 2:
        drawn.clear()
        assert client.record(spec.name, value, segment=segment) == "recorded"
        delay, upload_id, noise = bytes(drawn[:4]), bytes(drawn[4:20]), bytes(drawn[20:])
        (stored,) = pending_reports(client)
        assert stored.upload_id == upload_id
        since = (stored.epoch + 1) * DAY if spec.picks else clock.now
        assert stored.due == since + longest * int.from_bytes(delay, "big") / WORDS
        replayed = Randomness(lambda _, noise=noise: noise)
        secret = secret_of(place)
        item = spec.encode(value, segment)
        assert stored.payload == randomizer_for(spec, replayed).report(item, secret)
        assert client.flush().sent == (not spec.picks)
        assert spec.every == "month" or stored.epoch == clock.now // DAY
        clock.forward(days=31 if spec.every == "month" else 1)
        assert client.flush().sent == spec.picks
        part = wire.Part(spec.digest, stored.epoch, stored.payload)
        body = client._engine.settings.transport.bodies[-1]
        assert body == wire.encode(wire.Upload(upload_id, (part,)))


def test_the_same_random_bytes_make_the_same_uploads_and_others_make_others(
    make_device, known_stream, clock
):
    """Nothing else is random, as a clock, a process id or a seed in the program would be."""
    noon, sent = clock.now, []
    for seed in (1, 1, 2):
        known_stream(seed)
        clock.now = noon
        client, _ = make_device()
        for _ in range(3):
            for name in ("oue", "hcms", "laplace", "gaussian", "losue", "trie"):
                assert client.record(METRICS[name].name, VALUES[name][0][0]) == "recorded"
            clock.forward(days=1)
            assert client.flush().sent == 6
        sent.append(client._engine.settings.transport.bodies)
        client.close()
    assert sent[0] == sent[1]
    assert not {each.payload for each in parts(sent[0])} & {each.payload for each in parts(sent[2])}


def parts(bodies):
    return [part for body in bodies for part in wire.decode(body).parts]


def files(place):
    """The files of a device, with zeros for the payloads of reports and for their checksums."""
    found = {path.name: path.read_bytes() for path in sorted(place.iterdir())}
    content = bytearray(found["journal"])
    header, start = records.read_header(content)
    reader = records.RecordReader(header, start)
    for begin, body, tail in reader.read(bytes(content[start:])):
        heads = {records.DEBIT: 72, records.PAID: 72, records.REPORT: 72, records.SENT: 41}
        if tail and body[0] in heads:
            content[begin + 10 : begin + 14] = bytes(4)
            length = len(tail) - heads[body[0]]
            content[reader.end - length : reader.end] = bytes(length)
    assert reader.end == len(content)
    return {**found, "journal": bytes(content)}


@pytest.mark.parametrize("name", METRICS)
def test_but_for_the_report_a_directory_is_the_same_whatever_was_recorded(
    make_device, known_stream, clock, name
):
    """Devices of the same random bytes and different values: a thief learns what the report says.

    Every byte is compared, while the client is at work and once it is closed, before delivery and
    after it.
    """
    seen, noon = [], clock.now
    for value, segment in VALUES[name]:
        clock.now = noon
        known_stream(0)
        client, place = make_device()
        assert client.record(METRICS[name].name, value, segment=segment) == "recorded"
        at_work = files(place)
        client.close()
        waiting = files(place)
        client, _ = make_device(place)
        if METRICS[name].picks:
            clock.forward(days=1)
        assert client.flush().sent == 1
        client.close()
        lengths = [len(body) for body in client._engine.settings.transport.bodies]
        seen.append((at_work, lengths, waiting, files(place)))
    assert all(each == seen[0] for each in seen)


def test_whichever_values_follow_a_picked_one_a_directory_is_the_same(make_device, known_stream):
    """Whether a report takes the place of another follows from random bytes alone."""
    seen = []
    for values in itertools.product(("red", "blue"), repeat=4):
        known_stream("four values")
        client, place = make_device()
        for value in values:
            assert client.record(METRICS["picked"].name, value) == "recorded"
        at_work = files(place)
        client.close()
        seen.append((at_work, files(place)))
    assert seen[0][0] != seen[0][1]  # some were replaced, and are erased
    assert all(each == seen[0] for each in seen)
