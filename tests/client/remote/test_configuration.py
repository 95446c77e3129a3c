"""What the owner of a signing key can do to a device, and what the owner of the server cannot."""

from __future__ import annotations

import errno
import json
import stat
import threading
import time
from base64 import b64decode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable import Outcome, Response
from deniable._remote.configuration import FILE, MAX_SLOWED_SECONDS
from deniable_shared import registry as registries
from deniable_shared.remote import seal
from tests.client.conftest import REGISTRY, pending_reports
from tests.client.signing import TEXT, sealed, signed

BYSTANDER = '[metrics.bystander]\ntype = "boolean"\nepsilon = 0.1\n'
BYSTANDER_EPSILON = registries.parse(TEXT + BYSTANDER).metrics["bystander"].spec.mechanism.epsilon


@pytest.fixture
def registry(tmp_path):
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture
def make(make_client, collector, clock):
    """Makes clients that upload to the collector."""
    return lambda **options: make_client(
        **{"endpoint": collector.endpoint, "key": "write-key", "clock": clock, **options}
    )


@pytest.fixture
def remote_client(make, collector, clock):
    """A client, and a function that lets it upload on a new day and fetch a document."""
    client = make()

    def deliver(document, status=200):
        collector.document = (status, document)
        clock.forward(days=1)
        before = len(collector.fetched)
        client.record("bystander", value=True)
        assert client.flush().sent >= 1
        assert len(collector.fetched) == before + 1
        return client.status()

    return client, deliver


@pytest.fixture(autouse=True)
def bystander(registry):
    """A cheap metric, so that a device can report for many days."""
    text = registry.read_text("utf-8").replace("epsilon_lifetime = 40.0", "epsilon_lifetime = 400")
    registry.write_text(text + BYSTANDER, encoding="utf-8")


def test_a_disabled_metric_records_nothing_and_costs_nothing(remote_client):
    client, deliver = remote_client
    assert deliver(signed(disable=["theme"])).remote_serial == 1
    before = client.status()
    assert client.record("theme", "dark") is Outcome.DISABLED
    assert client.status().epsilon_left_lifetime == before.epsilon_left_lifetime
    assert client.status().pending == 0
    assert client.record("late", value=True) is Outcome.RECORDED


def test_everything_can_be_disabled(remote_client):
    client, deliver = remote_client
    deliver(signed(disable="all"))
    assert {client.record("late", value=True), client.record("emoji", "x")} == {Outcome.DISABLED}


def test_a_later_configuration_replaces_the_one_before_as_a_whole(remote_client):
    client, deliver = remote_client
    deliver(signed(1, disable=["theme", "late"]))
    deliver(signed(2, disable=["late"]))
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert client.record("late", value=True) is Outcome.DISABLED


def test_a_configuration_survives_a_restart_without_the_server(remote_client, make, directory):
    client, deliver = remote_client
    deliver(signed(5, disable=["theme"]))
    client.close()
    again = make(endpoint="http://127.0.0.1:9")
    assert again.record("theme", "dark") is Outcome.DISABLED
    assert again.status().remote_serial == 5
    assert stat.S_IMODE((directory / FILE).stat().st_mode) == 0o600


def test_another_client_on_the_directory_uses_the_configuration_too(remote_client, make):
    _, deliver = remote_client
    other = make(another_process=True)
    assert other.record("theme", "dark") is Outcome.RECORDED
    deliver(signed(disable=["late"]))
    other._engine.remote._next_look = 0.0  # a minute passes
    assert other.record("late", value=True) is Outcome.DISABLED


def test_the_configuration_is_fetched_once_a_day_after_an_upload_and_at_no_other_time(
    make, collector, clock
):
    client = make()
    assert collector.fetched == []
    client.flush()
    assert collector.fetched == []
    client.record("late", value=True)
    assert collector.fetched == []
    collector.answer = lambda _body: (503, {"Content-Length": "0"})
    client.flush()
    assert collector.fetched == []
    collector.answer = lambda _body: (204, {})
    clock.forward(days=1)
    client.record("bystander", value=True)
    client.flush()
    assert collector.fetched == ["/v1/remote"]
    client.record("theme", "dark")
    client.flush()
    client.close()
    again = make()
    again.record("emoji", "x")
    assert again.flush().sent == 1
    assert collector.fetched == ["/v1/remote"]
    clock.forward(days=1)
    again.record("bystander", value=True)
    again.flush()
    assert collector.fetched == ["/v1/remote"] * 2


