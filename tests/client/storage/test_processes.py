"""Behaviour of whole processes: kills, exits, forks, races, a full disk, imports."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.client.programs import PLENTY, contents, stored

pytestmark = pytest.mark.service

RECORD_FOR_EVER = """
while True:
    clock.now += 86400
    if client.record("theme", "dark") == "recorded":
        os.write(1, b".")
"""


def test_what_was_recorded_survives_being_killed_at_any_moment(command, directory):
    acknowledged, day = 0, int(1.7e9 // 86400)
    for _ in range(8):
        process = subprocess.Popen(
            command(f"clock.now = {day} * 86400" + RECORD_FOR_EVER),
            stdout=subprocess.PIPE,
        )
        first = process.stdout.read(1)
        time.sleep(random.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        acknowledged += len(first + process.stdout.read())
        process.stdout.close()
        process.wait()
        reports, debits = stored(directory)
        # A kill may come after the commit and before the answer, never between debit and report.
        assert acknowledged <= reports == debits
        # The clock continues from where the last process was killed.
        day = contents(directory).ledger.latest_day()


def test_a_process_that_ends_at_once_delivers_in_a_later_one(run, collector, directory):
    run('assert client.record("theme", "dark") == "recorded"; os._exit(0)', collector.endpoint)
    assert stored(directory) == (1, 1)
    assert run("say(client.flush().sent)", collector.endpoint) == [[1]]
    assert len(collector.bodies) == 1


def test_a_process_that_is_terminated_right_after_recording_delivers_in_a_later_one(
    command, run, collector, directory
):
    code = 'assert client.record("theme", "dark") == "recorded"; os.kill(os.getpid(), 15)'
    process = subprocess.run(command(code, collector.endpoint), timeout=300, check=False)
    assert process.returncode == -signal.SIGTERM
    assert stored(directory) == (1, 1)
    assert run("say(client.flush().sent)", collector.endpoint) == [[1]]
    assert len(collector.bodies) == 1


AT_EXIT = """
import atexit, os, sys
import deniable
atexit.register(lambda: os.write(1, client.record("theme", "dark").encode()))
class Refusing:
    def send(self, body, timeout_seconds):
        raise ConnectionRefusedError
    def close(self):
        pass
client = deniable.Client(sys.argv[1], directory=sys.argv[2], transport=Refusing(), consent=True)
"""


def test_what_a_program_does_at_its_exit_is_recorded_if_it_was_registered_after_the_import(
    plenty, directory
):
    """Even if the client was made later than the exit handler."""
    arguments = [sys.executable, "-c", AT_EXIT, plenty, directory]
    done = subprocess.run(arguments, capture_output=True, timeout=300, check=True)
    assert (done.stdout, done.stderr) == (b"recorded", b"")
    assert stored(directory) == (1, 1)


def race(command, code):
    """The output of eight processes that run a program at the same time."""
    gate, opener = os.pipe()
    wait = 'say("ready")\nos.read(0, 1)\n'
    processes = [
        subprocess.Popen(command(wait + code), stdin=gate, stdout=subprocess.PIPE) for _ in range(8)
    ]
    os.close(gate)
    for process in processes:
        assert json.loads(process.stdout.readline()) == ["ready"]
    os.close(opener)
    lines = []
    for process in processes:
        out, _ = process.communicate(timeout=300)
        lines += [json.loads(line) for line in out.splitlines()]
    return lines


def test_eight_processes_racing_for_a_period_get_exactly_one_report(command, directory):
    code = 'say(client.record("theme", "dark"), client.record("late", True))'
    outcomes = [outcome for line in race(command, code) for outcome in line]
    assert set(outcomes) <= {"recorded", "already_reported", "waiting"}
    assert outcomes.count("recorded") <= 2
    assert stored(directory) == (2, 2)


DAY_SECONDS = 0.04
"""Of a clock that is the same in all processes of a machine."""

MEMOIZED = 'epsilon_permanent = 1.0\nrepeat = "memoize"\nevery = "day"\n'
FLAGS = "".join(
    f'[metrics.{name}]\ntype = "boolean"\nepsilon = 0.5\n{MEMOIZED if name < "e" else ""}'
    for name in "abcdefgh"
)


def test_eight_processes_never_exceed_the_budget_of_a_day_together(plenty, command):
    budget = PLENTY.partition("[metrics")[0].replace("16.0", "1.5")
    plenty.write_text(budget + FLAGS, encoding="utf-8")
    outcomes = race(
        command,
        """
import random
for name in random.sample("abcdefgh", 8):
    say(client.record(name, True))
""",
    )
    assert len(outcomes) == 64
    assert outcomes.count(["recorded"]) == 3


@pytest.mark.parametrize(
    ("names", "limit", "least", "most", "reports"),
    [
        ("abcdefgh", "9.8", 9.3e9, 9.8e9, 18),
        # Four flags with two answers each: 16 reports pay for them, and further ones are free.
        ("abcd", "400.0", 7.9e9, 8.0e9, 20),
    ],
)
def test_eight_processes_never_spend_together_what_one_may_not(
    plenty, command, directory, names, limit, least, most, reports
):
    """Days pass in all of them at once; at every debit they could spend the same epsilon twice."""
    budget = PLENTY.partition("[metrics")[0].replace("400.0", limit)
    plenty.write_text(budget + FLAGS, encoding="utf-8")
    code = f"""
