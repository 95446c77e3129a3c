"""Programs that record, run as processes of their own; and what they leave in their directory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from deniable._disclosure.read_only import read_contents

PLENTY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 0.01
[metrics.late]
type = "boolean"
epsilon = 0.01
"""
"""A registry whose budget never runs out, so that a loop can record as often as it likes."""

HEAD = """
import json, os, sys, threading, time
import deniable
from deniable._storage import device, spool
from deniable._upload import uploader
spool.MAX_AGE_DAYS = 10**9  # these clocks run through years
device._LOCK_WAIT_SECONDS = device.RECORD_WAIT_SECONDS = 60.0  # the machine may be busy
uploader._COUNT_SECONDS = 30.0
deniable.Client.flush.__kwdefaults__["timeout_seconds"] = 60.0
registry, directory, endpoint = sys.argv[1:4]
class Clock:
    now = 1.7e9
    def __call__(self):
        return self.now
clock = Clock()
client = deniable.Client(
    registry, endpoint=endpoint, key="k", directory=directory, consent=True, clock=clock
)
def say(*what):
    os.write(1, (json.dumps(what) + "\\n").encode())
"""


@pytest.fixture
def plenty(tmp_path):
    path = tmp_path / "plenty.toml"
    path.write_text(PLENTY, encoding="utf-8")
    return path


@pytest.fixture
def command(plenty, directory):
    def build(code, endpoint="http://127.0.0.1:9"):
        # Python 3.12 and later warn of forks beside threads; these programs fork on purpose.
        quiet = ["-W", "ignore:This process:DeprecationWarning"]
        arguments = [str(plenty), str(directory), endpoint]
        return [sys.executable, *quiet, "-c", HEAD + code, *arguments]

    return build


@pytest.fixture
def run(command):
    def finish(code, endpoint="http://127.0.0.1:9"):
        done = subprocess.run(
            command(code, endpoint), capture_output=True, text=True, timeout=300, check=True
        )
        assert done.stderr == ""
        return [json.loads(line) for line in done.stdout.splitlines()]

    return finish


def contents(directory):
    """What the journal in a directory says; it must be believable."""
    found = read_contents(directory)
    assert found.problem is None
    return found


def stored(directory):
    """How many reports are stored, and how many debits of 0.01 nats."""
    found = contents(directory)
    return found.spool.count(), round(found.ledger.spending(0)[1] / 1e7)


def secret_of(directory):
    """The secret in a directory."""
    return contents(directory).header.secret
