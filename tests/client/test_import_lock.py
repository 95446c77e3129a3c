"""A fork while the client's thread imports something: nobody in the child waits for ever."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.service

AMPLE_SECONDS = 60
PROGRAM = """
import importlib.abc, os, signal, sys, threading, time
import deniable

slow, endpoint = sys.argv[3], sys.argv[4]
entered = threading.Event()

class Slowly(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == slow and not entered.is_set():
            entered.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slowly())
assert slow not in sys.modules
client = deniable.Client(
    sys.argv[1], endpoint=endpoint, key="k", directory=sys.argv[2], consent=True,
    upload_delay_seconds=0,
)
assert client.record("theme", "dark") == "recorded"
assert entered.wait(30)
child = os.fork()
if child == 0:
    signal.alarm(30)
    __import__(slow)
    assert client.record("late", True) == "recorded"
    # A host's name is encoded by a module that is imported then, too.
    assert client.flush(timeout_seconds=20).problem.startswith("connection_refused")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
client.flush(timeout_seconds=20)
assert "logging" not in sys.modules, "a fork could disturb its import"
"""


def test_a_child_can_import_a_module_whose_import_was_under_way_at_the_fork(registry, directory):
    command = [sys.executable, "-c", PROGRAM, str(registry), str(directory), "http.client"]
    endpoint = "http://127.0.0.1:9"  # nobody listens
    done = subprocess.run(
        [*command, endpoint], capture_output=True, check=False, timeout=AMPLE_SECONDS
    )
    assert done.returncode == 0, done.stderr.decode()
