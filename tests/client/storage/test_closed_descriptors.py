"""A host closes every descriptor, as daemons do: its own files stay as they are."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys

import pytest

from deniable._platform import files
from deniable._transport import connection
from tests.client.programs import stored

pytestmark = pytest.mark.service

HOST = """
import os, sys, threading
import deniable
registry, directory, files, when = sys.argv[1:5]
class Clock:
    now = 1.7e9
    def __call__(self):
        return Clock.now
class Server:
    def send(self, body, timeout_seconds):
        return deniable.Response(204)
    def close(self):
        pass
class Refusing(Server):
    def send(self, body, timeout_seconds):
        raise ConnectionRefusedError
client = deniable.Client(
    registry, directory=directory, consent=True, transport=Refusing(), clock=Clock(),
    background=when == "with a thread",
)
recorded = 0
def record():
    global recorded
    Clock.now += 86400
    recorded += client.record("theme", "dark") == "recorded"
def close_all():
    os.closerange(3, 256)
def is_idle():  # nobody can close a number that a thread is using at that moment
    frames = sys._current_frames()
    del frames[threading.get_ident()]
    return all(frame.f_code.co_name == "_run" for frame in frames.values())
def fork():
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        os._exit(0)
record()
client.flush()
client.disclosure()
if when == "before a fork":
    close_all()
    fork()
elif when == "after a fork":
    fork()
    record()
    close_all()
elif when == "between two forks":
    fork()
    close_all()
    record()
    fork()
else:
    while not is_idle():
        pass
    close_all()
hosts = [open(f"{files}/{number}", "w+") for number in range(12)]
for host in hosts:
    host.write("of the host\\n" * 100)
    host.flush()
record()
client.flush()
record()
client.disclosure()
client.consent = True
record()
client.close()
for number, host in enumerate(hosts):
    os.fstat(host.fileno())  # still open
    host.seek(0)
    assert host.read() == open(f"{files}/{number}").read() == "of the host\\n" * 100
print(recorded)
"""


@pytest.mark.parametrize(
    "when",
    ["without a fork", "with a thread", "before a fork", "after a fork", "between two forks"],
)
def test_no_byte_of_a_host_changes_and_every_recorded_report_is_there(
    plenty, directory, tmp_path, when
):
    files = tmp_path / "host"
    files.mkdir()
    quiet = ["-W", "ignore:This process:DeprecationWarning"]
    done = subprocess.run(
        [sys.executable, *quiet, "-c", HOST, plenty, directory, files, when],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    recorded = int(done.stdout)
    assert recorded >= 4
    assert stored(directory) == (recorded, recorded)


OPEN = """
import os
before = len(os.listdir("/proc/self/fd"))
client.record("theme", "dark")
client.status()
client.flush()
client.disclosure()
clock.now += 86400
client.record("theme", "dark")
thread = client._uploader.stop()
if thread is not None:
    thread.join()  # it may be within a call of its own
say(len(os.listdir("/proc/self/fd")) - before)
"""


def test_no_descriptor_is_kept_between_two_calls(run, collector):
    assert run(OPEN, collector.endpoint) == [[0]]


def test_what_waits_for_the_disk_closes_no_descriptor_of_a_host(make_client, monkeypatch, tmp_path):
    """The host closes all while the journal is replaced, and gets the numbers for its own files."""
    client, sync, hosts = make_client(), files.sync, []
    client.record("theme", "dark")
    place = tmp_path / "host"
    place.write_bytes(b"of the host")

    def closing(file):
        lock = client._storage._lock.file
        for number in {file, lock} - {None}:
            other = os.open(place, os.O_RDWR)
            os.dup2(other, number)  # as closing it, and opening another file
            os.close(other)
            hosts.append(number)
        sync(file)

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync", closing)
        client.flush(timeout_seconds=1.0)
    assert hosts
    for number in {*hosts}:
        assert os.path.samestat(os.fstat(number), place.stat())
        os.close(number)
    assert place.read_bytes() == b"of the host"


def test_a_socket_whose_number_is_another_files_is_not_closed(make_client, collector, tmp_path):
    numbers = []

    def answer(_body):
        for number in range(3, 256):
            with contextlib.suppress(OSError, ValueError):
                if stat.S_ISSOCK(os.fstat(number).st_mode) and number in ours():
                    other = os.open(tmp_path, os.O_RDONLY)
                    os.dup2(other, number)
                    os.close(other)
                    numbers.append(number)
        return 204, {"Content-Length": "0"}

    def ours():
        return {each.fileno() for each in connected}

    connected = []
    connect = connection.connect

    def watched(*arguments, **options):
        connected.append(connect(*arguments, **options))
        return connected[-1]

    collector.answer = answer
    client = make_client(endpoint=collector.endpoint)
    client.record("theme", "dark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "connect", watched)
        assert client.flush().sent == 0
    assert numbers
    for number in numbers:
        assert os.path.samestat(os.fstat(number), tmp_path.stat())
        os.close(number)