def test_without_a_key_in_the_registry_nothing_is_ever_asked(make, collector, registry, directory):
    registry.write_text(REGISTRY, encoding="utf-8")
    collector.document = (200, signed(disable="all"))
    client = make()
    client.record("late", value=True)
    assert client.flush().sent == 1
    assert collector.fetched == []
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert not (directory / FILE).exists()


def test_a_transport_without_fetch_is_enough(make_client):
    class Courier:
        def send(self, _body, _timeout_seconds):
            return Response(204)

        def close(self):
            pass

    client = make_client(transport=Courier())
    client.record("late", value=True)
    assert client.flush().sent == 1
    assert client.status().remote_serial is None


def test_a_transport_that_raises_or_returns_nonsense_disturbs_nothing(make_client):
    class Courier:
        def send(self, _body, _timeout_seconds):
            return Response(204)

        def fetch(self, *_arguments):
            return "nonsense"

        def close(self):
            pass

    client = make_client(transport=Courier())
    client.record("late", value=True)
    assert client.flush().sent == 1
    assert client.status().last_error == "remote_unreachable: ValueError"


def flipped(document, name):
    parts = {key: bytearray(b64decode(value)) for key, value in json.loads(document).items()}
    parts[name][20] ^= 1
    return seal(bytes(parts["payload"]), bytes(parts["signature"]))


IN_FORCE = {"disable": ["theme"], "thin": {"late": 1e-9}, "slow": 3}
BAD = {
    "raises epsilon": signed(9, epsilon=50),
    "raises one epsilon": signed(9, metrics={"theme": {"epsilon": 50}}),
    "raises the budget": signed(9, budget={"epsilon_per_day": 400}),
    "widens a domain": signed(9, values={"theme": ["a", "b"]}),
    "switches noise off": signed(9, mechanism={"theme": "none"}),
    "redirects": signed(9, endpoint="https://evil.example"),
    "gives consent": signed(9, consent=True),
    "hurries": signed(9, slow=0.01),
    "thickens": signed(9, thin={"theme": 2}),
    "another key": signed(9, key=Ed25519PrivateKey.generate()),
    "another context": signed(9, context=b""),
    "another application": signed(9, application="another"),
    "a flipped bit": flipped(signed(9), "payload"),
    "a flipped bit of the signature": flipped(signed(9), "signature"),
    "no signature": seal(b64decode(json.loads(signed(9))["payload"]), b""),
    "zeros for a signature": seal(b64decode(json.loads(signed(9))["payload"]), bytes(64)),
    "an older serial": signed(4),
    "the same serial": signed(5),
    "a field twice": sealed(
        b'{"remote":1,"application":"flightdeck","serial":9,"slow":3,"slow":1}'
    ),
    "not JSON": b"\xff\x00",
    "empty": b"",
    "deep": b"[" * 4_000,
}


@pytest.mark.parametrize("document", BAD.values(), ids=BAD.keys())
def test_a_bad_document_is_refused_counted_and_changes_nothing(remote_client, make, document):
    client, deliver = remote_client
    deliver(signed(5, **IN_FORCE))
    status = deliver(document)
    assert (status.remote_refused, status.remote_serial) == (1, 5)
    assert status.last_error.startswith("remote_refused: a remote configuration was refused: ")
    assert client.record("theme", "dark") is Outcome.DISABLED
    assert client.record("late", value=True) is Outcome.THINNED
    assert client._engine.remote.stretched(100.0) == 300.0
    client.close()
    assert make().record("theme", "dark") is Outcome.DISABLED


