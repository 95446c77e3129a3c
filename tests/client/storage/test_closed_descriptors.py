"""A host closes every descriptor, as daemons do: its own files stay as they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.client.programs import stored

pytestmark = pytest.mark.service

HOST = """
import os, sys
import deniable
registry, directory, files, when = sys.argv[1:5]
class Clock:
    now = 1.7e9
    def __call__(self):
        Clock.now += 86400
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
    recorded += client.record("theme", "dark") == "recorded"
def close_all():
    os.closerange(3, 256)
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
client._uploader.stop()
say(len(os.listdir("/proc/self/fd")) - before)
"""


def test_no_descriptor_is_kept_between_two_calls(run, collector):
    assert run(OPEN, collector.endpoint) == [[0]]
