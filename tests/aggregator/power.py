"""A machine loses power: what is left of the files that a process has written until then.

`strace` notes what a process writes and syncs, in order. At any moment, what was written since the
last sync of a file may be lost in any part, and a new file whose directory was not synced.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.client.life.disk import File

CALLS = "trace=openat,write,pwrite64,fsync,fdatasync,ftruncate,unlink"
_SAID = b"acknowledged: "
_CALL = re.compile(r"(\w+)\((?:\d+<([^>]*)>|AT_FDCWD<[^>]*>)?,? ?(.*)\) += (-?\d+)")
_HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def acknowledge(what):
    """Called by the process that loses power, once something has to be there for good."""
    os.write(1, _SAID + what.encode() + b"\n")


def traced(module, folder, name):
    """The calls of a module's main part, given a file of that name, that change its folder.

    Returns:
        The folder; the calls, in order; and the state after all of them.
    """
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = folder.with_name(f"{folder.name}.trace")
    command = ["strace", "-y", "-xx", "-s", "100000", "-o", trace, "-e", CALLS, "-e", "signal=none"]
    run = [sys.executable, "-m", module, folder / name]
    root = Path(__file__).parents[2]
    subprocess.run([*command, *run], check=True, cwd=root, stdout=subprocess.PIPE)
    calls = [*_parsed(trace.read_text("ascii"), folder)]
    state = Folder(folder)
    for call in calls:
        state.apply(*call)
    for path, file in state.files.items():  # nothing went unnoticed
        assert path.endswith("-shm") or Path(path).read_bytes() == bytes(file.content), path
    return folder, calls, state


def cut(origin, calls, folder, seed):
    """Writes into a folder what a power cut behind these calls leaves; what was acknowledged."""
    state = Folder(origin)
    for call in calls:
        state.apply(*call)
    state.leave(folder, random.Random(seed))
    return state.acknowledged


class Folder:
    """What a folder would hold if the power failed now.

    Attributes:
        acknowledged: how often the process has said so, by what.
    """

    def __init__(self, path):
        self.path = str(path)
        self.files = {}
        self.synced_names = set()
        self.acknowledged = Counter()

    def apply(self, what, path, change):
        """Follows one call."""
        if what == "acknowledged":
            self.acknowledged[path] += 1
        elif what == "created":
            self.files.setdefault(path, File())
        elif what == "written":
            self.files[path].write(*change)
        elif what == "deleted":
            self.files.pop(path)
            self.synced_names.discard(path)
        elif path == self.path:
            self.synced_names.update(self.files)
        else:
            self.files[path].sync()

    def leave(self, folder, drawn):
        """Writes what is left."""
        folder.mkdir()
        for path, file in self.files.items():
            is_left = path in self.synced_names or drawn.random() < 0.5
            if is_left and not path.endswith("-shm"):
                (folder / Path(path).name).write_bytes(file.after_power_failure(drawn))


def _parsed(trace, folder):
    for line in trace.splitlines():
        found = _CALL.match(line)
        if found is None or found[4].startswith("-"):
            continue
        name, path, rest = found[1], _text(found[2] or ""), found[3]
        quoted = _HEX.search(rest)
        data = bytes.fromhex(quoted[1].replace("\\x", "")) if quoted else b""
        if name in ("openat", "unlink"):
            path = data.decode()
        if data.startswith(_SAID):
            yield "acknowledged", data.removeprefix(_SAID).decode().strip(), None
        elif Path(path) != folder and Path(path).parent != folder:
            continue
        elif name == "openat" and "O_CREAT" in rest:
            yield "created", path, None
        elif name == "pwrite64":
            yield "written", path, (int(rest.rpartition(", ")[2]), data)
        elif name == "ftruncate":
            yield "written", path, (int(rest), None)
        elif name in ("fsync", "fdatasync"):
            yield "synced", path, None
        elif name == "unlink":
            yield "deleted", path, None
        else:
            assert name == "openat", line


def _text(hexadecimal):
    return bytes.fromhex(hexadecimal.replace("\\x", "")).decode()
