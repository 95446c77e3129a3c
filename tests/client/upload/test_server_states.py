"""Whatever state the server is in: a flush ends in time and tells the truth, and exit is quick."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from deniable import _lifecycle
from deniable._upload import delivery
from tests.client.flushing import counts
from tests.client.socket_servers import serving, unused_port
from tests.waiting import wait_until

pytestmark = pytest.mark.service  # servers that wait

# Promised are the timeout of a flush, and one second for an exit. Who waits for the server instead
# waits for as long as an exchange may take; the margin is for machines with other work to do.
EXCHANGE_SECONDS = 120.0
SOON_SECONDS = 60.0
ANSWER = b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n"


def take(connection):
    """Reads one upload and does not answer."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(65_536)
    head, _, body = request.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return body


def answering(status, after_seconds=0.0):
    def handle(connection):
        take(connection)
        time.sleep(after_seconds)
        connection.sendall(ANSWER % status)
        connection.close()

    return handle


def hanging(connection):
    take(connection)
    connection.recv(1)  # until the client has gone


def dribbling(connection):
    take(connection)
    connection.sendall(b"HTTP/1.1 204 X\r\n")
    for number in range(10_000):
        connection.sendall(b"X-%d: " % number)
        time.sleep(0.01)


def resetting(connection):
    connection.close()


STATES = {
    "fine": answering(204),
    "slow": answering(204, after_seconds=0.3),
    "refusing for now": answering(503),
    "refusing for good": answering(400),
    "hanging": hanging,
    "dribbling": dribbling,
    "hanging up": resetting,
}


@pytest.fixture
def endpoint_in():
    """Returns the endpoint of a server in a state; if that is "down", nobody listens there."""
    with serving() as start, unused_port() as down:
        yield lambda state: f"http://127.0.0.1:{down if state == 'down' else start(STATES[state])}"


@pytest.mark.parametrize(
    ("state", "timeout_seconds", "result"),
    [
        ("fine", 60.0, (2, 0, 0)),
        ("slow", 60.0, (2, 0, 0)),
        ("refusing for now", 60.0, (0, 2, 0)),
        ("refusing for good", 60.0, (0, 0, 2)),
        ("hanging", 0.3, (0, 2, 0)),
        ("dribbling", 0.3, (0, 2, 0)),
        ("hanging up", 60.0, (0, 2, 0)),
        ("down", 60.0, (0, 2, 0)),
    ],
)
def test_a_flush_ends_in_time_and_counts_correctly(
    make_client, endpoint_in, monkeypatch, state, timeout_seconds, result
):
    monkeypatch.setattr(delivery, "SEND_TIMEOUT_SECONDS", EXCHANGE_SECONDS)
    client = make_client(endpoint=endpoint_in(state))
    client.record("theme", "dark")
    client.record("late", value=True)
    before = time.monotonic()
    assert counts(client.flush(timeout_seconds=timeout_seconds)) == result
    assert client.status().pending == result[1]
    assert time.monotonic() - before < timeout_seconds + SOON_SECONDS
    before = time.monotonic()
    client.close()
    assert time.monotonic() - before < SOON_SECONDS


def test_a_report_whose_flush_timed_out_is_delivered_once(make_client, collector):
    def dawdle(_body):
        collector.release.wait(30)
        return 204, {"Content-Length": "0"}

    collector.answer = dawdle
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    client.record("late", value=True)
    assert client.flush(timeout_seconds=0.05).sent == 0
    collector.release.set()
    wait_until(lambda: client.status().sent >= 1)
    assert client.flush().pending == 0
    assert len(collector.bodies) == len(set(collector.ids())) == 2


def test_an_exit_waits_for_less_than_a_second():
    assert _lifecycle.CLOSE_SECONDS + _lifecycle.STORAGE_SECONDS < 1.0


PROGRAM = """
import os, sys
import deniable
from deniable._upload import delivery
delivery.SEND_TIMEOUT_SECONDS = float(sys.argv[5])
client = deniable.Client(
    sys.argv[1], endpoint=sys.argv[3], key="k", directory=sys.argv[2], consent=True,
    upload_delay_seconds=0,
)
assert client.record("theme", "dark") == "recorded"
assert client.record("late", True) == "recorded"
if sys.argv[4] == "flush":
    client.flush(timeout_seconds=0.2)
os.write(1, b"end of main")
"""


@pytest.mark.parametrize("state", ["down", *STATES])
@pytest.mark.parametrize("last", ["flush", "record"])
def test_a_process_exits_at_once_and_loses_nothing(
    registry, directory, make_client, endpoint_in, state, last
):
    command = [sys.executable, "-c", PROGRAM, str(registry), str(directory)]
    process = subprocess.Popen(
        [*command, endpoint_in(state), last, str(EXCHANGE_SECONDS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout.read(11) == b"end of main"
        assert process.wait(timeout=SOON_SECONDS) == 0
        assert process.stderr.read() == b""
    if state not in ("fine", "slow", "refusing for good"):
        assert make_client(consent=False).status().pending == 2
