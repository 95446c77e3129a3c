from __future__ import annotations

import sys

import pytest

import deniable
from deniable import HttpTransport, ParameterError, RelayTransport, Response
from deniable.testing import RecordingClient, capture
from deniable_shared import wire
from deniable_shared.registry import Registry, Relay
from deniable_shared.sealing import X25519, PublicKey, envelope_bytes, read_header, tag_of
from tests.client.collector import collecting
from tests.client.conftest import DAY
from tests.client.relayed import HYBRID_KEY, KEY, OPENER, WRITE_KEY, relayed
from tests.client.signing import PUBLIC
from tests.client.transports import Accepting

BODY = wire.encode(wire.Upload(bytes(range(16)), (wire.Part(bytes(32), 20_800, b"\x01"),)))
METRIC = """
[metrics.theme]
type = "category"
values = ["light", "dark"]
complete = true
epsilon = 1.0
"""
BOTH = pytest.mark.parametrize("key", [KEY, HYBRID_KEY], ids=["x25519", "hybrid"])


class Sealing(Accepting):
    sealed = True


def transport_to(collector, key=KEY):
    return RelayTransport(Relay(collector.endpoint + "/base", key.public, "week"), WRITE_KEY)


@BOTH
def test_what_leaves_is_an_envelope_that_only_the_aggregator_opens(collector, key):
    assert transport_to(collector, key).send(BODY, 30.0) == Response(204)
    opened = OPENER.open(collector.bodies[0])
    assert wire.encode(opened.upload) == BODY
    assert opened.write_key == WRITE_KEY
    assert len(collector.bodies[0]) in envelope_bytes(key.public.suite)
    assert read_header(collector.bodies[0]).tag == tag_of(bytes(range(16)))


def test_the_write_key_is_nowhere_but_inside(collector):
    transport = transport_to(collector)
    transport.send(BODY, 30.0)
    transport.fetch("/v1/remote", 30.0, 4_096)
    ((path, headers),) = collector.requests
    assert path == "/base/v1/sealed"
    assert headers["Content-Type"] == "application/vnd.deniable.sealed"
    assert set(headers) == {
        "Host",
        "Accept-Encoding",
        "Content-Length",
        "User-Agent",
        "Connection",
        "Content-Type",
    }
    assert WRITE_KEY.encode() not in collector.bodies[0]
    assert bytes(range(38)) not in collector.bodies[0]
    assert WRITE_KEY not in repr(transport)


def test_to_the_aggregator_devices_differ_in_ids_noise_and_answers_alone(
    collector, make_client, clock, tmp_path
):
    """What it opens is all that reaches it of a device."""
    registry = relayed(collector.endpoint, METRIC)
    clients = []
    for number, value in enumerate(("dark", "dark", "light")):
        clock.now += DAY // 24
        client = make_client(
            registry=registry,
            endpoint=None,
            key=WRITE_KEY,
            directory=tmp_path / f"device {number}",
            another_process=True,
        )
        for _ in range(1 + number):
            client.record("theme", value)
        clients.append(client)
    clock.now += 3 * DAY
    assert [client.flush().sent for client in clients] == [1, 1, 1]
    seen = []
    for body in collector.bodies:
        write_key, upload = OPENER.open(body)
        (part,) = upload.parts
        assert write_key == WRITE_KEY
        assert body[:9] == collector.bodies[0][:9]
        assert read_header(body).tag == tag_of(upload.id)
        seen.append((part.digest, part.epoch, len(part.payload), len(body)))
    assert len(set(seen)) == 1
    assert len({OPENER.open(body).upload.id for body in collector.bodies}) == 3


def test_each_attempt_is_sealed_anew_under_the_same_tag(collector):
    transport = transport_to(collector)
    for _ in range(2):
        transport.send(BODY, 30.0)
    first, second = collector.bodies
    assert first[:25] == second[:25]
    assert first[25:57] != second[25:57]
    assert len(collector.connections) == 2


def test_transports_to_one_relay_with_one_key_are_equal(collector):
    one, same = transport_to(collector), transport_to(collector)
    assert one == same
    assert hash(one) == hash(same)
    for other in (
        transport_to(collector, HYBRID_KEY),
        RelayTransport(Relay(collector.endpoint, KEY.public, "week"), WRITE_KEY),
        HttpTransport(collector.endpoint + "/base", WRITE_KEY),
    ):
        assert one != other


@pytest.mark.parametrize("key", ["any text", "deniable_read_0123456789ab_x", WRITE_KEY[:-1]])
def test_a_key_that_cannot_travel_inside_is_refused_and_not_shown(key):
    with pytest.raises(ParameterError, match="deniable keys create --scope write") as raised:
        RelayTransport(Relay("https://relay.example.org", KEY.public, "week"), key)
    assert key not in str(raised.value)


@pytest.mark.parametrize("installed", [None, "49.0.0"])
def test_without_the_extra_a_client_says_what_to_install(monkeypatch, make_client, installed):
    import cryptography

    if installed is None:
        monkeypatch.setitem(sys.modules, "cryptography", None)
    else:
        monkeypatch.setattr(cryptography, "__version__", installed)
    with pytest.raises(ParameterError) as raised:
        make_client(registry=relayed(), endpoint=None, key=WRITE_KEY)
    assert "pip install 'deniable[relay]'" in str(raised.value)
    assert raised.value.value == (installed or "none")


