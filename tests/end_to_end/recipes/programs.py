"""What the programs in examples/ run with: an aggregator, an environment, and a way to end them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deniable
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry
from deniable_shared.periods import epoch_at
from tests import watchdog
from tests.end_to_end import asking
from tests.end_to_end.serving import START_SECONDS, Server, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
REGISTRY = registry.load(EXAMPLES / "metrics.toml")

AT_ONCE = "import deniable; deniable.Client.__init__.__kwdefaults__['upload_delay_seconds'] = 0.0"
"""Has a program send its reports at once, instead of within a day."""

ATTEMPTS = 5
"""How often a program may try what takes longer than it waits on a busy machine."""


class Aggregator:
    """A running aggregator that knows the metrics of the examples, and serves several tests."""

    def __init__(self, server: Server, write: str, read: str) -> None:
        self.server, self.url, self.write, self.read = server, server.url, write, read

    def counted(self, metric: str) -> int:
        self.server.show()
        answer = asking.get(
            f"{self.url}/v1/metrics/{metric}/estimate",
            headers={"Authorization": f"Bearer {self.read}"},
        )
        return answer.json().get("head", {}).get("reports", 0)

    def awaited(self, metric: str, reports: int) -> bool:
        """Whether so many reports arrive in reasonable time, and no more of them."""
        deadline = time.monotonic() + START_SECONDS
        while self.counted(metric) < reports and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.counted(metric) == reports


@contextlib.contextmanager
def aggregator_in(folder: Path) -> Iterator[Aggregator]:
    """An aggregator with its store in a folder."""
    path, today = folder / "store.db", epoch_at(time.time())
    with contextlib.closing(Store(path)) as store:
        store.metrics.register(REGISTRY.metrics.values(), today)
        tokens = [
            create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "read")
        ]
    with running(path) as server:
        yield Aggregator(server, *tokens)


def environment(state: Path, url: str, key: str = "key") -> dict[str, str]:
    """Variables of a program whose user has agreed, and which keeps its state in a folder."""
    return {
        **os.environ,
        "DENIABLE_ENDPOINT": url,
        "DENIABLE_KEY": key,
        "FLIGHTDECK_STATE": str(state),
        "FLIGHTDECK_TELEMETRY": "on",
        "XDG_STATE_HOME": str(state),
    }


def deliver(settings: dict[str, str]) -> int:
    """Sends, before its time, what programs have stored in their directory."""
    with deniable.Client(
        REGISTRY,
        endpoint=settings["DENIABLE_ENDPOINT"],
        key=settings["DENIABLE_KEY"],
        directory=Path(settings["FLIGHTDECK_STATE"], "telemetry"),
        consent=True,
        background=False,
    ) as client:
        return client.flush(timeout_seconds=START_SECONDS).sent


@contextlib.contextmanager
def program(
    env: dict[str, str], log: Path, *arguments: str, **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """A program of this environment's interpreter, ended with its children after the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=ROOT, env=env, stdout=output, stderr=output,
            start_new_session=True, **options,
        )  # fmt: skip
    watchdog.watch(process=process.pid, how=signal.SIGTERM)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(
    question: Callable[[], Any], log: Path, process: subprocess.Popen[bytes] | None = None
) -> Any:
    """Asks until the answer is true, and returns it."""
    deadline = time.monotonic() + START_SECONDS
    while not (answer := question()):
        assert process is None or process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
    return answer


def threads_by_process(parent: int) -> dict[int, int]:
    """How many threads a process and each of its children have."""
    found, children = {}, []
    ended = contextlib.suppress(FileNotFoundError, ProcessLookupError)
    for task in Path(f"/proc/{parent}/task").iterdir():
        with ended:
            children += map(int, (task / "children").read_text().split())
    for pid in (parent, *children):
        with ended:
            found[pid] = len(list(Path(f"/proc/{pid}/task").iterdir()))
    return found


def once(outcomes):
    """Whether at most one is recorded, and all others say that there is nothing more to report.

    Of processes that want the directory at the same moment, one may keep its own in memory: it is
    "waiting" until it can be written, or turns out to be reported already.
    """
    others = [outcome for outcome in outcomes if outcome not in ("already_reported", "waiting")]
    return others in ([], ["recorded"])
