"""A flush sends several reports at a time where the transport allows it, and none twice."""

from __future__ import annotations

import threading

import pytest

from deniable import FlushResult, HttpTransport, Response, _lifecycle
from deniable._upload import pace
from deniable._upload.delivery import MAX_PARALLEL_UPLOADS
from deniable._upload.workers import run_parallel
from tests.client.flushing import counts

PARALLEL = 4
REPORTS = 1 + 4 * PARALLEL
AMPLE_SECONDS = 60.0
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
""" + "".join(
    f'[metrics.flag_{number}]\ntype = "boolean"\nepsilon = 0.1\n' for number in range(REPORTS)
)


@pytest.fixture
def registry(tmp_path):
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY, encoding="utf-8")
    return path


def record_all(client):
    for number in range(REPORTS):
        assert client.record(f"flag_{number}", value=True) == "recorded"


class Counting:
    """A transport that counts how many threads are in it at the same time."""

    def __init__(self, status=204):
        self.status = status
        self.inside = self.most = self.calls = 0
        self._lock = threading.Lock()

    def send(self, body, timeout_seconds):  # noqa: ARG002
        with self._lock:
            self.calls += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.linger()
        with self._lock:
            self.inside -= 1
        return Response(self.status)

    def linger(self):
        threading.Event().wait(0.001)  # lets other threads run

    def close(self):
        pass


class Meeting(Counting):
    """After the first report it answers only when `PARALLEL` threads have come together."""

    parallel_uploads = PARALLEL

    def __init__(self):
        super().__init__()
        self._together = threading.Barrier(PARALLEL)

    def linger(self):
        if self.calls > 1:
            self._together.wait(AMPLE_SECONDS)


def test_a_flush_sends_as_many_at_a_time_as_the_transport_allows(make_client):
    transport = Meeting()
    client = make_client(transport=transport)
    record_all(client)
    assert client.flush(timeout_seconds=AMPLE_SECONDS) == FlushResult(REPORTS, 0, 0)
    assert (transport.most, transport.calls) == (PARALLEL, REPORTS)


def test_all_reports_wait_together_for_a_server_that_is_slow(make_client, collector, monkeypatch):
    """It answers when all have arrived, as one does whose answers take most of a flush's time."""
    monkeypatch.setattr(pace, "HASTE", 1e6)
    together = threading.Barrier(REPORTS)

    def answer(_body):
        together.wait(AMPLE_SECONDS)
        return 204, {}

    collector.answer = answer
    client = make_client(endpoint=collector.endpoint)
    record_all(client)
    assert counts(client.flush(timeout_seconds=AMPLE_SECONDS)) == (REPORTS, 0, 0)


def test_one_report_alone_waits_for_a_server_that_cannot_be_reached(make_client, monkeypatch):
    class Unreachable(Counting):
        parallel_uploads = REPORTS

        def linger(self):
            over.wait(AMPLE_SECONDS)

    over, transport = threading.Event(), Unreachable()
    monkeypatch.setattr(pace, "HASTE", 1e6)
    client = make_client(transport=transport)
    record_all(client)
    client.flush(timeout_seconds=0.1)
    assert transport.calls == 1
    over.set()


@pytest.mark.parametrize(
    ("answered", "waited", "left", "expected"),
    [
        (None, None, 0.5, 1),  # not connected
        (None, 0.01, 0.5, 1),
        (None, 0.05, 0.45, 9),
        (None, 0.125, 0.375, 27),
        (None, 0.1, 60.0, 1),
        (0.3, 0.3, 0.2, 114),
        (0.3, 0.3, 60.0, 4),
        (0.002, 0.3, 0.2, 4),  # answers come so fast that this machine is the limit
        (0.3, 0.3, -1.0, 1_140),
    ],
)
def test_a_flush_sends_at_a_time_what_it_takes_to_end_in_time(
    monkeypatch, answered, waited, left, expected
):
    now = 1_000.0
    monkeypatch.setattr(pace.time, "monotonic", lambda: now)
    transport = HttpTransport("http://127.0.0.1:9", "key")
    flush = pace.FlushPace(20, transport, lambda: left)
    now += 1.0
    if waited is not None:
        transport.connected_at = now
        flush.allowed()
        now += waited
    if answered is not None:
        flush.note_answer(answered)
    assert flush.allowed() == expected


def test_a_flush_remembers_that_the_server_was_slow_a_moment_ago():
    transport = HttpTransport("http://127.0.0.1:9", "key")
    assert pace.FlushPace(19, transport, lambda: 0.25, known_seconds=0.3125).allowed() == 95
    assert pace.FlushPace(19, transport, lambda: 0.25, known_seconds=0.001).allowed() == 1


