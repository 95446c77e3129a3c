"""A machine with an SQLite store loses power: what was acknowledged is there, and counts once.

`strace` notes what a process writes and syncs, in order. At any moment, what was written since the
last sync of a file may be lost in any part, and a new file whose directory was not synced.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from deniable_aggregator import Store
from deniable_shared import wire
from tests.aggregator.service import TODAY
from tests.aggregator.stored import THEME, append, counted, fold, register
from tests.client.life.disk import File
from tests.repetitions import full_or_small

pytestmark = [pytest.mark.service, pytest.mark.one_store]
COMMITS, TOGETHER = 40, 3
CUTS = full_or_small(24, 8)
ACKNOWLEDGED = b"acknowledged\n"
CALLS = "trace=openat,write,pwrite64,fsync,fdatasync,ftruncate,unlink"
_CALL = re.compile(r"(\w+)\((?:\d+<([^>]*)>|AT_FDCWD<[^>]*>)?,? ?(.*)\) += (-?\d+)")
_HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def commits():
    """The uploads of each commit; every one has an id of its own."""
    for number in range(COMMITS):
        yield [
            wire.Upload(
                (number * TOGETHER + place + 1).to_bytes(wire.ID_BYTES),
                (wire.Part(THEME, TODAY - place, bytes([(number + place) % 3])),),
            )
            for place in range(TOGETHER)
        ]


def work(path):
    """What the process does that loses power: uploads, folds, and what happens at night."""
    with contextlib.closing(Store(path)) as store:
        register(store)
        for number, uploads in enumerate(commits()):
            append(store, uploads)
            os.write(1, ACKNOWLEDGED)
            if number % 8 == 5:
                fold(store)
            if number == COMMITS // 2:
                store.id_order.go_on(TODAY)
                store.inbox.close_epochs(TODAY - 10)


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """The system calls of that process that change its folder, in order."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    folder = tmp_path_factory.mktemp("traced")
    trace = folder.with_name(f"{folder.name}.trace")
    command = ["strace", "-y", "-xx", "-s", "100000", "-o", trace, "-e", CALLS, "-e", "signal=none"]
    run = [sys.executable, "-m", "tests.aggregator.store.test_power_cut", folder / "store.db"]
    root = Path(__file__).parents[3]
    subprocess.run([*command, *run], check=True, cwd=root, stdout=subprocess.PIPE)
    found = [*_parsed(trace.read_text("ascii"), folder)]
    state = Folder(folder)
    for call in found:
        state.apply(*call)
    for path, file in state.files.items():  # nothing went unnoticed
        assert path.endswith("-shm") or Path(path).read_bytes() == bytes(file.content), path
    assert state.acknowledged == COMMITS
    return folder, found


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
        if data == ACKNOWLEDGED:
            yield "acknowledged", "", None
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


class Folder:
    """What a folder would hold if the power failed now."""

    def __init__(self, path):
        self.path = str(path)
        self.files = {}
        self.synced_names = set()
        self.acknowledged = 0

    def apply(self, what, path, change):
        """Follows one call."""
        if what == "acknowledged":
            self.acknowledged += 1
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


def expected():
    found = Counter(
        part.payload[0] for each in commits() for upload in each for part in upload.parts
    )
    return [found[value] for value in range(3)]


def after_cut(calls, folder, end, seed):
    """The folder after a power cut behind so many calls, and how many commits were acknowledged."""
    origin, all_calls = calls
    state = Folder(origin)
    for call in all_calls[:end]:
        state.apply(*call)
    state.leave(folder, random.Random(seed))
    return state.acknowledged


def test_a_power_cut_loses_nothing_acknowledged_and_nothing_counts_twice(calls, tmp_path):
    number = len(calls[1])
    for seed in range(CUTS):
        end = random.Random(seed).randrange(number + 1)
        folder = tmp_path / str(seed)
        acknowledged = after_cut(calls, folder, end, seed)
        with contextlib.closing(Store(folder / "store.db")) as store:
            assert store.check_pages() == []
            register(store)
            before = sum(len(row.payload) for row in _waiting(store)) + _counted(store)
            assert before >= acknowledged * TOGETHER
            for uploads in commits():
                append(store, uploads)
            fold(store)
            assert [*_all_days(store)] == expected()


def test_a_store_that_syncs_nothing_would_be_noticed(calls, tmp_path):
    origin, all_calls = calls
    unsynced = origin, [call for call in all_calls if call[0] != "synced" or call[1] == str(origin)]
    lost = 0
    for seed in range(6):
        folder = tmp_path / str(seed)
        acknowledged = after_cut(unsynced, folder, len(unsynced[1]) - 20, seed)
        try:
            with contextlib.closing(Store(folder / "store.db")) as store:
                register(store)
                found = sum(len(row.payload) for row in _waiting(store)) + _counted(store)
                lost += found < acknowledged * TOGETHER
        except Exception:  # noqa: BLE001  not even a store is left
            lost += 1
    assert lost


def _waiting(store):
    with store.inbox.claim(max_bytes=1 << 20, max_rows=10_000, everything=True) as batch:
        return batch.rows


def _all_days(store):
    return [
        sum(day) for day in zip(*(counted(store, TODAY - n) for n in range(TOGETHER)), strict=True)
    ]


def _counted(store):
    return sum(_all_days(store))


if __name__ == "__main__":
    work(Path(sys.argv[1]))
