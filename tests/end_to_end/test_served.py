"""``deniable serve`` as an operator meets it."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import httpx
import pytest

from deniable_aggregator import Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.end_to_end import asking
from tests.end_to_end.serving import answers, running, show, start
from tests.end_to_end.test_kill_minus_nine import REGISTRY
from tests.ports import HOST, free_port
from tests.waiting import wait_until

SPEC = registry.parse(REGISTRY).metrics["theme"].spec
PAGE = "https://app.example.org"
"""Of this origin browsers may send."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def tokens(path):
    return keys(path)


def keys(target):
    today = epoch_at(time.time())
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        return {
            scope: create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "read", "admin")
        }


def body(payload=b"\x01"):
    part = wire.Part(SPEC.digest, epoch_at(time.time()), payload)
    return wire.encode(wire.Upload(secrets.token_bytes(16), (part,)))


def headers(token):
    return {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}


def send(server, token, content):
    return asking.post(f"{server.url}/v1/reports", content=content, headers=headers(token))


def counted(server, token):
    """How many reports the server answers about; 0 if it says that there are none."""
    server.show()
    answer = None

    def is_answered():
        nonlocal answer
        answer = asking.get(f"{server.url}/v1/metrics/theme/estimate", headers=headers(token))
        return answer.status_code != 503  # as it is while what answers has only just been started

    wait_until(is_answered)
    return answer.json().get("head", {}).get("reports", 0)


def stored(path):
    """How many reports a store has that nobody serves."""
    show(path)
    with contextlib.closing(Store(path)) as store:
        return int(store.tallies.total(tally_for(SPEC), 0, 10**6).cells.sum())


@pytest.fixture(scope="module")
def usual_path(tmp_path_factory):
    return tmp_path_factory.mktemp("usual") / "store.db"


@pytest.fixture(scope="module")
def usual(usual_path):
    """A server that tests share if they leave it as it was, and its keys."""
    tokens = keys(usual_path)
    with running(usual_path, "--browser-origins", PAGE) as server:
        yield server, tokens


@pytest.fixture
def new_reports(usual):
    """How many reports the shared server has counted since the test began."""
    server, tokens = usual
    before = counted(server, tokens["read"])
    return lambda: counted(server, tokens["read"]) - before


def test_a_value_goes_over_http_into_an_estimate(usual, new_reports):
    server, tokens = usual
    assert send(server, tokens["write"], body(b"\x00\x01\x01\x02")).status_code == 204
    assert new_reports() == 4


def test_all_that_is_no_upload_goes_through_threads_as_it_was_sent(usual, new_reports):
    server, tokens = usual
    assert send(server, tokens["write"], body(b"\x00\x01")).status_code == 204
    assert new_reports() == 2
    reports = counted(server, tokens["read"])
    url = f"{server.url}/v1/metrics/theme/estimate"
    reader = {**headers(tokens["read"]), "Content-Type": "application/json"}
    long = b'{"candidates": ["light"]}' + b" " * 9_000_000  # longer than an upload may be
    for content in (long, iter([long[:10], long[10:]])):
        answer = asking.post(url, content=content, headers=reader, params={"interval": "one"})
        assert answer.json()["head"]["reports"] == reports, answer.text
        assert answer.json()["head"]["interval"]["kind"] == "one"
    missing = asking.get(f"{server.url}/v1/metrics/th%C3%A9me%20%2B/estimate", headers=reader)
    assert missing.json()["code"] == "unknown_metric"
    assert asking.head(f"{server.url}/healthz").content == b""
    assert asking.get(f"{server.url}/readyz").json()["status"] == "ok"
    wrong = asking.put(f"{server.url}/v1/reports", content=b"x", headers=reader)
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "OPTIONS, POST")


@pytest.mark.parametrize(
    "line", ["CONNECT e:443", "CONNECT /v1/reports", "TRACE /", "BREW /", "connect e:1"]
)
def test_a_method_that_nobody_takes_is_refused_without_a_word_in_the_log(usual, line):
    server, _ = usual
    before = server.output.read_text()
    with socket.create_connection((HOST, server.port)) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert b'"code":"method_not_allowed"' in answer
    assert server.output.read_text() == before


def test_an_upload_of_too_many_parts_is_refused_without_a_word_in_the_log(usual):
    server, tokens = usual
    before = server.output.read_text()
    parts = [wire.Part(SPEC.digest, epoch_at(time.time()), b"\x01")] * wire.MAX_PARTS
    whole = wire.encode(wire.Upload(secrets.token_bytes(16), tuple(parts)))
    more = whole.replace(b"\xdc\x04\x00", b"\xdc\x04\x01", 1)  # an array of one part more
    assert send(server, tokens["write"], more).json()["code"] == "upload_too_large"
    assert answers(server.url)
    assert server.output.read_text() == before