@pytest.mark.parametrize(
    ("status", "document"),
    [
        (200, bytes(1_000_000)),
        (200, signed(9, disable=[f"metric_{n}" for n in range(400)])),
        (404, signed(9)),
        (302, signed(9)),
        (500, b""),
        (204, b""),
    ],
)
def test_a_megabyte_or_another_answer_than_200_changes_nothing(remote_client, status, document):
    client, deliver = remote_client
    deliver(signed(5, **IN_FORCE))
    assert deliver(document, status).remote_serial == 5
    assert client.record("theme", "dark") is Outcome.DISABLED


def test_whoever_owns_the_server_gets_the_same_noise_at_the_same_price(
    make, collector, clock, registry
):
    """The server's owner sends documents, none of which the key's owner has signed."""
    limits = registries.load(registry).budget
    client = make()
    digests = {metric.spec.digest for metric in registries.load(registry).metrics.values()}
    mine = Ed25519PrivateKey.generate()
    attacks = [
        signed(10 + number, key=mine, **fields)
        for number, fields in enumerate(
            [
                {"disable": []},
                {"epsilon": 100},
                {"budget": {"epsilon_per_day": 400, "epsilon_lifetime": 4000}},
                {"endpoint": "http://127.0.0.1:9"},
                {"consent": True},
                {"slow": 1},
            ]
        )
    ]
    spent = 0.0
    for document in [signed(1, disable=["theme"]), *attacks, signed(1)]:
        collector.document = (200, document)
        clock.forward(days=1)
        client.record("bystander", value=True)
        assert client.flush().sent == 1
        spent += BYSTANDER_EPSILON
        left = limits.epsilon_lifetime - client.status().epsilon_left_lifetime
        assert left == pytest.approx(spent, abs=1e-6)
        assert client.record("theme", "dark") is Outcome.DISABLED
    # One more for the last document: another document with the same serial.
    assert client.status().remote_refused == len(attacks) + 1
    parts = [part for upload in collector.uploads() for part in upload.parts]
    assert {digest for digest, _, _ in parts} <= digests
    assert len(parts) == len(attacks) + 2
    client.consent = False
    assert client.record("bystander", value=True) is Outcome.NO_CONSENT


def test_a_thinned_period_costs_nothing_and_stays_thinned(remote_client, make):
    client, deliver = remote_client
    deliver(signed(thin={"theme": 1e-9}))
    before = client.status().epsilon_left_lifetime
    for _ in range(5):
        assert client.record("theme", "dark") is Outcome.THINNED
    client.close()
    again = make()
    assert again.record("theme", "dark") is Outcome.THINNED
    assert again.status().epsilon_left_lifetime == before
    assert again.status().pending == 0


def test_a_whole_share_thins_nothing(remote_client, clock):
    client, deliver = remote_client
    deliver(signed(thin={"theme": 1}))
    for _ in range(20):
        assert client.record("theme", "dark") is Outcome.RECORDED
        clock.forward(days=1)


def test_a_slowed_report_waits_longer(make, remote_client, clock):
    _, deliver = remote_client
    deliver(signed(slow=1_000))
    client = make(upload_delay_seconds=3_600.0, another_process=True)
    clock.forward(days=1)
    waits = []
    for name in ("theme", "late", "emoji"):
        value = {"theme": "dark", "late": True, "emoji": "x"}[name]
        assert client.record(name, value) is Outcome.RECORDED
    reports = pending_reports(client)
    waits = [report.due - clock() for report in reports]
    # Uniform up to a week: the probability that all three are below an hour is 2e-7.
    assert max(waits) > 3_600.0
    assert max(waits) <= MAX_SLOWED_SECONDS


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"{}",
        b'{"asked": "x", "document": ""}',
        b'{"asked": 1, "document": 2}',
        b'{"asked": 1, "document": "\\ud800"}',
        b"\xff" * 100,
        b"[" * 20_000,
        b'{"asked": 1, "document": "' + b"x" * 20_000,
    ],
)
def test_a_damaged_file_is_refused_and_repaired_at_the_next_fetch(
    remote_client, make, directory, content
):
    client, deliver = remote_client
    deliver(signed(5, disable=["theme"]))
    client.close()
    (directory / FILE).write_bytes(content)
    again = make()
    assert again.record("theme", "dark") is Outcome.RECORDED
    assert again.status().remote_refused == 1
    assert again.status().last_error.startswith("remote_refused: ")
    again.flush()
    assert again.status().remote_serial == 5
    again.close()
    assert make().status().remote_serial == 5


