"""What happens to servers and folders when the run of tests that made them is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until

pytestmark = pytest.mark.service

SMALL = """
import json, pathlib, subprocess, sys
from tests import watchdog
folder = pathlib.Path(sys.argv[1], "left")
folder.mkdir()
process = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
watchdog.watch(folder=folder)
watchdog.watch(process=process.pid)
print(json.dumps({"processes": [process.pid], "folders": [str(folder)]}), flush=True)
sys.stdin.read()
"""

SERVERS = """
import json, sys
from pathlib import Path
from tests.end_to_end import serving
from tests.postgresql import Postgresql, binaries
server = serving.start(Path(sys.argv[1], "store.db"))
told = {"processes": [server.process.pid, *server.children()], "folders": []}
if binaries() is not None:
    database = Postgresql(fsync="off")
    told["processes"] += [database._process.pid, *database._children()]
    told["folders"].append(str(database.folder))
print(json.dumps(told), flush=True)
sys.stdin.read()
"""


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def started(program, folder):
    command = [sys.executable, "-c", program, str(folder)]
    top = Path(__file__).parents[1]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=top, stdin=pipe, stdout=pipe)


@pytest.mark.parametrize("program", [SMALL, SERVERS], ids=["watched", "servers"])
def test_servers_and_folders_go_when_the_run_that_made_them_is_killed(program, tmp_path):
    with started(program, tmp_path) as running:
        told = json.loads(running.stdout.readline())
        assert is_running(told["processes"][0])
        os.kill(running.pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, told["processes"])))
    wait_until(lambda: not any(Path(folder).exists() for folder in told["folders"]))


def test_a_run_that_ends_orderly_keeps_what_it_left(tmp_path):
    with started(SMALL, tmp_path) as running:
        told = json.loads(running.stdout.readline())
        running.stdin.close()
        assert running.wait() == 0  # its watchdog has ended before it
    assert Path(*told["folders"]).exists()
    (pid,) = told["processes"]
    assert is_running(pid)
    os.kill(pid, signal.SIGKILL)
