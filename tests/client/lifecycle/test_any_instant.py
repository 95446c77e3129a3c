"""A signal handler raises or forks at any instant: nothing stays locked or is reported twice.

Each test goes through all instants, one after another; `interrupting` says which they are.
"""

from __future__ import annotations

import fcntl
import gc
import inspect
import itertools
import os
import subprocess
import sys
import threading

import pytest

from deniable import Outcome
from tests.client import interrupting
from tests.client.conftest import pending_reports
from tests.client.interrupting import interrupt_at
from tests.client.programs import PLENTY, contents, stored
from tests.client.transports import Accepting

CITY = """
[metrics.city]
type = "string"
epsilon = 0.01
every = "day"
repeat = "memoize"
epsilon_permanent = 0.02
mechanism = "rappor"
"""
CRASH = """
[metrics.crash]
type = "category"
values = ["startup", "editor"]
absent = "none"
epsilon = 0.01
"""
PATIENCE_SECONDS = 300

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(autouse=True)
def _collected():
    """Collects files that were opened in the instant of an exception, which warns about them."""
    yield
    gc.collect()


@pytest.fixture
def registry(tmp_path):
    path = tmp_path / "plenty.toml"
    path.write_text(PLENTY + CITY, encoding="utf-8")
    return path


def forget_the_journal(client):
    """Makes the next use read it anew, as in a new process; a short one, or it takes long."""
    client.forget()
    client._storage._last = b""


def nothing(_client):
    pass


def assert_all_is_well(client, clock, directory):
    """Nothing is locked, and what another thread records is paid for and stored."""
    lock = os.open(directory / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(lock)
    before = stored(directory)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(client.record("late", value=True)))
    thread.start()
    thread.join()
    assert answers == [Outcome.RECORDED]
    after = stored(directory)
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
    clock.forward(days=1)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("metric", "prepare"),
    [
        ("theme", nothing),
        ("theme", forget_the_journal),
        ("city", nothing),
    ],
)
def test_recording_can_be_interrupted_at_any_instant(
    make_client, clock, directory, prepare, metric
):
    client = make_client(clock=clock, upload_delay_seconds=0.0)
    client.record(metric, "dark")
    for number in itertools.count(1):
        clock.forward(days=1)
        prepare(client)
        if not interrupt_at(lambda: client.record(metric, "dark"), number):
            break
        assert_all_is_well(client, clock, directory)
    assert number > 40


def test_asking_for_the_status_can_be_interrupted_at_any_instant(make_client, clock, directory):
    client = make_client(clock=clock)
    for number in itertools.count(1):
        client.record("theme", "dark")
        if not interrupt_at(client.status, number):
            break
        assert_all_is_well(client, clock, directory)
    assert number > 10


def test_replacing_the_journal_can_be_interrupted_at_any_instant(make_client, clock, directory):
    client = make_client(clock=clock)
    storage = client._storage
    for number in itertools.count(1):
        client.forget()  # a longer journal would have more instants
        client.record("theme", "dark")
        if not interrupt_at(lambda: storage.run_syncing(storage.erase_traces), number):
            break
        assert_all_is_well(client, clock, directory)
    assert number > 40


def test_reporting_an_absence_can_be_interrupted_at_any_instant(make_client, clock, registry):
    """Every day's absence is reported exactly once."""
    registry.write_text(PLENTY + CRASH, encoding="utf-8")
    client = make_client(clock=clock)
    absence = client._recorder._absence
    absence.report_due()
    for number in itertools.count(1):
        clock.forward(days=1)
        more = interrupt_at(absence.report_due, number)
        absence.report_due()
        if not more:
            break
    reports = pending_reports(client)
    days = [report.epoch for report in reports]
    assert len(set(days)) == len(days)
    left = client.status().epsilon_left_lifetime
    # Today is paid for, too.
    assert round((400.0 - left) / 0.01) == number + 1 == len(days) + 1 > 40


def test_uploading_can_be_interrupted_at_any_instant_and_loses_nothing(
    make_client, clock, directory
):
    """Signals never reach the upload thread, but other exceptions may be raised anywhere."""
    transport = Accepting()
    client = make_client(clock=clock, transport=transport)
    uploader, me = client._uploader, threading.current_thread()

    def upload():
        uploader._thread, uploader._flush_until = me, float("inf")
        uploader._round(me, flushing=True)

    recorded = 0
    for number in itertools.count(1):
        assert client.record("theme", "dark") is Outcome.RECORDED
        more = interrupt_at(upload, number, within="/deniable/")
        uploader._thread = None
        if not more:
            break
        assert_all_is_well(client, clock, directory)
        recorded += 2
        assert client.flush().pending == 0
        client.forget()  # a longer journal would have more instants
    assert number > 100
    client.flush()
    assert len(set(transport.bodies)) == recorded + 1


