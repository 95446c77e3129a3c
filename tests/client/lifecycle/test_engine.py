"""Clients of one directory share an engine, and leave nothing behind when they are dropped."""

from __future__ import annotations

import contextlib
import gc
import logging
import threading
import weakref
from pathlib import Path

import pytest

from deniable import Client, HttpTransport, Outcome, ParameterError, _lifecycle
from deniable._storage.device import DeviceStorage
from deniable._upload import delivery, uploader
from tests.client.conftest import DAY
from tests.client.programs import stored
from tests.client.transports import Accepting
from tests.waiting import wait_until

FEW = 80
"""More requests than a process with `SMALL_PROCESS` could survive if each left two files open."""

SMALL_PROCESS = """
import gc, resource, socket
client.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
gc.disable()  # dropping the last reference has to be enough
def request(act):
    made = deniable.Client(
        registry, endpoint=endpoint, key="k", directory=directory, consent=True, clock=clock
    )
    act(made)
def of_the_host():
    sockets = [socket.socket() for _ in range(8)]
    for each in sockets:
        each.close()
"""


@pytest.fixture
def background(make_client, clock):
    """Clients with a thread, and a clock that stands still."""
    return lambda **options: make_client(background=True, clock=clock, **options)


@pytest.fixture
def _by_reference_counting_alone():
    gc.disable()
    yield
    gc.enable()


def open_files(directory):
    """How many files of a directory this process has open."""
    files = []
    for file in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            files.append(file.readlink())
    return sum(file.is_relative_to(directory) for file in files)


def settle(client):
    """Waits until the thread has done all there is to do for now."""
    wait_until(lambda: client._uploader._sleeps_until > 0)


def wait_for_an_upload(client):
    wait_until(lambda: client.status().sent or client.status().last_error)


def threads():
    return sum(each.name == "deniable-uploader" for each in threading.enumerate())


@pytest.mark.service
@pytest.mark.parametrize("end", ["dropped", "closed"])
def test_a_client_for_each_request_leaves_the_host_its_files(run, directory, end):
    """Each request records on a day of its own, so that a report waits behind every one."""
    count = FEW if end == "dropped" else FEW // 4
    (result,) = run(f"""{SMALL_PROCESS}
def act(made):
    clock.now += 86400
    assert made.record("theme", "dark") == "recorded"
    if {end == "closed"}:
        made.close()
most = 0
for number in range({count}):
    request(act)
    of_the_host()
    most = max(most, len(os.listdir("/proc/self/fd")) + 100 * threading.active_count())
say(most)
""")
    assert result[0] < 300 + 32  # this thread, an uploader, and one that is about to end
    assert stored(directory) == (count, count)


@pytest.mark.service
def test_requests_in_several_threads_spend_the_budget_once(run, directory):
    (result,) = run(f"""{SMALL_PROCESS}
outcomes = []
def work():
    for _ in range(12):
        request(lambda made: outcomes.append(made.record("theme", "dark")))
        of_the_host()
for _ in range(2):
    clock.now += 86400
    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
say(*(outcomes.count(each) for each in ("recorded", "already_reported")), len(outcomes))
""")
    assert result == [2, 94, 96]
    assert stored(directory) == (2, 2)


@pytest.mark.service
def test_a_client_can_be_dropped_in_the_child_of_a_fork(run, directory):
    """The parent's client is not disturbed, and nothing of it stays open in the child.

    A thread that was at work when the process forked holds its engine in the child for ever.
    """
    results = run("""
client.record("theme", "dark")
while not client._uploader._sleeps_until:
    time.sleep(0.001)
child = os.fork()
if child == 0:
    import gc
    gc.disable()
    client.record("late", True)
    del client
    until = time.monotonic() + 60
    while threading.active_count() > 1 and time.monotonic() < until:
        time.sleep(0.01)
    files = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
    files = [os.readlink(file) for file in files if os.path.exists(file)]
    say(sum(file.startswith(directory) for file in files), "child")
    os._exit(0)
os.waitpid(child, 0)
say(client.record("late", True), client.status().pending)
""")
    assert results == [[0, "child"], ["already_reported", 2]]
    assert stored(directory) == (2, 2)


class Refusing(Accepting):
    """Raises errors that refer to their own frames, as many a library does."""

    asked = 0

    def send(self, _body, _timeout_seconds):
        self.asked += 1
        failure = ConnectionRefusedError()
        raise failure


