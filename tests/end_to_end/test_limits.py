"""Limits of the running server: slow clients, large bodies, too many of them, an end under load."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import sqlite3
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from select import select

import httpx
import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry
from deniable_shared.periods import epoch_at
from tests.end_to_end import asking
from tests.end_to_end.connections import dripping, exchange, head, read
from tests.end_to_end.serving import running
from tests.end_to_end.test_kill_minus_nine import REGISTRY
from tests.end_to_end.test_served import body, counted, headers, stored
from tests.ports import HOST, free_port
from tests.waiting import wait_until

SLOW_CLIENTS = 200
WAITING_UPLOADS = 40
"""More than a server with threads would have threads."""

REQUESTS = 100
GENEROUS_SECONDS = 2.0
"""Half of the requests take far less, and with a thread for each slow client all would wait."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def tokens(path):
    return keys(path)


def keys(path):
    today = epoch_at(time.time())
    with contextlib.closing(Store(path)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        return {
            scope: create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("batch", "read")
        }


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """A server without options that tests share, and its keys."""
    path = tmp_path_factory.mktemp("usual") / "store.db"
    tokens = keys(path)
    with running(path) as server:
        yield server, tokens


def client_of(server, token):
    return asking.client(base_url=server.url, headers=headers(token))


def connected(server):
    return socket.create_connection((HOST, server.port), timeout=asking.PATIENCE_SECONDS)


def told(answer):
    """Status and problem code of a raw answer."""
    start, _, document = answer.partition(b"\r\n\r\n")
    return int(start.split()[1]), json.loads(document)["code"]


def test_what_does_not_come_is_given_up(path, tokens):
    """Bodies, headers, and whatever else an idle connection might bring."""
    whole = body()
    with running(path, "--body-seconds", "0.3", "--header-seconds", "1") as server:
        for announced, sent in (
            ("Content-Length: 256", whole[:100]),
            ("Content-Length: 1000000", whole[:100]),
            ("Transfer-Encoding: chunked", b"64\r\n" + whole[:100] + b"\r\n"),
        ):
            answer = exchange(server.port, head(tokens["batch"], announced), sent)
            assert told(answer) == (408, "body_too_slow")
        assert exchange(server.port, head(tokens["batch"])[:-2]) == b""
        assert exchange(server.port) == b""

        def answered():
            url, known = f"{server.url}/v1/reports", headers(tokens["batch"])
            return asking.post(url, content=whole, headers=known).status_code

        wait_until(lambda: answered() == 204)  # on a busy machine even these may be too slow
        assert counted(server, tokens["read"]) == 1


def test_what_is_refused_by_its_headers_is_not_read(usual):
    """The rest of the body never comes, and the answer comes all the same."""
    server, tokens = usual
    huge = "Content-Length: 99999999"
    answer = exchange(server.port, head(tokens["batch"], huge), b"x")
    assert told(answer) == (413, "upload_too_large")
    answer = exchange(server.port, head("nobody", huge), b"x")
    assert told(answer) == (401, "unknown_key")
    question = head("nobody", huge).replace(b"/v1/reports", b"/v1/metrics/theme/estimate")
    assert told(exchange(server.port, question, b"x")) == (401, "unknown_key")
    question = head(tokens["read"], "Content-Length: 999999999999")
    question = question.replace(b"/v1/reports", b"/v1/metrics/theme/estimate")
    assert told(exchange(server.port, question, b"x")) == (413, "upload_too_large")


def test_a_body_that_is_cut_off_is_not_counted(usual):
    server, tokens = usual
    before = counted(server, tokens["read"])
    whole = body(b"\x01" * 200_000)
    for announced, sent in (
        ("Content-Length: 256", body()[:100]),
        (f"Content-Length: {len(whole)}", whole[:-1]),
        ("Transfer-Encoding: chunked", b"ff\r\n" + body()[:100]),
        ("Transfer-Encoding: chunked", b"zz\r\n" + body()),
        ("Transfer-Encoding: chunked", b"10\r\n" + body()),
    ):
        answer = exchange(server.port, head(tokens["batch"], announced), sent, end=True)
        assert told(answer) == (408, "body_cut_off")  # which no client takes for final
    assert counted(server, tokens["read"]) == before


def test_memory_for_bodies_is_shared_and_given_back(path, tokens):
    """While one large body is half there, another is refused before it is read."""
    whole = body(b"\x01" * 100_000)
    limits = ("--max-body-bytes", "131072", "--in-flight-bytes", "131072", "--body-seconds", "60")
    with running(path, *limits) as server:

        def post():
            url, content = f"{server.url}/v1/reports", body(b"\x01" * 100_000)
            return asking.post(url, content=content, headers=headers(tokens["batch"]))

        def half(stack):
            connection = stack.enter_context(connected(server))
            connection.sendall(head(tokens["batch"], f"Content-Length: {len(whole)}"))
            connection.sendall(whole[:60_000])
            return connection

        stored = 1
        with contextlib.ExitStack() as stack:
            connection = half(stack)
            while (answer := post()).status_code == 204:  # until the half has arrived
                stored += 1
                if select([connection], [], [], 0)[0]:  # a whole one was there first: refused
                    connection = half(stack)
            assert (answer.status_code, answer.json()["code"]) == (429, "overloaded")
            assert int(answer.headers["Retry-After"]) > 0
            connection.sendall(whole[60_000:])
            assert connection.recv(1_000).startswith(b"HTTP/1.1 204")
        assert [post().status_code for _ in range(3)] == [204] * 3
        assert counted(server, tokens["read"]) == (stored + 3) * 100_000


def test_what_a_server_has_no_room_for_is_refused_and_not_counted(path, tokens):
    """While somebody else writes to the store, uploads pile up."""
    with running(path, "--queue-uploads", "1", "--queue-seconds", "60") as server:
        answers = []

        def upload(_):
            with client_of(server, tokens["batch"]) as client:
                answers.append(client.post("/v1/reports", content=body()))

        with (
            ThreadPoolExecutor(16) as pool,
            contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
        ):
            other.execute("BEGIN IMMEDIATE")
            sending = [pool.submit(upload, each) for each in range(16)]
            wait_until(lambda: answers)
            other.execute("ROLLBACK")
            for each in sending:
                each.result()
        accepted = sum(answer.status_code == 204 for answer in answers)
        refused = [answer for answer in answers if answer.status_code == 429]
        # 503 if this machine was so busy that the writer gave up.
        assert {answer.status_code for answer in answers} - {503} == {204, 429}
        assert {answer.json()["code"] for answer in refused} == {"overloaded"}
        assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
        assert counted(server, tokens["read"]) == accepted


def test_health_is_answered_while_every_upload_waits_for_the_store(path, tokens):
    metrics_port = free_port()
    options = ("--queue-seconds", "600", "--metrics-port", str(metrics_port))
    with (
        running(path, *options) as server,
        ThreadPoolExecutor(WAITING_UPLOADS) as pool,
        Path(f"{path}.lock").open() as lock,
    ):
        whole = [body() for _ in range(WAITING_UPLOADS)]

        def upload(content):
            url = f"{server.url}/v1/reports"
            return asking.post(url, content=content, headers=headers(tokens["batch"])).status_code

        def waiting_bytes():
            text = asking.get(f"http://{HOST}:{metrics_port}/metrics").text
            (line,) = re.findall(r"^deniable_in_flight_bytes (.*)$", text, re.MULTILINE)
            return float(line)

        fcntl.flock(lock, fcntl.LOCK_EX)  # as a writer of another process that hangs
        try:
            sending = [pool.submit(upload, content) for content in whole]
            wait_until(lambda: waiting_bytes() == sum(map(len, whole)))
            assert asking.get(f"{server.url}/healthz").status_code == 200
            assert not any(each.done() for each in sending)
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
        assert {each.result() for each in sending} == {204}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["headers", "body"])
