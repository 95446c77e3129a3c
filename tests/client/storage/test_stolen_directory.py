"""What somebody gains who has the whole directory of a device that memoises: secret and reports.

With the secret the permanent answer of every value can be computed. A report is such an answer with
fresh noise, which alone protects it while it waits: the thief takes the value with the nearest
permanent answer. Once a report is delivered there is nothing left to compare.
"""

from __future__ import annotations

import math

import pytest
from scipy.stats import binom

from deniable import Response
from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared.exact_bounds import SCALE
from deniable_shared.registry import parse
from tests.client.conftest import pending_reports
from tests.client.programs import contents, secret_of
from tests.client.transports import Accepting

WORDS = [f"word {number}" for number in range(200)]
PICKS = [f"v{number}" for number in range(64)]
NUMBERS = [float(number) for number in range(31)]
DEVICES, DEVICES_THAT_WAIT = 24, 36
CHANCE = 1e-9
"""Of each test below to fail although nothing is wrong."""

REGISTRY = parse(
    f"""
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.word]
type = "string"
mechanism = "rappor"
[metrics.name]
type = "string"
mechanism = "sketch"
[metrics.pick]
type = "category"
values = {PICKS!r}
complete = true
mechanism = "losue"
[metrics.choice]
type = "category"
values = {PICKS[:4]!r}
complete = true
mechanism = "lgrr"
[metrics.size]
type = "number"
range = [0, 30]
[metrics.spread]
type = "distribution"
range = [0, 30]
bins = 16
mechanism = {{ name = "ldbitflip", buckets = 8 }}
""".replace(
        "type = ",
        'epsilon = 1.0\nevery = "day"\nrepeat = "memoize"\nepsilon_permanent = 2.0\ntype = ',
    )
)
CANDIDATES = {
    "word": WORDS,
    "name": WORDS,
    "pick": PICKS,
    "choice": PICKS[:4],
    "size": [0.0, 30.0],
    "spread": NUMBERS,
}
TOLD = {"word", "name", "pick"}
"""Metrics with permanent answers of many bits: one waiting report tells the value."""


class Noiseless(Randomness):
    """Fresh randomness that leaves permanent answers as they are."""

    def bits(self, count, weight):  # noqa: ARG002
        return 0

    def bernoulli(self, weight):  # noqa: ARG002
        return False

    def one_of(self, own, other):  # noqa: ARG002
        return 0


class Thief:
    """Knows the code, the registry, and a device's secret.

    Args:
        name: the metric.
        secret: the device's.

    Attributes:
        answers: the permanent answer of each value, as a report without fresh noise.
        places: of how many bits a report is made; 1 where it is one item.
        changed: the probability that fresh noise changes one of them.
        nats: what one of them tells where the answers of two values differ.
    """

    def __init__(self, name, secret):
        spec = REGISTRY.metrics[name].spec
        randomizer = randomizer_for(spec, Noiseless())
        self.answers = {
            value: randomizer.report(spec.encode(value), secret) for value in CANDIDATES[name]
        }
        mechanism = getattr(spec.mechanism, "inner", spec.mechanism)
        self.is_item = hasattr(mechanism, "own")
        if self.is_item:
            self.places, self.changed = 1, 1 - mechanism.own / SCALE
            self.nats = math.log(mechanism.own / mechanism.other)
        else:
            sizes = {"rappor": "bits", "losue": "size", "ldbitflip": "buckets"}
            kind = mechanism.name
            self.places = getattr(mechanism, sizes[kind]) if kind in sizes else 1
            self.changed = (mechanism.p if kind == "rappor" else mechanism.flip) / SCALE
            self.nats = math.log((1 - self.changed) / self.changed)

    def distance(self, one, other):
        """In how many bits two reports differ; whether they do, where a report is one item."""
        if self.is_item:
            return int(one != other)
        return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()

    def likelihood(self, value, reports):
        """The logarithm of the probability of reports given a value, up to a constant."""
        return -self.nats * sum(self.distance(self.answers[value], each) for each in reports)

    def guess(self, reports):
        return max(self.answers, key=lambda value: self.likelihood(value, reports))


@pytest.fixture
def devices(make_client, directory, clock):
    """Devices that have recorded a value on each of some days, and what a thief finds there."""

    def devices(name, days=1, deliver=False, count=DEVICES):
        for number in range(count):
            place = directory.parent / f"{name} {number}"
            value = CANDIDATES[name][(7 * number + 3) % len(CANDIDATES[name])]
            client = make_client(
                registry=REGISTRY, directory=place, transport=Accepting(), endpoint=None, key=None
            )
            for _ in range(days):
                assert client.record(name, value) == "recorded"
                clock.forward(days=1)
            if deliver:
                assert client.flush().sent == days
            client.close()
            yield value, secret_of(place), kept(place)

    return devices


def kept(directory):
    """The payloads in a directory."""
    spool = contents(directory).spool
    payloads = [each.payload for each in (*spool.reports(), *spool.sent)]
    return [payload for payload in payloads if payload is not None]