@pytest.mark.usefixtures("_by_reference_counting_alone")
@pytest.mark.parametrize("transport", [Accepting(), Refusing()], ids=["accepting", "refusing"])
def test_a_dropped_client_ends_its_thread_and_closes_its_files(
    registry, directory, clock, transport
):
    others = threads()
    options = {"transport": transport, "clock": clock, "upload_delay_seconds": 3_600.0}
    client = Client(registry, directory=directory, consent=True, **options)
    client.record("theme", "dark")
    clock.forward(days=1)
    client._uploader.wake(0.0)
    wait_for_an_upload(client)
    engine = weakref.ref(client._engine)
    del client
    wait_until(lambda: engine() is None)
    wait_until(lambda: threads() == others)
    assert open_files(directory) == 0


@pytest.mark.usefixtures("_by_reference_counting_alone")
def test_a_client_that_is_dropped_during_an_upload_ends_after_it(registry, directory, clock):
    inside, leave = threading.Event(), threading.Event()

    class Slow(Accepting):
        def send(self, body, timeout_seconds):
            inside.set()
            leave.wait(timeout_seconds)
            return super().send(body, timeout_seconds)

    options = {"upload_delay_seconds": 0.0, "transport": Slow(), "clock": clock}
    client = Client(registry, directory=directory, consent=True, **options)
    client.record("theme", "dark")
    inside.wait()
    engine = weakref.ref(client._engine)
    del client
    assert engine() in _lifecycle.live_engines()  # so that forks and the exit find it
    again = Client(registry, directory=directory, consent=True, **options)
    assert again._engine is engine()
    del again
    leave.set()
    wait_until(lambda: engine() is None and open_files(directory) == 0)
    assert len(options["transport"].bodies) == 1


def test_clients_of_a_directory_share_storage_uploads_and_counts(make_client, directory):
    transport = Accepting()
    one = make_client(transport=transport)
    link = directory.parent / "link"
    link.symlink_to(directory, target_is_directory=True)
    two = make_client(transport=transport, directory=link, strict=True)
    assert one.record("theme", "dark") is Outcome.RECORDED
    assert two.record("theme", "dark") is Outcome.ALREADY_REPORTED
    assert two.flush().sent == 1
    assert one.status() == two.status()


def test_sharing_is_said_once(make_client, caplog):
    with caplog.at_level(logging.WARNING, "deniable"):
        one, _two, _three = make_client(), make_client(), make_client()
        for each in (one, _two, _three):
            each.close()
        _four, _five = make_client(), make_client()
    (record,) = caplog.records
    assert "another client of this process uses the same directory" in record.getMessage()


def test_one_client_after_another_shares_nothing(make_client, caplog):
    with caplog.at_level(logging.WARNING, "deniable"):
        for _ in range(3):
            make_client().close()
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("transport", {"endpoint": "http://127.0.0.1:10"}),
        ("transport", {"key": "another-key"}),
        ("upload_delay_seconds", {"upload_delay_seconds": 60.0}),
        ("background", {"background": True}),
        ("remember_consent", {"remember_consent": True, "consent": False}),
    ],
)
def test_clients_that_share_cannot_differ(make_client, clock, name, other):
    make_client(clock=clock)
    with pytest.raises(ParameterError) as raised:
        make_client(clock=clock, **other)
    assert raised.value.name == name
    assert "another-key" not in str(raised.value)


def test_transports_are_the_same_if_they_send_to_the_same_place_in_the_same_way():
    class Derived(HttpTransport):
        pass

    one = HttpTransport("https://telemetry.example", "key")
    same = HttpTransport("https://telemetry.example:443/", "key")
    assert one == same
    assert hash(one) == hash(same)
    others = [
        HttpTransport("https://telemetry.example/x", "key"),
        HttpTransport("https://telemetry.example", "other"),
        HttpTransport("https://telemetry.example", "key", proxy=None),
        Derived("https://telemetry.example", "key"),
        "https://telemetry.example",
    ]
    assert all(one != other for other in others)


def test_each_client_has_its_own_consent_and_a_withdrawal_ends_all(make_client):
    one, two = make_client(), make_client(consent=False)
    assert one.record("theme", "dark") is Outcome.RECORDED
    assert two.record("late", value=True) is Outcome.NO_CONSENT
    two.consent = False
    assert one.record("late", value=True) is Outcome.NO_CONSENT
    assert (one.consent, one.status().pending) == (False, 0)
    two.consent = True
    assert (one.consent, two.consent) == (False, True)
    assert two.record("late", value=True) is Outcome.RECORDED


