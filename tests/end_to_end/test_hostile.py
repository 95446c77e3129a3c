"""Requests that no client makes, sent to the running server."""

from __future__ import annotations

import contextlib
import json
import secrets
import time

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.end_to_end.connections import exchange, head
from tests.end_to_end.serving import running
from tests.end_to_end.test_kill_minus_nine import REGISTRY

SPEC = registry.parse(REGISTRY).metrics["theme"].spec
HUGE = "Content-Length: 200000000"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that hangs up soon, and two tokens."""
    path = tmp_path_factory.mktemp("hostile") / "store.db"
    today = epoch_at(time.time())
    with contextlib.closing(Store(path)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        token = create_key(store, scope="write", application="flightdeck", label="", today=today)
    with running(path, "--header-seconds", "1", "--max-body-bytes", "65536") as server:
        yield server.port, token


def body():
    part = wire.Part(SPEC.digest, epoch_at(time.time()), b"\x01")
    return wire.encode(wire.Upload(secrets.token_bytes(16), (part,)))


def told(answer):
    """Status and problem code of a raw answer; no code if there is no document."""
    start, _, document = answer.partition(b"\r\n\r\n")
    return int(start.split()[1]), json.loads(document)["code"] if document else None


@pytest.mark.parametrize("question", ["estimate", "series", "change"])
def test_keys_that_ship_with_applications_cannot_make_the_server_read_questions(served, question):
    port, token = served
    asked = head(token, HUGE)
    asked = asked.replace(b"/v1/reports", f"/v1/metrics/theme/{question}".encode())
    assert told(exchange(port, asked, b"[")) == (403, "wrong_scope")


@pytest.mark.parametrize(
    "lengths",
    [
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ("Transfer-Encoding: chunked",),
    ],
)
def test_a_length_that_is_not_the_bodys_does_not_get_around_the_limit(served, lengths):
    port, token = served
    chunk = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
    answer = exchange(port, head(token, *lengths), chunk * 2 + b"0\r\n\r\n")
    assert told(answer) == (413, "upload_too_large")


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 256", "Content-Length: 3"),
        ("Content-Length: +256",),
        ("Transfer-Encoding: xchunked", "Content-Length: 256"),
        ("X-Odd: \x01", "Content-Length: 256"),
    ],
)
def test_what_two_servers_could_read_differently_is_refused(served, lines):
    port, token = served
    assert told(exchange(port, head(token, *lines), body()))[0] == 400


@pytest.mark.parametrize("token", ["\x80\xff", "a" * 50_000, "deniable_write_", ""])
def test_whatever_is_sent_as_a_key_is_an_unknown_key(served, token):
    port, _ = served
    sent = head("TOKEN", "Connection: close", "Content-Length: 0")
    for request in (sent, sent.replace(b"POST /v1/reports", b"GET /v1/metrics")):
        answer = exchange(port, request.replace(b"TOKEN", token.encode("latin-1")))
        assert told(answer) == (401, "unknown_key")