def test_slow_clients_do_not_make_others_wait(usual, where):
    server, tokens = usual
    before = counted(server, tokens["read"])
    drip = head(tokens["batch"], "X: " + "x" * 100, "Content-Length: 256")
    if where == "body":
        # A first piece with all headers, and then byte by byte.
        drip = body()
    with contextlib.ExitStack() as stack:
        if where == "headers":
            stack.enter_context(dripping(server.port, SLOW_CLIENTS, drip))
        else:
            for _ in range(SLOW_CLIENTS):
                connection = connected(server)
                stack.enter_context(connection)
                connection.sendall(head(tokens["batch"], "Content-Length: 256") + drip[:1])
        waited = []
        with client_of(server, tokens["batch"]) as client:
            for _ in range(REQUESTS):
                start = time.monotonic()
                assert client.post("/v1/reports", content=body()).status_code == 204
                waited.append(time.monotonic() - start)
        assert statistics.median(waited) < GENEROUS_SECONDS
        assert counted(server, tokens["read"]) == before + REQUESTS


@pytest.mark.slow
def test_an_end_under_load_turns_readiness_first_and_loses_nothing(path, tokens):
    with running(path, "--drain-seconds", "600") as server:
        uploaded = threading.Event()

        def uploads(_):
            """How many were acknowledged until the server was gone."""
            acknowledged = 0
            with (
                contextlib.suppress(httpx.TransportError),
                client_of(server, tokens["batch"]) as client,
            ):
                while True:
                    status = client.post("/v1/reports", content=body()).status_code
                    assert status in (204, 503)
                    acknowledged += status == 204
                    uploaded.set()
            return acknowledged

        with ThreadPoolExecutor(8) as pool, connected(server) as begun:
            sending = [pool.submit(uploads, each) for each in range(8)]
            whole = body()
            begun.sendall(head(tokens["batch"], "Content-Length: 256") + whole[:100])
            assert uploaded.wait(asking.PATIENCE_SECONDS)
            server.process.terminate()
            wait_until(lambda: asking.get(f"{server.url}/readyz").status_code == 503)
            answer = asking.get(f"{server.url}/readyz")
            assert answer.json()["checks"]["draining"] != "ok"
            assert asking.get(f"{server.url}/healthz").status_code == 200
            for worker in server.children():
                os.kill(worker, signal.SIGINT)  # as it does to itself when the time is over
            acknowledged = sum(each.result() for each in sending)
            # It accepts nothing more, and still answers what it has begun.
            with pytest.raises(ConnectionRefusedError):
                connected(server).close()
            begun.sendall(whole[100:])
            assert read(begun).startswith(b"HTTP/1.1 204")
        assert server.process.wait(asking.PATIENCE_SECONDS) == 0
    assert acknowledged > 0
    assert stored(path) >= acknowledged + 1


def test_an_end_does_not_wait_for_clients_that_hang(path, tokens):
    options = ("--drain-seconds", "0", "--body-seconds", "0.5", "--header-seconds", "1")
    with (
        running(path, *options) as server,
        connected(server) as body_missing,
        connected(server) as head_missing,
    ):
        body_missing.sendall(head(tokens["batch"], "Content-Length: 256"))
        head_missing.sendall(b"POST ")
        assert server.stop() == 0