def test_closing_one_of_several_clients_ends_that_one_alone(make_client, directory):
    one, two = make_client(), make_client()
    assert one.record("theme", "dark") is Outcome.RECORDED
    one.close()
    one.close()
    assert one.record("late", value=True) is Outcome.CLOSED
    assert two.record("late", value=True) is Outcome.RECORDED
    two.close()
    assert open_files(directory) == 0


def test_no_file_is_open_between_two_calls(make_client, directory):
    client = make_client()
    client.record("theme", "dark")
    assert open_files(directory) == 0
    client.close()
    assert client.status().pending == 1
    assert client.flush().pending == 1
    assert client.forget() == 1
    client.consent = False
    assert client.status().pending == 0
    assert open_files(directory) == 0


def test_a_client_that_is_made_while_the_last_one_is_closed_is_open(make_client, monkeypatch):
    made = []
    close = _lifecycle.close

    def make_another_first(engines):
        monkeypatch.setattr(_lifecycle, "close", close)
        made.append(make_client())
        close(engines)

    monkeypatch.setattr(_lifecycle, "close", make_another_first)
    make_client().close()
    assert made[0].record("theme", "dark") is Outcome.RECORDED


def test_in_a_child_that_a_c_program_forked_clients_can_be_made(make_client, monkeypatch):
    """Python's hooks did not run there, and a thread of the parent held the lock."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with _lifecycle._registration():
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    monkeypatch.setattr(_lifecycle, "_lock_process", -1)  # as seen by a child
    try:
        assert make_client().record("theme", "dark") is Outcome.RECORDED
    finally:
        done.set()
        holder.join()


def test_a_client_for_each_request_neither_erases_traces_nor_asks_nor_logs_each_time(
    registry, directory, clock, monkeypatch, caplog
):
    """As long as no client is closed: closing leaves nothing to the next one."""
    erased, transport = [], Refusing()
    monkeypatch.setattr(DeviceStorage, "erase_traces", lambda *_: erased.append(1))
    monkeypatch.setattr(delivery, "FIRST_BACKOFF_SECONDS", 3_600.0)
    monkeypatch.setattr(delivery, "random_fraction", lambda: 0.5)
    options = {"transport": transport, "clock": clock, "upload_delay_seconds": 0.0}
    for close in (False, False, False, True, False):
        client = Client(registry, directory=directory, consent=True, **options)
        clock.forward(days=1)
        assert client.record("theme", "dark") is Outcome.RECORDED
        settle(client)
        if close:
            client.close()
        del client
    wait_until(lambda: len(erased) == 2)
    assert transport.asked == 2
    unreachable = [each for each in caplog.records if "theme" not in each.getMessage()]
    assert len(unreachable) == 2


class Alarm:
    """Stands in for what the thread waits for: lets time pass at once, and notes how long."""

    def __init__(self, clock, waits):
        self._clock, self._waits = clock, waits
        self._rung = threading.Event()

    def release(self):
        self._rung.set()

    def acquire(self, blocking=True, timeout=-1.0):
        if not blocking:
            self._rung.clear()
            return False
        self._waits.append(timeout)
        self._clock.now += timeout
        return True


def test_the_thread_wakes_once_an_hour_while_a_report_waits_and_then_ends(
    make_client, clock, monkeypatch
):
    waits = []
    monkeypatch.setattr(uploader, "_new_alarm", lambda: Alarm(clock, waits))
    others = threads()
    client = make_client(
        background=True, clock=clock, upload_delay_seconds=DAY, transport=Accepting()
    )
    assert client._uploader._thread is None  # there is nothing to do
    client.record("theme", "dark")
    wait_until(lambda: client.status().sent == 1)
    wait_until(lambda: client._uploader._thread is None)
    assert sum(waits) <= DAY
    assert all(wait == uploader_hour() for wait in waits[:-1])
    wait_until(lambda: threads() <= others)  # those of earlier tests may have ended, too


def uploader_hour():
    from deniable._upload.rounds import MAX_WAIT_SECONDS

    return MAX_WAIT_SECONDS


def test_recording_does_not_wake_a_thread_that_will_look_in_time(background, monkeypatch):
    client = background(upload_delay_seconds=DAY, transport=Accepting())
    client.record("theme", "dark")
    settle(client)
    rounds = []
    monkeypatch.setattr(client._uploader, "_round", lambda *_, **__: rounds.append(1))
    sleeps_until = client._uploader._sleeps_until
    client._uploader.wake(sleeps_until)  # seconds from now: later than it sleeps
    assert rounds == []
    assert client.record("theme", "light") is Outcome.ALREADY_REPORTED
    assert rounds == []
    assert client._uploader._sleeps_until == sleeps_until