def test_by_default_a_transport_is_called_by_one_thread_at_a_time(make_client):
    transport = Counting()
    client = make_client(transport=transport)
    record_all(client)
    assert client.flush(timeout_seconds=AMPLE_SECONDS) == FlushResult(REPORTS, 0, 0)
    assert transport.most == 1


def test_a_subclass_does_not_inherit_the_number_of_parallel_uploads(make_client):
    """What the subclass adds may not be made for several threads."""

    class Derived(HttpTransport):
        pass

    client = make_client(transport=Derived("http://127.0.0.1:9", "write-key"))
    assert client._uploader._sender.parallel_uploads == 1
    other = make_client(another_process=True)
    assert other._uploader._sender.parallel_uploads == MAX_PARALLEL_UPLOADS


def test_a_server_that_takes_nothing_is_asked_once_in_a_flush(make_client):
    transport = type("Laned", (Counting,), {"parallel_uploads": PARALLEL})(status=503)
    client = make_client(transport=transport)
    record_all(client)
    assert counts(client.flush(timeout_seconds=AMPLE_SECONDS)) == (0, REPORTS, 0)
    assert transport.calls == 1


@pytest.mark.parametrize("number", [None, "4", -1, 0, 1.5, True])
def test_a_number_of_parallel_uploads_that_makes_no_sense_counts_as_one(make_client, number):
    transport = type("Odd", (Counting,), {"parallel_uploads": number})()
    client = make_client(transport=transport)
    record_all(client)
    assert client.flush(timeout_seconds=AMPLE_SECONDS).sent == REPORTS
    assert transport.most == 1


def test_parallel_uploads_have_connections_and_ids_of_their_own(make_client, collector):
    assert HttpTransport(collector.endpoint, "key").parallel_uploads == MAX_PARALLEL_UPLOADS
    client = make_client(endpoint=collector.endpoint)
    record_all(client)
    assert client.flush(timeout_seconds=AMPLE_SECONDS).sent == REPORTS
    assert len(collector.connections) == len(set(collector.ids())) == REPORTS
    assert len(collector.bodies) == REPORTS


def test_closing_does_not_wait_again_for_an_exchange_that_a_flush_gave_up(make_client, collector):
    collector.answer = lambda _body: (204 if collector.release.wait(AMPLE_SECONDS) else 503, {})
    client = make_client(endpoint=collector.endpoint)
    client.record("flag_0", value=True)
    assert client.flush(timeout_seconds=0.05).sent == 0
    closing = threading.Thread(target=client.close)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lifecycle, "CLOSE_SECONDS", 2 * AMPLE_SECONDS)
        client._uploader._sender.exchange_started -= (
            3 * AMPLE_SECONDS
        )  # as if the upload had been under way for so long
        closing.start()
        closing.join(AMPLE_SECONDS / 2)
        assert not closing.is_alive()
    collector.release.set()


def test_every_piece_is_done_once_and_begun_in_its_order():
    begun = []

    def do(piece):
        begun.append(piece)
        return True

    run_parallel(iter(range(200)), do, 1, lambda: PARALLEL)
    assert begun == list(range(200))
    begun.clear()
    run_parallel(iter(range(200)), do, PARALLEL, lambda: PARALLEL)
    assert sorted(begun) == list(range(200))


def test_no_piece_is_begun_after_one_returned_false():
    begun = []
    # append returns None, which counts as False
    run_parallel(iter(range(9)), begun.append, PARALLEL, lambda: 1)
    assert begun == [0]


def test_an_error_in_a_piece_stops_the_work_and_is_raised():
    begun = []

    def do(piece):
        begun.append(piece)
        if piece == PARALLEL:
            raise OSError("the disk refuses")
        return True

    with pytest.raises(OSError, match="the disk refuses"):
        run_parallel(iter(range(10_000_000)), do, PARALLEL, lambda: PARALLEL)
    assert len(begun) < 10_000_000


def test_without_helper_threads_one_thread_does_all_the_work(monkeypatch):
    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    begun = []
    run_parallel(iter(range(9)), lambda piece: not begun.append(piece), PARALLEL, lambda: PARALLEL)
    assert begun == list(range(9))


def test_hundreds_of_pieces_are_done_while_no_other_thread_is_begun():
    asked = threading.Semaphore(0)
    done = []

    def allowed():
        asked.release()
        return 1

    def do(piece):
        done.append(piece)
        return asked.acquire(timeout=AMPLE_SECONDS)

    run_parallel(iter(range(400)), do, 2, allowed)
    assert done == list(range(400))