def test_the_file_is_verified_again_when_it_is_read(remote_client, make, directory):
    client, deliver = remote_client
    deliver(signed(5, disable=["theme"]))
    client.close()
    forged = signed(6, key=Ed25519PrivateKey.generate(), slow=1)
    (directory / FILE).write_text(json.dumps({"asked": 1, "document": forged.decode()}))
    assert make().status().remote_serial is None


def test_a_file_that_cannot_be_read_is_noted_and_nothing_raises(make, directory):
    client = make()
    client.record("late", value=True)
    client.close()
    (directory / FILE).mkdir()
    again = make()
    assert again.record("theme", "dark") is Outcome.RECORDED
    assert again.status().last_error == "remote_unreadable: Is a directory"
    assert again.flush().sent == 2


def test_a_file_that_cannot_be_read_now_is_not_replaced_by_something_older(
    remote_client, make, clock, monkeypatch
):
    client, deliver = remote_client
    deliver(signed(5, disable=["theme"]))
    client.close()
    clock.forward(days=1)
    again = make()
    fetch = again._engine.remote._fetch

    def fetch_an_older_one(*arguments):
        fetch(*arguments)
        return 200, signed(4)

    again._engine.remote._fetch = fetch_an_older_one
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", open_all_but_the_configuration)
        assert again.record("late", value=True) is Outcome.RECORDED
        assert again.flush().sent == 1
        assert again.status().remote_serial == 4
    again.close()
    assert make().status().remote_serial == 5


OPEN = Path.open


def open_all_but_the_configuration(path, *arguments, **options):
    if path.name == FILE:
        raise OSError(errno.EMFILE, "Too many open files")
    return OPEN(path, *arguments, **options)


def test_opting_out_keeps_the_configuration(remote_client):
    client, deliver = remote_client
    deliver(signed(5, disable=["theme"]))
    client.consent = False
    client.consent = True
    assert client.record("theme", "dark") is Outcome.DISABLED


ABSENT = """
[metrics.colour]
type = "category"
values = ["red", "blue"]
absent = "none"
epsilon = 0.1
"""


@pytest.mark.parametrize(
    ("fields", "reported"),
    # A day that was paid for before a metric is thinned is reported, with a value or without.
    [({}, 5), ({"disable": ["colour"]}, 0), ({"thin": {"colour": 1e-9}}, 1)],
)
def test_no_absence_is_reported_for_disabled_or_thinned_metrics(
    make, registry, collector, clock, fields, reported
):
    registry.write_text(registry.read_text("utf-8") + ABSENT, encoding="utf-8")
    collector.document = (200, signed(1, **fields))
    digest = registries.load(registry).metrics["colour"].spec.digest
    client = make()
    client.record("bystander", value=True)
    client.flush()
    assert client.status().remote_serial == 1
    for _ in range(4):
        clock.forward(days=1)
        client.record("bystander", value=True)
        client.flush()
    clock.forward(days=2)
    client.flush()
    found = [part.digest for upload in collector.uploads() for part in upload.parts]
    assert len(set(found)) == (2 if reported else 1)
    assert found.count(digest) == reported


def test_a_server_that_hangs_at_the_configuration_holds_neither_flush_nor_close(make_client):
    entered, released = threading.Event(), threading.Event()

    class Courier:
        def send(self, _body, _timeout_seconds):
            return Response(204)

        def fetch(self, *_arguments):
            entered.set()
            released.wait(60)
            raise TimeoutError

        def close(self):
            pass

    client = make_client(transport=Courier())
    client.record("late", value=True)
    begun = time.monotonic()
    client.flush(timeout_seconds=0.3)
    assert entered.wait(30)
    client.close()
    assert time.monotonic() - begun < 50  # and not 60
    assert client.status().sent == 1
    released.set()
