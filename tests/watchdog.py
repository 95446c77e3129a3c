"""Ends what a test run leaves when it is killed: servers that know no parent, and their folders.

A process of its own reads from a pipe what there is to end. The pipe ends with the test process,
however that ends. ``deniable serve`` needs none of this: it has ``--end-with``.
"""

from __future__ import annotations

import atexit
import json
import signal
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import json, os, shutil, signal, sys, time

def start_of(pid):
    # Tells a process from a later one of the same number.
    try:
        with open(f"/proc/{pid}/stat") as file:
            state, *fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else fields[18]

processes, folders = [], []
for line in sys.stdin:
    told = json.loads(line)
    if told["orderly"]:
        sys.exit()
    if told["folder"]:
        folders.append(told["folder"])
    if told["process"]:
        processes.append((told["process"], start_of(told["process"]), told["signal"]))
for sent in ("first", "last"):
    left = [each for each in processes if each[1] and start_of(each[0]) == each[1]]
    for pid, _, how in left:
        try:
            os.kill(pid, how if sent == "first" else signal.SIGKILL)
        except ProcessLookupError:
            pass
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(start_of(pid) == at for pid, at, _ in left):
        time.sleep(0.02)
for folder in folders:
    shutil.rmtree(folder, ignore_errors=True)
"""


def watch(
    *, process: int = 0, how: signal.Signals = signal.SIGKILL, folder: Path | None = None
) -> None:
    """Has something ended if this process is killed; what has ended by itself is left alone.

    Args:
        process: the id of a process; 0 for none.
        how: the signal that ends it. After ten seconds it is killed.
        folder: what is deleted, after the processes have ended; None for nothing.
    """
    _tell(process=process, signal=how, folder=str(folder or ""), orderly=False)


def _tell(**what: object) -> None:
    pipe = _watchdog().stdin
    pipe.write(json.dumps(what).encode() + b"\n")
    pipe.flush()


@cache
def _watchdog() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-S", "-c", PROGRAM]
    # Not in the group of the test process, which a terminal or `kill` may end as a whole.
    started = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    atexit.register(_end, started)
    return started


def _end(started: subprocess.Popen[bytes]) -> None:
    _tell(process=0, signal=0, folder="", orderly=True)
    started.stdin.close()
    started.wait()