import random
day = 1.7e9 // 86400 * 86400
end = time.monotonic() + 60 * {DAY_SECONDS}
while time.monotonic() < end:
    passed = time.monotonic() // {DAY_SECONDS}
    clock.now = day + passed * 86400
    for name in random.sample({names!r}, {len(names)}):
        if client.record(name, True) == "recorded":
            # Whoever is late records for the day that the others have come to.
            in_time = time.monotonic() // {DAY_SECONDS} == passed
            say(passed if in_time else None, name)
"""
    recorded = race(command, code)
    in_time = [(passed, name) for passed, name in recorded if passed is not None]
    assert len(set(in_time)) == len(in_time) > len(names)
    assert len(recorded) >= reports
    _, lifetime = contents(directory).ledger.spending(0)
    assert least < lifetime <= most


def test_forked_children_share_the_ledger_and_draw_their_own_randomness(run, directory):
    outcomes = run("""
client.record("theme", "dark")
for child in range(8):
    if os.fork() == 0:
        clock.now += 86400
        outcomes = client.record("theme", "dark"), client.record("late", True)
        say(*outcomes, client._engine.randomness.take(16).hex())
        os._exit(0)
for child in range(8):
    os.wait()
say(client.record("late", True), "", client._engine.randomness.take(16).hex())
""")
    assert [each[0] for each in outcomes].count("recorded") == 1
    assert [each[1] for each in outcomes].count("recorded") == 1
    assert len({each[2] for each in outcomes}) == 9
    assert stored(directory) == (3, 3)


def test_a_fork_while_other_threads_record_and_upload_hangs_nobody(run, collector):
    outcomes = run(
        """
def work():
    while True:
        clock.now += 86400
        client.record("theme", "dark")
        time.sleep(0.0005)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for _ in range(15):
    child = os.fork()
    if child == 0:
        clock.now += 1e6
        say(client.record("late", True), client.flush(timeout_seconds=0.1).pending >= 0)
        os._exit(0)
    os.waitpid(child, 0)
os._exit(0)
""",
        collector.endpoint,
    )
    assert len(outcomes) == 15
    assert {each[0] for each in outcomes} <= {"recorded", "already_reported"}
    assert all(each[1] for each in outcomes)


def test_a_child_uploads_with_a_thread_and_a_connection_of_its_own(run, collector):
    results = run(
        """
client.record("theme", "dark")
say(client.flush().sent)
if os.fork() == 0:
    client.record("late", True)
    say(client.flush().sent)
    os._exit(0)
os.wait()
clock.now += 86400
client.record("theme", "dark")
say(client.flush().sent)
""",
        collector.endpoint,
    )
    assert results == [[1], [1], [1]]
    assert len(set(collector.ids())) == len(collector.bodies) == 3


def test_a_signal_handler_may_record_at_any_moment(run, directory):
    ((handled, recorded, error),) = run("""
import signal
client._uploader._background = False  # its thread would keep the storage busy
handled = []
def handle(*_):
    handled.append(client.record("late", True))
    signal.setitimer(signal.ITIMER_REAL, 0.001)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001)
recorded = 0
while len(handled) < 200:
    clock.now += 86400
    recorded += client.record("theme", "dark") == "recorded"
signal.setitimer(signal.ITIMER_REAL, 0)
client.close()
recorded += handled.count("recorded") + handled.count("waiting")
recorded -= client.status().dropped.get("not_written", 0)
say(sorted(set(handled)), recorded, client.status().last_error)
""")
    assert set(handled) <= {"recorded", "already_reported", "waiting"}, error
    reports, debits = stored(directory)
    assert reports == debits == recorded


def test_a_full_disk_never_raises_and_loses_nothing_that_was_recorded(run, directory):
    ((recorded, refused, after),) = run("""
import resource
client._uploader._background = False  # its thread would keep the storage busy
from deniable._storage import device
device.REOPEN_SECONDS = 0.0
client.record("theme", "dark")
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
recorded, refused = 1, 0
for _ in range(400):
    clock.now += 86400
    outcome = client.record("theme", "dark")
    recorded += outcome == "recorded"
    refused += outcome == "storage_unavailable"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
clock.now += 86400
say(recorded, refused, client.record("theme", "dark"))
""")
    assert recorded + refused == 401
    assert refused > 0
    assert after == "recorded"
    reports, debits = stored(directory)
    assert recorded + 1 == reports == debits


def test_importing_and_holding_a_client_loads_nothing_heavy(plenty, directory):
    code = """
import sys
import deniable
heavy = {"numpy", "flask", "http.client", "ssl", "logging", "asyncio"}
first = sorted((heavy | {"sqlite3", "typing", "tomllib", "threading"}) & set(sys.modules))
client = deniable.Client(sys.argv[1], endpoint="https://a.example", key="k", directory=sys.argv[2])
client.record("theme", "dark")
second = sorted(heavy & set(sys.modules))
print(first, second)
"""
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(plenty), str(directory)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert done.stdout.split("\n")[0] == "[] []"
