from __future__ import annotations

import threading
import time

import pytest

from deniable import Client, FlushResult
from deniable._platform import files
from deniable._storage import device
from deniable._upload import delivery
from deniable_shared import wire
from tests.client.collector import collecting
from tests.client.conftest import DAY, pending_reports
from tests.client.flushing import counts
from tests.client.socket_servers import unused_port
from tests.client.transports import Accepting
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch):
    monkeypatch.setattr(delivery, "FIRST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "MAX_BACKOFF_SECONDS", 0.05)


def test_a_report_goes_out_on_its_own(registry, directory, collector):
    options = {"directory": directory, "consent": True, "upload_delay_seconds": 0}
    with Client(registry, endpoint=collector.endpoint, key="k", **options) as client:
        client.record("theme", "dark")
        wait_until(lambda: client.status().sent == 1)
        assert client.status().pending == 0
    (upload,) = collector.uploads()
    assert len(upload.parts) == 1


def test_every_report_is_an_upload_of_its_own_with_its_own_id(make_client, collector):
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    client.record("late", value=True)
    assert client.flush() == FlushResult(sent=2, pending=0, dropped=0)
    assert [len(upload.parts) for upload in collector.uploads()] == [1, 1]
    assert len(set(collector.ids())) == 2
    assert len({len(body) for body in collector.bodies}) == 1


def test_a_report_waits_for_its_random_time(make_client, collector, clock):
    client = make_client(endpoint=collector.endpoint, clock=clock, upload_delay_seconds=20 * DAY)
    for name, value in (("theme", "dark"), ("late", True), ("emoji", "x"), ("city", "y")):
        client.record(name, value)
    reports = pending_reports(client)
    dues = [report.due - clock.now for report in reports]
    assert all(0 <= due <= 20 * DAY for due in dues)
    assert len(set(dues)) == 4


def test_a_later_process_sends_the_reports_of_a_short_one(make_client, collector, clock):
    first = make_client(endpoint=collector.endpoint, clock=clock, upload_delay_seconds=DAY)
    first.record("theme", "dark")
    first.close()
    assert collector.bodies == []
    clock.forward(days=1)
    second = make_client(endpoint=collector.endpoint, clock=clock, background=True)
    wait_until(lambda: second.status().sent == 1)
    assert len(collector.bodies) == 1


def test_reports_survive_an_outage_and_a_restart_and_arrive_once(make_client):
    with unused_port() as port:
        first = make_client(endpoint=f"http://127.0.0.1:{port}")
        first.record("theme", "dark")
        first.record("emoji", "🙂")
        assert counts(first.flush()) == (0, 2, 0)
        first.close()
        with collecting(port) as back:
            second = make_client(endpoint=back.endpoint)
            assert second.flush() == FlushResult(sent=2, pending=0, dropped=0)
            assert second.flush() == FlushResult(sent=0, pending=0, dropped=0)
            assert len(set(back.ids())) == len(back.bodies) == 2


def test_a_retry_sends_identical_bytes(make_client, collector):
    answers = iter([503, 200, 302, 404, 418, 204])
    collector.answer = lambda _body: (next(answers), {"Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint, upload_delay_seconds=0, background=True)
    client.record("emoji", "🙂")
    wait_until(lambda: client.status().sent == 1)
    assert len(collector.bodies) == 6
    assert len(set(collector.bodies)) == 1


def test_bytes_are_identical_in_a_later_process(make_client, collector):
    collector.answer = lambda _body: (503, {})
    first = make_client(endpoint=collector.endpoint)
    first.record("city", "Bergen")
    first.flush()
    first.close()
    collector.answer = lambda _body: (204, {})
    make_client(endpoint=collector.endpoint).flush()
    assert len(set(collector.bodies)) == 1
    assert len(collector.bodies) >= 2


@pytest.mark.parametrize("status", [400, 410, 413, 415, 422])
def test_a_final_refusal_drops_the_report_and_is_counted(make_client, collector, status):
    collector.answer = lambda _body: (status, {"Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    assert counts(client.flush()) == (0, 0, 1)
    assert client.status().dropped == {f"refused_{status}": 1}


@pytest.mark.parametrize("status", [200, 301, 401, 403, 404, 409, 429, 500, 503])
def test_any_other_answer_keeps_the_report(make_client, collector, status):
    collector.answer = lambda _body: (status, {"Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    assert counts(client.flush()) == (0, 1, 0)


def test_a_report_of_an_unregistered_metric_does_not_hold_up_the_others(make_client, collector):
    refused = []

    def answer(body):
        refused.append(body) if not refused else None
        return (409 if body == refused[0] else 204), {"Content-Length": "0"}

    collector.answer = answer
    client = make_client(endpoint=collector.endpoint)
    for name, value in (("theme", "dark"), ("late", True), ("emoji", "x")):
        client.record(name, value)
    assert counts(client.flush()) == (2, 1, 0)


def test_retry_after_is_honoured(make_client, collector):
    collector.answer = lambda _body: (429, {"Retry-After": "3000", "Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint, upload_delay_seconds=0, background=True)
    client.record("theme", "dark")
    wait_until(lambda: collector.bodies)
    time.sleep(0.2)  # many times the longest backoff of this test
    assert len(collector.bodies) == 1


def test_retry_after_is_clamped(make_client, collector, monkeypatch):
    monkeypatch.setattr(delivery, "MAX_RETRY_AFTER_SECONDS", 0.01)
    collector.answer = lambda _body: (503, {"Retry-After": "999999999", "Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint, upload_delay_seconds=0, background=True)
    client.record("theme", "dark")
    wait_until(lambda: len(collector.bodies) > 2)


def test_a_flush_goes_out_at_once_although_the_server_asked_to_wait(make_client, collector):
    collector.answer = lambda _body: (503, {"Retry-After": "3000", "Content-Length": "0"})
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    client.flush()
    collector.answer = lambda _body: (204, {})
    assert client.flush() == FlushResult(sent=1, pending=0, dropped=0)


def test_flush_and_close_return_while_the_server_hangs(make_client, collector):
    def hang(_body):
        collector.release.wait(20)
        return 204, {}

    collector.answer = hang
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    client.record("late", value=False)
    assert counts(client.flush(timeout_seconds=0.1)) == (0, 2, 0)
    client.close()
    assert not collector.release.is_set()


def test_recording_does_not_wait_for_a_hanging_server(make_client, collector):
    def hang(_body):
        collector.release.wait(20)
        return 204, {}

    collector.answer = hang
    client = make_client(endpoint=collector.endpoint, upload_delay_seconds=0, background=True)
    client.record("theme", "dark")
    wait_until(lambda: collector.bodies)
    assert client.record("late", value=True) == "recorded"
    assert client.status().pending == 2


def test_a_report_older_than_thirty_days_is_dropped_once_it_was_tried(
    make_client, collector, clock
):
    collector.answer = lambda _body: (503, {})
    client = make_client(endpoint=collector.endpoint, clock=clock)
    client.record("theme", "dark")
    clock.forward(days=31)
    assert counts(client.flush()) == (0, 1, 0)
    assert counts(client.flush()) == (0, 0, 1)
    assert client.status().dropped == {"too_old": 1}
    assert len(collector.bodies) == 1


def test_the_thread_ends_when_nothing_is_waiting(make_client, collector):
    client = make_client(endpoint=collector.endpoint, background=True)
    client.record("theme", "dark")
    client.flush()
    wait_until(lambda: client._uploader._thread is None)
    client.record("late", value=True)
    assert client.flush().sent == 1


def test_nothing_is_sent_without_consent(make_client, collector, clock):
    first = make_client(endpoint=collector.endpoint, clock=clock)
    first.record("theme", "dark")
    first.close()
    clock.forward(days=1)
    second = make_client(endpoint=collector.endpoint, clock=clock, consent=False, background=True)
    assert counts(second.flush()) == (0, 1, 0)
    assert second.record("late", value=True) == "no_consent"
    second.close()
    assert collector.bodies == []


def test_an_applications_own_transport_carries_the_uploads(make_client):
    transport = Accepting()
    client = make_client(transport=transport)
    client.record("theme", "dark")
    assert client.flush().sent == 1
    assert wire.decode(transport.bodies[0]).parts[0].epoch > 0


def test_a_transport_that_raises_anything_keeps_the_report(make_client):
    class Broken(Accepting):
        def send(self, *_):
            raise ArithmeticError("kumquat")

    client = make_client(transport=Broken())
    client.record("theme", "dark")
    assert counts(client.flush()) == (0, 1, 0)
    last_error = client.status().last_error
    assert last_error.startswith("unreachable: The transport raised ArithmeticError.")
    assert "kumquat" not in last_error


def test_nothing_is_sent_while_the_journal_cannot_be_synced(make_client, monkeypatch):
    def refuse(_path):
        raise OSError(28, "No space left on device")

    transport = Accepting()
    client = make_client(transport=transport)
    client.record("theme", "dark")
    monkeypatch.setattr(files, "sync_file", refuse)
    assert counts(client.flush()) == (0, 1, 0)
    assert transport.bodies == []


def test_two_flushes_at_once_send_each_report_once(make_client, collector):
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    client.record("late", value=True)
    threads = [threading.Thread(target=client.flush) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(collector.bodies) == 2


def test_nothing_is_sent_once_consent_is_withdrawn(make_client, collector, monkeypatch):
    others = set(threading.enumerate())
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")

    def withdraw(_storage):
        client.consent = False

    monkeypatch.setattr(device.DeviceStorage, "seal", withdraw)
    assert client.flush().sent == 0
    ours = [t for t in set(threading.enumerate()) - others if t.name == "deniable-uploader"]
    wait_until(lambda: not any(thread.is_alive() for thread in ours))
    assert collector.bodies == []
    assert client.status().dropped == {"consent_withdrawn": 1}


def test_a_thread_that_was_stopped_serves_no_flush(make_client):
    """A signal may end the flush that started the thread; the next flush starts another thread."""
    uploader = make_client()._uploader
    lock = uploader._lock

    class Abandoning:
        def __enter__(self):
            lock.acquire()
            uploader._thread = None

        def __exit__(self, *_):
            lock.release()

    uploader._thread, uploader._lock = threading.current_thread(), Abandoning()
    uploader._flushes_requested = 1
    assert uploader.work() is None
    assert uploader._flushes_done == 0


def test_a_defect_of_the_storage_does_not_reach_whoever_flushes(make_client, monkeypatch):
    client = make_client(transport=Accepting())
    client.record("theme", "dark")

    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(client._storage, "run_locked", fail)
    assert client.flush().pending is None
    assert client.status().last_error == "internal_error: ZeroDivisionError"
