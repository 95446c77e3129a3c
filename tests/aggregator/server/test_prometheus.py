from __future__ import annotations

import re
import socket
import threading
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from deniable_aggregator.doors.server.prometheus import PrometheusCollector
from deniable_aggregator.doors.server.questions import QuestionProcesses
from deniable_aggregator.keeping.group_commit import Histogram
from deniable_aggregator.keeping.settings import Settings
from deniable_aggregator.keeping.store import StoreUnavailableError
from tests.aggregator.service import TODAY, upload
from tests.ports import free_port
from tests.waiting import wait_until


@pytest.fixture
def telemetry(service):
    made = PrometheusCollector(service.running, in_flight_bytes=lambda: 7)
    yield made
    made.close()


def values(text):
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_uploads_are_counted_by_application_and_outcome(service, telemetry):
    first = upload()
    for body, key in ((first, None), (first, None), (upload(b"\x07"), None), (first, "no key")):
        service.send(body, key=key)
    found = values(telemetry.text())
    uploads = {key[1:]: value for key, value in found.items() if key[0] == "deniable_uploads_total"}
    assert uploads == {
        ("flightdeck", "accepted"): 1,
        ("flightdeck", "duplicate"): 1,
        ("flightdeck", "malformed_report"): 1,
        ("", "unknown_key"): 1,
    }


@pytest.mark.one_store
def test_uploads_that_came_too_early_and_too_late_are_counted_apart(service, telemetry):
    for epoch in (TODAY + 2, TODAY + 3, TODAY - 15, TODAY):
        service.send(upload(epoch=epoch))
    found = values(telemetry.text())
    counts = [
        found["deniable_uploads_total", "flightdeck", outcome]
        for outcome in ("epoch_future", "epoch_closed", "accepted")
    ]
    assert counts == [2, 1, 1]


def test_commits_the_inbox_and_the_fold_are_measured(service, telemetry):
    service.send(upload(b"\x01\x02"))
    found = values(telemetry.text())
    assert found["deniable_commit_seconds_count",] == 1
    assert found["deniable_commit_uploads_bucket", "1"] == 1
    assert found["deniable_inbox_rows",] == 1
    assert found["deniable_inbox_bytes",] == 2
    assert found["deniable_reports_folded_total",] == 0
    assert found["deniable_in_flight_bytes",] == 7
    assert found["deniable_store_bytes",] > 4_096
    assert service.counts() == [0, 1, 1]
    found = values(telemetry.text())
    assert found["deniable_reports_folded_total",] == 2
    assert found["deniable_inbox_rows",] == 0


@pytest.mark.one_store
def test_the_processes_that_answer_questions_are_counted(service):
    questions = QuestionProcesses(Settings())  # none is started
    questions.waiting = 3
    found = values(PrometheusCollector(service.running, questions=questions).text())
    assert found["deniable_questions_waiting",] == 3
    assert found["deniable_questions_running",] == 0
    assert found["deniable_question_processes_ended_total",] == 0
    assert found["deniable_question_memory_bytes",] == 0


def test_a_store_that_fails_is_shown_and_the_rest_is_there(service, telemetry, monkeypatch):
    def fail(*_args, **_options):
        raise StoreUnavailableError("gone")

    monkeypatch.setattr(service.store.inbox, "append", fail)
    monkeypatch.setattr(service.store, "usage", fail)
    monkeypatch.setattr(service.store.keys, "mark_used", fail)
    assert service.send(upload()).status_code == 503
    found = values(telemetry.text())
    assert found["deniable_ready", "database"] == 0
    assert found["deniable_ready", "draining"] == 1
    assert found["deniable_commits_failed_total",] == 1
    assert found["deniable_uploads_total", "flightdeck", "store_unavailable"] == 1
    assert ("deniable_inbox_rows",) not in found


@pytest.mark.one_store
def test_what_is_known_without_the_store_does_not_wait_for_it(service, telemetry, monkeypatch):
    go = threading.Event()

    def late(method):
        def wait_and_answer(*arguments):
            go.wait(120)
            return method(*arguments)

        return wait_and_answer

    store = service.store
    monkeypatch.setattr("deniable_aggregator.doors.server.prometheus.PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(store.keys, "mark_used", late(store.keys.mark_used))
    monkeypatch.setattr(store, "usage", late(store.usage))
    try:
        assert service.send(upload()).status_code == 204
        found = values(telemetry.text())
        assert not go.is_set()
    finally:
        go.set()
    monkeypatch.undo()
    wait_until(lambda: "deniable_inbox_rows" in telemetry.text())
    assert found["deniable_ready", "database"] == 0
    assert found["deniable_uploads_total", "flightdeck", "accepted"] == 1
    assert ("deniable_inbox_rows",) not in found


@pytest.mark.one_store
def test_no_label_is_made_up_by_a_sender(service, telemetry):
    for key in ("deniable_write_000000000000_" + "A" * 43, "X" * 50):
        service.send(upload(), key=key, headers={"User-Agent": "odd/1", "X-Forwarded-For": "odd"})
        service.http.get("/odd", headers={"Authorization": f"Bearer {key}"})
    text = telemetry.text()
    assert "odd" not in text
    assert "XXXX" not in text
    assert "AAAA" not in text


@pytest.mark.one_store
def test_nothing_tells_a_time_of_day(service, telemetry):
    service.send(upload())
    now = time.time()
    found = values(telemetry.text())
    assert not [name for name, value in found.items() if abs(value - now) < 86_400]
    assert not [name for name in found if "created" in name[0] or "start" in name[0]]


@pytest.mark.one_store
def test_every_measure_is_documented_with_what_it_means(telemetry):
    for line in telemetry.text().splitlines():
        if line.startswith("# HELP deniable"):
            assert re.fullmatch(r"# HELP deniable\w* [A-Z1].{10,}\.", line)


@pytest.mark.one_store
def test_it_is_answered_on_a_port_of_its_own(telemetry):
    port = free_port()
    telemetry.listen("127.0.0.1", port)
    answer = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=120)
    assert answer.status_code == 200
    assert "deniable_ready" in answer.text


@pytest.mark.one_store
def test_that_port_answers_one_path_and_tells_no_versions(telemetry, capfd):
    port = free_port()
    telemetry.listen("127.0.0.1", port)
    for method, path, status in (
        ("GET", "/metrics", 200),
        ("GET", "/", 404),
        ("GET", "/favicon.ico", 404),
        ("GET", "/metrics/", 404),
        ("POST", "/metrics", 405),
        ("GET", "/too-many-headers", 431),
    ):
        with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
            headers = "X: 1\r\n" * (200 if status == 431 else 1)
            connection.sendall(f"{method} {path} HTTP/1.1\r\n{headers}\r\n".encode())
            head, _, body = b"".join(iter(lambda: connection.recv(65_536), b"")).partition(
                b"\r\n\r\n"
            )
        assert head.split()[1] == str(status).encode()
        assert b"Server: deniable\r\n" in head + b"\r\n"
        assert not re.search(rb"(?i)wsgi|python", head)
        assert (b"deniable_ready" in body) == (status == 200)
    assert capfd.readouterr() == ("", "")


@pytest.mark.one_store
def test_a_taken_port_is_told_and_nothing_else_happens(telemetry, caplog):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        telemetry.listen("127.0.0.1", taken.getsockname()[1])
    assert "Address already in use" in caplog.text


def test_a_histogram_counts_each_value_once():
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 9.0):
        histogram.observe(value)
    assert histogram.snapshot() == ([2, 1, 1], 12.0)