def test_waking_the_thread_can_be_interrupted_at_any_instant(make_client):
    client = make_client(background=True, transport=Accepting(), upload_delay_seconds=86_400.0)
    client.record("theme", "dark")
    for number in itertools.count(1):
        client._uploader.stop()
        if not interrupt_at(lambda: client._uploader.wake(1e6), number, within="/deniable/"):
            break
        other = threading.Thread(target=client._uploader.wake, args=(1e6,), daemon=True)
        other.start()
        other.join(PATIENCE_SECONDS)
        assert not other.is_alive()
    assert number > 5
    assert client.flush().pending == 0


HEAD = """
import _imp, ctypes, deniable, itertools, os, signal, sys, threading
class Clock:
    now = 1.7e9
    def __call__(self):
        return self.now
class Refusing:
    def send(self, body, timeout_seconds):
        raise ConnectionRefusedError
    def close(self):
        pass
clock = Clock()
client = deniable.Client(
    sys.argv[1], directory=sys.argv[2], consent=True, transport=Refusing(), clock=clock,
    background=False,
)
def record(metric="theme", value="dark"):
    clock.now += 86400
    return client.record(metric, value)
record()
"""


@pytest.fixture
def run(registry, directory):
    def finish(code, expected=0):
        quiet = ["-W", "ignore:This process:DeprecationWarning"]
        done = subprocess.run(
            [
                sys.executable,
                *quiet,
                "-c",
                inspect.getsource(interrupting) + HEAD + code,
                registry,
                directory,
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.stderr, done.returncode) == ("", expected)
        return [int(word) for word in done.stdout.split()]

    return finish


KILLED = """
acknowledged = 1
def work():
    global acknowledged
    acknowledged += record() == "recorded"
for number in itertools.count(1):
    if not interrupt_at(record, number):
        acknowledged += 1
        break
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(number, acknowledged, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.service
def test_what_is_recorded_after_interruptions_survives_a_kill(run, directory):
    number, acknowledged = run(KILLED, expected=-9)
    assert number > 40
    assert acknowledged == number + 1
    reports, debits = stored(directory)
    assert acknowledged <= reports == debits


FORKS = """
sys.unraisablehook = lambda _: None  # Python passes exceptions of fork hooks here
def fork():
    child = os.fork()
    if child == 0:
        os._exit(client.record("late", True) != "recorded")
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
fork()
def work():
    answers.append(record())
for number in itertools.count(1):
    record()
    failed = []
    if not interrupt_at(lambda: failed.append(fork()), number, within="/deniable/"):
        break
    answers = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answers == ["recorded"], (number, answers)
    clock.now += 86400
    assert fork() == 0, number
print(number)
"""


@pytest.mark.service
def test_the_hooks_of_a_fork_can_be_interrupted_at_any_instant(run):
    (number,) = run(FORKS)
    assert number > 5


FORKING = """
clock.now += 86400
def fork():
    global child
    child = os.fork()
for number in itertools.count(1):
    child, outcome = None, []
    more = interrupt_at(lambda: outcome.append(record()), number, fork)
    if child == 0:
        os._exit(0)
    # The child goes on from the same place, and may be faster.
    assert outcome[0] in ("recorded", "already_reported"), (number, outcome, client.status())
    if not more:
        break
    os.waitpid(child, 0)
print(number)
"""


@pytest.mark.service
def test_a_fork_in_the_middle_of_recording_reports_nothing_twice(run, directory):
    (number,) = run(FORKING)
    assert number > 40
    reports = contents(directory).spool.reports()
    # The child may also report the period, if it was not reported at the moment of the fork.
    assert len(reports) == len({each.epoch for each in reports}) == number + 1
    assert stored(directory) == (len(reports), len(reports))


BARE_FORK = """
python = ctypes.PyDLL(None)
child = python.fork()
outcome = record("late", True) if child else record()
if child == 0:
    os._exit(outcome != "recorded")
print(os.waitpid(child, 0)[1])
clock.now += 86400
print(int(record() != "recorded"))
"""


@pytest.mark.service
def test_a_fork_without_pythons_hooks_shares_no_randomness(run, directory):
    """A C library may fork without telling Python."""
    assert run(BARE_FORK) == [0, 0]
    assert contents(directory).spool.count() == 4


HALF_A_FORK = """
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
record()
_imp.acquire_lock()  # as Python's hook before the fork would have done
python = ctypes.PyDLL(None)
child = python.fork()
if child == 0:
    ctypes.pythonapi.PyOS_AfterFork_Child()
    os._exit(client._storage._lock.file is not None or client._storage._last != b"")
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.service
def test_a_child_believes_no_memory_of_its_parent_even_if_only_its_own_hook_ran(run):
    """uWSGI forks like this."""
    assert run(HALF_A_FORK) == [0]
