"""What a server and all processes below it have used: processor, disk and memory."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from benchmarks.served import TICKS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

SAMPLE_SECONDS: Final = 1.0
MAIN, SERVER, DATABASE = "main", "server", "database"
"""Kinds of processes; others are named for their module."""


class Used(NamedTuple):
    """What processes have used since they began, those included that have ended and were awaited.

    Attributes:
        cpu_seconds: in user and system time.
        read_bytes: from the disk, by Linux's count.
        written_bytes: to the disk; of a file system in memory none.
    """

    cpu_seconds: float
    read_bytes: int
    written_bytes: int

    def since(self, before: Used) -> Used:
        """What was used since an earlier look."""
        return Used(
            self.cpu_seconds - before.cpu_seconds,
            self.read_bytes - before.read_bytes,
            self.written_bytes - before.written_bytes,
        )


class ProcessTree:
    """A process and all below it, whose memory is looked at every second.

    Args:
        root: the number of the first process.

    Attributes:
        most_mib: the most memory of each kind of process, as proportional set size.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most_mib: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def used(self, kinds: Collection[str] = ()) -> Used:
        """What all of them, or those of some kinds, have used until now."""
        cpu = read = written = 0
        for pid in _below(self._root):
            with contextlib.suppress(OSError):
                if kinds and _kind(pid, self._root) not in kinds:
                    continue
                stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
                io = dict(line.split(": ") for line in lines)
                cpu += sum(map(int, stat[11:15]))
                read += int(io["read_bytes"])
                written += int(io["write_bytes"])
        return Used(cpu / TICKS, read, written)

    def _watch(self) -> None:
        while not self._stop.wait(SAMPLE_SECONDS):
            now: dict[str, float] = {}
            for pid in _below(self._root):
                with contextlib.suppress(OSError):
                    kind = _kind(pid, self._root)
                    now[kind] = now.get(kind, 0.0) + _memory_mib(pid)
            for kind, memory in now.items():
                self.most_mib[kind] = max(self.most_mib.get(kind, 0.0), memory)


def _below(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _below(int(child))


def _kind(pid: int, root: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    if command[0].startswith(b"postgres") or command[0].endswith(b"/postgres"):
        return DATABASE
    modules = [each.decode() for each in command if each.startswith(b"deniable_aggregator.")]
    if modules:
        return modules[0].removeprefix("deniable_aggregator.")
    return MAIN if pid == root else SERVER


def _memory_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0
