"""Nothing of a sender stays on the server: not in its store, its logs, its metrics, its errors.

The real client and others that send all that a client can send talk to the real server. Then
everything that it has left on disk, printed and answered is searched for it.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import sqlite3
import subprocess
import time

import httpx
import pytest

import deniable
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.end_to_end import asking, traces
from tests.end_to_end.serving import running, show
from tests.end_to_end.test_kill_minus_nine import METRICS, REGISTRY
from tests.ports import HOST, free_port

ADDRESS = "127.0.0.9"
"""From where the requests come, on a machine whose server is told apart by its own 127.0.0.1."""

ADDRESSES = (ADDRESS, "203.0.113.77", "198.51.100.23", "2001:db8::77")
MARKS = (
    "particular-agent",
    "cookie-4242",
    "referrer-4242",
    "request-4242",
    "device-4242",
    "path-4242",
    "host-4242.example",
    "candidate-4242",
    "4bf92f3577b34da6a3ce929d0e0e4736",
)
HEADERS = {
    "User-Agent": "particular-agent/7",
    "X-Forwarded-For": "203.0.113.77",
    "X-Real-IP": "198.51.100.23",
    "Forwarded": 'for="[2001:db8::77]"',
    "Cookie": "session=cookie-4242",
    "Referer": "https://referrer-4242/",
    "X-Request-Id": "request-4242",
    "X-Device": "device-4242",
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "Host": "host-4242.example",
}
RUNS = 5
"""A run finds what is not there with a probability below 0.001, and all of them below 1e-15."""

UNKNOWN_TOKEN = f"deniable_write_0123456789ab_{'Qz' * 21}x"


def keys(target):
    today = epoch_at(time.time())
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        return {
            scope: create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "batch", "read", "admin")
        }


class Sender:
    """Sends with every header that could point at it, and notes the ids of its uploads."""

    def __init__(self, url):
        self.url = url
        self.ids = []
        self.refusals = []
        transport = httpx.HTTPTransport(local_address=ADDRESS, verify=False)
        self.http = asking.client(transport=transport, headers=HEADERS)

    def close(self):
        self.http.close()

    def upload(self, token, payload=b"\x01", epoch=None, digest=METRICS["theme"].spec.digest):
        self.ids.append(secrets.token_bytes(16))
        epoch = epoch_at(time.time()) if epoch is None else epoch
        body = wire.encode(wire.Upload(self.ids[-1], (wire.Part(digest, epoch, payload),)))
        return self.send(body, token)

    def send(self, body, token, path="/v1/reports?device=device-4242", method="POST"):
        kind = wire.CONTENT_TYPE if path.startswith("/v1/reports") else "application/json"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
        answer = self.http.request(method, self.url + path, content=body, headers=headers)
        # A refused question quotes what the analyst typed, and nobody else reads it.
        if answer.is_error and not path.startswith("/v1/metrics/"):
            self.refusals.append(answer.content)
        return answer.status_code


def talk(sender, tokens, target):
    """Everything that a sender can be answered."""
    token = tokens["write"]
    assert sender.upload(token) == 204
    assert sender.upload(token, b"\x00\x01\x02") == 204
    assert sender.send(b"", token) == 400
    assert sender.send(b"\xc1nonsense", token) == 400
    assert sender.upload(token, b"\x09") == 422
    assert sender.upload(token, epoch=0) == 410
    assert sender.upload(token, epoch=epoch_at(time.time()) + 9) == 425
    assert sender.upload(token, digest=bytes(32)) == 409
    assert sender.upload(UNKNOWN_TOKEN) == 401
    assert sender.upload("x" * 300) == 401
    assert sender.upload(tokens["read"]) == 403
    assert sender.send(bytes(9 << 20), token) == 413
    assert sender.send(b"", token, "/path-4242") == 404
    assert sender.send(b"", token, "/v1/reports?path-4242", "DELETE") == 405
    path = "/v1/metrics/path-4242/estimate?since=device-4242"
    assert sender.send(b"", tokens["read"], path, "GET") == 400
    question = b'{"candidates": ["candidate-4242"]}'
    assert sender.send(question, tokens["read"], "/v1/metrics/absent/estimate") == 404
    assert sender.send(question[1:], tokens["read"], "/v1/metrics/theme/estimate") == 400
    show(target)
    assert sender.send(b"", tokens["read"], "/v1/metrics/theme/estimate", "GET") == 200
    with socket.create_connection((HOST, int(sender.url.rpartition(":")[2]))) as connection:
        connection.sendall(b"particular-agent is no HTTP\r\n\r\n")
        connection.settimeout(10)
        with contextlib.suppress(OSError):
            connection.recv(1_000)


def use_the_client(url, token, directory):
    options = {"endpoint": url, "key": token, "directory": directory, "consent": True}
    with deniable.Client(registry.parse(REGISTRY), **options) as client:
        assert client.record("theme", "dark") == "recorded"
        assert client.flush(timeout_seconds=asking.PATIENCE_SECONDS).sent == 1


@pytest.mark.parametrize(
    ("kind", "log_format"), [("sqlite", "json"), ("postgresql", "text")], ids=lambda word: word
)
def test_nothing_of_a_sender_is_left(kind, log_format, tmp_path, request):
    """What is left is left every time; a chance likeness to four random bytes is not."""
    found = None
    for run in range(RUNS):
        folder = tmp_path / str(run)
        folder.mkdir()
        again = what_is_left(kind, log_format, folder, request)
        found = again if found is None else found & again
        if not found:
            break
    assert not found


def what_is_left(kind, log_format, tmp_path, request):
    """What is found where, as pairs, after a server was used."""
    start = time.time()
    folder = tmp_path / "server"
    folder.mkdir()
    target = folder / "store.db"
    database = None
    if kind == "postgresql":
        database = request.getfixturevalue("postgresql")
        target = database.fresh_database()
    tokens = keys(target)
    watched = free_port()
    options = ("--store", str(target), "--metrics-port", str(watched), "--fold-seconds", "0.05")
    options += ("--log-format", log_format, "--log-level", "debug")
    left = {}
    with running(folder / "store.db", *options) as server:
        with contextlib.closing(Sender(server.url)) as sender:
            talk(sender, tokens, target)
        use_the_client(server.url, tokens["write"], tmp_path / "device")
        left["metrics"] = asking.get(f"http://{HOST}:{watched}/metrics").content
        reading = {"Authorization": f"Bearer {tokens['admin']}"}
        for path in ("/v1/status", "/v1/metrics", "/readyz"):
            left[path] = asking.get(server.url + path, headers=reading).content
        left |= {f"running: {each.name}": each.read_bytes() for each in folder.iterdir()}
        assert server.stop() == 0
    left |= {each.name: each.read_bytes() for each in folder.iterdir()}
    left |= {f"refusal {number}": each for number, each in enumerate(sender.refusals)}
    if database is None:
        with contextlib.closing(sqlite3.connect(target)) as connection:
            left["dump"] = "\n".join(connection.iterdump()).encode()
    else:
        left["dump"] = subprocess.run(["pg_dump", target], capture_output=True, check=True).stdout
        left["database's log"] = database.log.read_bytes()
    assert b"flightdeck" in left["dump"]
    assert b"deniable_uploads_total" in left["metrics"]
    assert len(left["store.log"].splitlines()) == 1

    sought = {
        "an address": set().union(*map(traces.of_address, ADDRESSES)),
        "a mark": set().union(*map(traces.of_text, MARKS)),
        "an upload's id": set().union(*map(traces.of_bytes, sender.ids)),
        "a token": {
            each
            for token in (*tokens.values(), UNKNOWN_TOKEN)
            for each in traces.of_text(token.split("_", 3)[3])  # the secret, which may have a _ too
        },
    }
    sought["a time"] = traces.of_times(start, time.time())
    return {
        (what, name)
        for name, data in left.items()
        for what, needles in sought.items()
        # The database's own lines of starting and stopping have times.
        if (what, name) != ("a time", "database's log") and traces.left_in(data, needles)
    }


@pytest.mark.parametrize(
    "written",
    [
        str(1_800_000_123).encode(),
        b"1800000123.75",
        b"at 2027-01-15T08:02:03Z",
        (1_800_000_123).to_bytes(4, "big"),
        (1_800_000_123).to_bytes(8, "little"),
        (1_800_000_123_456).to_bytes(8, "big"),
        (1_800_000_123_456_789).to_bytes(8, "little"),
        (1_800_000_123_456_789_012).to_bytes(8, "big"),
        b"\\x" + (1_800_000_123).to_bytes(4, "big").hex().encode(),
        b"X'" + (1_800_000_123).to_bytes(4, "big").hex().upper().encode() + b"'",
    ],
)
def test_a_time_would_be_found(written):
    sought = traces.of_times(1_800_000_120, 1_800_000_130)
    assert traces.left_in(b"before " + written + b" after", sought)
    assert not traces.left_in(b"before the 20833rd day, and after", sought)


def test_an_address_and_an_id_would_be_found():
    identifier = bytes(range(16))
    for written in (identifier, identifier.hex().upper().encode()):
        assert traces.left_in(b"x" + written, traces.of_bytes(identifier))
    for written in (b"203.0.113.77", bytes([203, 0, 113, 77]), b"cb00714d"):
        assert traces.left_in(b"x" + written, traces.of_address("203.0.113.77"))