def test_a_client_seals_to_the_relay_of_its_registry(make_client, collector, clock):
    registry = relayed(collector.endpoint)
    client = make_client(registry=registry, endpoint=None, key=WRITE_KEY)
    assert client.record("theme", "dark") == "recorded"
    clock.forward(days=2)
    assert client.flush().problem is None
    (envelope, *_) = collector.bodies
    assert OPENER.open(envelope).upload.parts[0].digest in {
        metric.spec.digest for metric in registry.metrics.values()
    }


def test_a_relay_that_is_away_is_not_passed_by(make_client, collector, clock, monkeypatch):
    monkeypatch.setenv("DENIABLE_ENDPOINT", collector.endpoint)
    client = make_client(registry=relayed("http://127.0.0.1:9"), endpoint=None, key=WRITE_KEY)
    client.record("theme", "dark")
    clock.forward(days=2)
    result = client.flush()
    assert result.problem.startswith("connection_refused: Nothing listens at http://127.0.0.1:9")
    assert result.sent == 0
    assert result.pending
    assert collector.requests == []


def test_an_endpoint_beside_a_relay_is_refused(make_client):
    with pytest.raises(ParameterError, match="endpoint must be left out, as everything goes"):
        make_client(registry=relayed(), endpoint="https://example.org", key=WRITE_KEY)
    with pytest.raises(ParameterError, match="transport must be one with sealed = True"):
        make_client(registry=relayed(), transport=Accepting())
    make_client(registry=relayed(), transport=Sealing())


def test_in_development_reports_leave_at_once_past_the_relay_to_this_machine(
    make_client, collector
):
    options = {"registry": relayed(), "key": WRITE_KEY, "development": True}
    client = make_client(endpoint=collector.endpoint, **options)
    client.record("theme", "dark")
    assert client.flush().sent == 1
    assert wire.decode(collector.bodies[0])
    assert collector.requests[0][0] == "/v1/reports"
    with pytest.raises(ParameterError, match="in development that of this machine"):
        make_client(endpoint="https://example.org", **options)


def test_in_development_without_an_endpoint_nothing_leaves_for_a_relay_elsewhere(
    make_client, capsys
):
    client = make_client(registry=relayed(), endpoint=None, key=WRITE_KEY, development=True)
    client.record("theme", "dark")
    client.flush()
    assert "nowhere, as https://relay.example.org is not on this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "words", "kept"),
    [
        (404, "no_relay: There is no relay at {}", True),
        (409, "relay_key_unknown: {} does not know the key", True),
        (403, "relay_forbids: Something in front of the relay {}", True),
        (400, "refused: {} refused a sealed report of the metric theme for good", False),
        (507, "server_full: The disk of {} is nearly full", True),
    ],
)
def test_what_a_relay_answers_is_said_of_a_relay(
    make_client, collector, clock, status, words, kept
):
    client = make_client(registry=relayed(collector.endpoint, METRIC), endpoint=None, key=WRITE_KEY)
    client.record("theme", "dark")
    clock.forward(days=2)
    collector.answer = lambda _body: (status, {})
    assert client.flush().problem.startswith(words.format(collector.endpoint))
    assert (client.status().dropped == {}) is kept


def test_a_key_to_which_nothing_can_be_sealed_keeps_reports_and_is_a_mistake(make_client, clock):
    registry = relayed("http://127.0.0.1:9")
    no_point = PublicKey(X25519, bytes(32))
    registry = Registry(
        registry.application,
        registry.budget,
        registry.metrics,
        relay=Relay("http://127.0.0.1:9", no_point, "week"),
    )
    client = make_client(registry=registry, endpoint=None, key=WRITE_KEY)
    client.record("theme", "dark")
    clock.forward(days=2)
    result = client.flush()
    assert result.problem.startswith("cannot_seal: No upload can be sealed here")
    assert result.pending


def test_remote_configuration_is_asked_of_the_relay(make_client, clock):
    with collecting() as relay:
        registry = relayed(relay.endpoint, f'[remote]\nkey = "{PUBLIC}"\n{METRIC}')
        client = make_client(registry=registry, endpoint=None, key=WRITE_KEY)
        client.record("theme", "dark")
        clock.forward(days=2)
        assert client.flush().sent == 1
        assert relay.fetched == ["/v1/remote"]


def test_tests_of_programs_need_no_relay(clock):
    client = RecordingClient(relayed(), clock=clock)
    client.record("theme", "dark")
    assert client.recorded == [("theme", "dark")]
    assert client.flush().sent == 0
    clock.now += 2 * DAY
    assert client.flush().sent > 0


def test_programs_with_a_relay_can_be_captured(tmp_path, clock):
    with capture() as captured:
        client = deniable.Client(
            relayed(), key=WRITE_KEY, directory=tmp_path, consent=True, clock=clock
        )
        client.record("theme", "dark")
    assert captured.recorded == [("theme", "dark")]


def test_the_transport_is_part_of_the_interface():
    assert "RelayTransport" in deniable.__all__