def said(directory):
    """All that the journal of a device says, but for its secret."""
    found = contents(directory)
    return sorted(found.spool.records()), sorted(found.ledger.bodies())


def most_hits(name, count):
    """More right guesses than this are not luck."""
    return binom.isf(CHANCE, count, 1 / len(CANDIDATES[name]))


@pytest.mark.statistics
@pytest.mark.parametrize("name", CANDIDATES)
def test_a_thief_guesses_delivered_memoised_values_as_if_without_the_directory(devices, name):
    count = 60 if len(CANDIDATES[name]) < 5 else DEVICES
    hits = 0
    for value, secret, reports in devices(name, days=3, deliver=True, count=count):
        assert reports == []
        hits += Thief(name, secret).guess(reports) == value
    assert hits <= most_hits(name, count)


@pytest.mark.parametrize("name", CANDIDATES)
def test_after_delivery_a_directory_is_the_same_whatever_the_value(make_client, directory, name):
    """Secret and permanent answers differ, and so would any trace of them."""
    seen = []
    for number, value in enumerate((*CANDIDATES[name][:3], CANDIDATES[name][-1])):
        place, transport = directory.parent / str(number), Accepting()
        client = make_client(
            registry=REGISTRY, directory=place, transport=transport, endpoint=None, key=None
        )
        assert client.record(name, value) == "recorded"
        assert client.flush().sent == 1
        client.close()
        seen.append(said(place))
    assert all(each == seen[0] for each in seen)


@pytest.mark.statistics
@pytest.mark.parametrize("name", CANDIDATES)
def test_while_it_waits_a_memoised_report_tells_what_its_fresh_noise_leaves(devices, name):
    """The bound for each waiting report: `Thief.nats` for each bit in which the answers differ."""
    hits = changes = places = 0
    for value, secret, (report,) in devices(name, count=DEVICES_THAT_WAIT):
        thief = Thief(name, secret)
        truth = thief.answers[value]
        for other, answer in thief.answers.items():
            gain = thief.likelihood(value, [report]) - thief.likelihood(other, [report])
            assert abs(gain) <= thief.nats * thief.distance(truth, answer) * (1 + 1e-12)
        hits += thief.guess([report]) == value
        changes += thief.distance(truth, report)
        places += thief.places
    # The noise of a report is what the bound is computed from: neither 0.7 nor 1.3 times of it.
    error = math.sqrt(thief.changed * (1 - thief.changed) / places)
    assert abs(changes / places - thief.changed) < 6 * error
    if name in TOLD:
        assert hits > DEVICES_THAT_WAIT / 3
        assert 6 * error < 0.3 * thief.changed


@pytest.mark.statistics
@pytest.mark.parametrize("days", [1, 4])
def test_several_waiting_reports_add_up_and_no_further(devices, days):
    """For one of few items: e^(T nats) against 1 for the truth, where the answers differ at all."""
    count, right, most = 60, 0, 0.0
    for value, secret, reports in devices("size", days=days, count=count):
        assert len(reports) == days
        thief = Thief("size", secret)
        right += thief.guess(reports) == value
        odds = math.exp(days * thief.nats)
        same = len({*thief.answers.values()}) == 1
        most += 0.5 if same else odds / (1 + odds)
    assert right <= most + 6 * math.sqrt(count) / 2


class Moody(Accepting):
    """Answers with a status that a test sets."""

    status = 204

    def send(self, body, timeout_seconds):
        super().send(body, timeout_seconds)
        return Response(self.status)


@pytest.mark.parametrize("end", ["delivered", "refused", "too old"])
def test_no_byte_of_a_memoised_report_outlives_it(make_client, directory, clock, end):
    """Neither in the journal nor beside it, while the client is at work."""
    transport = Moody()
    client = make_client(registry=REGISTRY, transport=transport, endpoint=None, key=None)
    payloads = []
    for day in range(30):
        for name in ("word", "name", "pick"):
            assert client.record(name, CANDIDATES[name][day]) == "recorded"
        clock.forward(days=1)
        if day % 10 == 4:
            transport.status = 503  # these stay for a while, and are written again
            client.flush()
            client._uploader._sender._history.silent_until = 0.0
        payloads += [report.payload for report in pending_reports(client)]
        if day % 10 == 9:
            transport.status = {"delivered": 204, "refused": 400, "too old": 503}[end]
            clock.forward(days=15 if end == "too old" else 0)
            client._uploader._sender._history.silent_until = 0.0
            client.flush()
    assert pending_reports(client) == []
    left = b"".join(path.read_bytes() for path in directory.iterdir())
    assert not any(payload in left or payload[2:] in left for payload in payloads)


def test_a_memoised_report_waits_for_an_hour_at_most(make_client, clock):
    client = make_client(registry=REGISTRY)
    for _ in range(20):
        assert client.record("pick", "v1") == "recorded"
        waits = [report.due - clock.now for report in pending_reports(client)]
        assert max(waits) <= 3_600
        clock.forward(days=1)
