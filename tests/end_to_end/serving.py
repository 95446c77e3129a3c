"""A real server in its own processes, as ``deniable serve`` starts it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from deniable_aggregator import Store
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from tests.end_to_end import asking
from tests.ports import HOST, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START_SECONDS = 120.0


@dataclass
class Server:
    """A running server.

    Attributes:
        process: its main process, the leader of a group of their own.
        port: where it listens.
        output: everything it has printed.
        store: the path or URL of its store.
    """

    process: subprocess.Popen[bytes]
    port: int
    output: Path
    store: Path | str

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def children(self) -> list[int]:
        """The processes that the main one has started."""
        children: list[int] = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended
                children += map(int, (task / "children").read_text().split())
        return children

    def show(self) -> None:
        """Counts all that waits, as when the day is over: so answers have it from now on."""
        show(self.store)

    def kill(self) -> None:
        """Kill -9 for all of its processes at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    close = kill

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(START_SECONDS)
        finally:
            self.kill()


def start(
    store: Path | str, *options: str, port: int | None = None, output: Path | None = None
) -> Server:
    """Starts a server and waits until it answers; a URL of a store needs an output."""
    port = free_port() if port is None else port
    if output is None:
        assert not isinstance(store, str)
        output = store.with_suffix(".log")
    return launch(["deniable_aggregator", "serve"], store, options, port=port, output=output)


def launch(
    words: list[str],
    store: Path | str,
    options: Sequence[str],
    *,
    port: int,
    output: Path,
    environment: Mapping[str, str] = os.environ,
) -> Server:
    """Starts a module that serves a store, and waits until it answers."""
    command = [sys.executable, "-m", *words, "--store", str(store)]
    command += ["--port", str(port), "--end-with", str(os.getpid()), *options]
    with output.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=dict(environment),
        )
    server = Server(process, port, output, store)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not answers(server.url):
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.02)
    except BaseException:
        server.kill()
        raise
    return server


def show(target: Path | str) -> None:
    """Counts all that waits in a store, whoever serves it."""
    with contextlib.closing(Store(target)) as store:
        InboxFold(store, MetricCatalog(store)).fold(seconds=START_SECONDS)


def answers(url: str) -> bool:
    try:
        return asking.get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


@contextlib.contextmanager
def running(store: Path, *options: str) -> Iterator[Server]:
    """A server for the length of a block."""
    server = start(store, *options)
    try:
        yield server
    finally:
        server.kill()