def test_pages_of_an_allowed_origin_may_send_and_no_answer_is_taken_for_a_script(usual):
    server, tokens = usual
    reports = f"{server.url}/v1/reports"
    asked = asking.options(reports, headers={"Origin": PAGE})
    assert (asked.status_code, asked.headers["Access-Control-Allow-Methods"]) == (204, "POST")
    sender = {**headers(tokens["write"]), "Origin": PAGE}
    sent = [asking.post(reports, content=each, headers=sender) for each in (body(), b"no")]
    assert [answer.status_code for answer in sent] == [204, 400]
    for answer in (asked, *sent):
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE
    others = [asking.get(server.url + other) for other in ("/healthz", "/v1/status", "/no")]
    for answer in others:
        assert "Access-Control-Allow-Origin" not in answer.headers
    for answer in (asked, *sent, *others):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_an_upload_cut_off_on_its_way_is_not_counted_and_harms_nobody(usual, new_reports):
    server, tokens = usual
    whole = body()
    head = "POST /v1/reports HTTP/1.1\r\nHost: x\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in headers(tokens["write"]).items()
    )
    for announced, close in ((f"Content-Length: {len(whole)}", True), (None, True)):
        with socket.create_connection(
            (HOST, server.port), timeout=asking.PATIENCE_SECONDS
        ) as connection:
            length = announced or "Transfer-Encoding: chunked"
            sent = whole[:100] if announced else b"64\r\n" + whole[:100] + b"\r\n"
            connection.sendall(f"{head}{length}\r\n\r\n".encode() + sent)
            if close:
                connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(1_000)
            assert b"204" not in answer.split(b"\r\n")[0]
    assert send(server, tokens["write"], whole).status_code == 204
    assert new_reports() == 1


def test_a_chunked_upload_is_accepted_and_an_endless_one_is_not(usual, new_reports):
    server, tokens = usual
    whole = body()
    assert send(server, tokens["write"], iter([whole[:50], whole[50:]])).status_code == 204
    endless = (bytes(1 << 20) for _ in range(64))
    with contextlib.suppress(httpx.TransportError):  # it may hang up while we still send
        answer = send(server, tokens["write"], endless)
        assert answer.json()["code"] == "upload_too_large"
    assert new_reports() == 1


def test_an_orderly_stop_loses_nothing(path, tokens):
    with running(path, "--fold-seconds", "1000") as server:
        assert send(server, tokens["write"], body(b"\x02\x02")).status_code == 204
        assert server.stop() == 0
    assert stored(path) == 2


def kill_workers(server, times):
    """Kills every worker, until the server has said so often that another starts a while later."""
    while server.output.read_text().count("the worker died twice") < times:
        for worker in server.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        time.sleep(0.01)


def test_a_worker_that_dies_is_started_again_however_often(path, tokens):
    with running(path) as server:
        assert send(server, tokens["write"], body()).status_code == 204
        (worker,) = server.children()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: server.children() not in ([], [worker]) and answers(server.url))
        assert send(server, tokens["write"], body()).status_code == 204
        assert counted(server, tokens["read"]) == 2
        kill_workers(server, 1)
        wait_until(lambda: answers(server.url))
        assert send(server, tokens["write"], body()).status_code == 204
        kill_workers(server, 2)
        assert server.stop() == 0  # also while it waits
    assert stored(path) == 3


def serve(path, *options):
    """A server that is expected not to start."""
    command = [sys.executable, "-m", "deniable_aggregator", "serve", "--store", str(path)]
    command += ["--port", str(free_port()), *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=asking.PATIENCE_SECONDS, check=False
    )


def test_a_store_that_cannot_be_used_is_one_clear_line(path):
    path.write_bytes(b"this is no database" * 1_000)
    done = serve(path)
    assert done.returncode == 1
    assert "Restore it from a backup" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_metric_of_a_later_version_is_named_and_keeps_no_server_from_working(path, tokens):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE metrics SET spec = '{}'")
    with running(path) as server:
        assert send(server, tokens["write"], body()).json()["code"] == "server_outdated"
        assert asking.get(f"{server.url}/readyz").status_code == 200
        told = server.output.read_text()
    assert told.count("metric theme of flightdeck: registered by a later version") == 1


def test_a_key_made_beside_a_running_server_works_at_once(usual, usual_path):
    server, _ = usual
    command = [sys.executable, "-m", "deniable_aggregator", "keys", "create"]
    command += ["--store", str(usual_path), "--scope", "admin", "--application", "flightdeck"]
    token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    answer = asking.get(f"{server.url}/v1/status", headers=headers(token))
    assert answer.status_code == 200


def test_a_taken_port_is_told(usual, path):
    server, _ = usual
    done = serve(path, "--port", str(server.port))
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_ends_with_its_parent_and_the_next_server_gets_the_port(path, tokens):
    with running(path) as server:
        assert send(server, tokens["write"], body()).status_code == 204
        server.process.kill()
        server.process.wait()
        # The worker does, for a moment; it is not to be taken for the next server.
        wait_until(lambda: not answers(server.url))
        with contextlib.closing(start(path, port=server.port)) as following:
            assert counted(following, tokens["read"]) == 1
