"""What happens to directories and clocks over the years: backups, jumps, lost rights, forks."""

from __future__ import annotations

import pytest

from deniable import FlushResult, Outcome
from deniable._storage import device
from tests.client.programs import PLENTY, stored
from tests.client.transports import Accepting
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _reopen_at_once(monkeypatch):
    monkeypatch.setattr(device, "REOPEN_SECONDS", 0.0)


def copy(directory, names):
    """A backup of files, made while nobody uses them."""
    return {name: (directory / name).read_bytes() for name in names}


def restore(directory, backup):
    for name, content in backup.items():
        (directory / name).write_bytes(content)


def lived(make_client, clock, directory, names):
    """A device that went on for a day after a backup of some files, and delivered everything."""
    transport = Accepting()
    client = make_client(transport=transport, clock=clock)
    client.record("emoji", "x")
    assert client.flush().sent == 1
    client.record("theme", "dark")
    client.close()
    backup = copy(directory, names)
    client = make_client(transport=transport, clock=clock)
    clock.forward(days=1)
    client.record("theme", "dark")
    assert client.flush() == FlushResult(sent=2, pending=0, dropped=0)
    client.close()
    restore(directory, backup)
    return transport


def test_an_old_journal_fails_closed_and_sends_nothing(make_client, clock, directory):
    lived(make_client, clock, directory, ["journal"])
    again = Accepting()
    client = make_client(transport=again, clock=clock)
    assert client.record("late", value=True) is Outcome.STORAGE_UNAVAILABLE
    assert client.flush().sent == 0
    assert again.bodies == []
    assert client.status().epsilon_left_lifetime == 0.0


def test_an_old_mark_with_the_latest_journal_changes_nothing(make_client, clock, directory):
    lived(make_client, clock, directory, ["established"])
    client = make_client(transport=Accepting(), clock=clock)
    assert client.record("theme", "dark") is Outcome.ALREADY_REPORTED
    assert client.status().pending == 0


def test_an_old_copy_of_the_whole_directory_is_the_device_as_it_was(make_client, clock, directory):
    transport = lived(make_client, clock, directory, ["journal", "established"])
    again = Accepting()
    client = make_client(transport=again, clock=clock)
    assert client.status().epsilon_left_lifetime == pytest.approx(38.0, abs=1e-6)
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert client.flush().sent == 2
    assert len({*again.bodies} & {*transport.bodies}) == 1


def test_reports_made_while_the_clock_was_ahead_are_sent_before_that_day(make_client, clock):
    transport = Accepting()
    client = make_client(transport=transport, clock=clock, upload_delay_seconds=0, background=True)
    clock.forward(days=365)
    with_thread, client._uploader.wake = client._uploader.wake, lambda _seconds: None
    client.record("theme", "dark")
    clock.forward(days=-365)
    with_thread(0.0)
    wait_until(lambda: client.status().sent == 1)


READ_ONLY = """
import http.client, logging  # loaded now, because later they could not be read
from deniable_shared.registry import load
loaded = load(registry)
client.record("theme", "dark")
client.close()
os.chmod(directory, 0o555)
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
client = deniable.Client(
    loaded, endpoint=endpoint, key="k", directory=directory + "/inside", consent=True
)
say(client.record("theme", "dark"), client.flush(timeout_seconds=1).pending, client.forget())
client.consent = False
client.close()
"""


@pytest.mark.service
def test_a_directory_without_the_right_to_write_never_raises(run):
    assert run(READ_ONLY) == [["storage_unavailable", None, 0]]


@pytest.mark.service
def test_locks_that_a_thread_holds_at_a_fork_do_not_hang_the_child(run):
    """The child cannot write until the parent releases the lock, but it does not hang."""
    results = run("""
device.REOPEN_SECONDS = 0.0
client.record("theme", "dark")
inside, leave = threading.Event(), threading.Event()
def sit():
    with client._events._lock, client._uploader._lock:
        inside.set()
        leave.wait(60)
thread = threading.Thread(target=client._storage.run_locked, args=(sit,))
thread.start()
inside.wait()
(told, tell), (heard, answer) = os.pipe(), os.pipe()
patience, device._LOCK_WAIT_SECONDS, device.RECORD_WAIT_SECONDS = 60.0, 0.2, 0.2
child = os.fork()
if child == 0:
    say(client.record("late", True))
    os.write(answer, b"x")
    os.read(told, 1)
    device._LOCK_WAIT_SECONDS = patience
    say(client.record("theme", "dark"), client.flush(timeout_seconds=0.1).sent)
    os._exit(0)
os.read(heard, 1)
leave.set()
thread.join()
os.write(tell, b"x")
os.waitpid(child, 0)
""")
    assert results == [["waiting"], ["already_reported", 0]]


WORKERS, TASKS = 4, 8
FLAGS = "".join(
    f'[metrics.flag_{number}]\ntype = "boolean"\nepsilon = 0.01\n'
    for number in range(3 + 2 * TASKS)
)
PRELOAD = f"""
import multiprocessing
client.record("flag_0", True)
def work(number):
    flags = 0, 1, 2 * number, 2 * number + 1
    return [client.record(f"flag_{{flag}}", True) for flag in flags], client.flush().problem
with multiprocessing.get_context("fork").Pool({WORKERS}) as pool:
    say(*pool.map(work, range(1, {TASKS} + 1), chunksize=1))
say(client.record("flag_{2 + 2 * TASKS}", True), client.flush().pending)
"""


@pytest.mark.service
def test_workers_forked_from_a_loaded_client_lose_nothing(run, collector, plenty, directory):
    """Each records two flags of its own, one that the parent has reported, and one that all do."""
    plenty.write_text(PLENTY.partition("[metrics")[0] + FLAGS, encoding="utf-8")
    of_workers, of_parent = run(PRELOAD, collector.endpoint)
    for (reported, shared, *own), problem in of_workers:
        assert problem is None
        assert reported == "already_reported"
        assert shared in ("recorded", "waiting", "already_reported")
        assert set(own) <= {"recorded", "waiting"}  # another may hold the lock
    assert of_parent == ["recorded", 0]
    flags = 3 + 2 * TASKS
    assert stored(directory) == (0, flags)
    assert len(set(collector.ids())) == len(set(collector.bodies)) == flags
    parts = [part for upload in collector.uploads() for part in upload.parts]
    assert len({part.digest for part in parts}) == flags
