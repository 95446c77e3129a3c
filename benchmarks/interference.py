"""How long uploads take while questions are answered, beside the same server at rest.

`python -m benchmarks.interference` sends uploads into a store of a metric of 16 values, 365 days
and 100 write keys (36,500 slices), one every 5 ms. Rounds at rest and rounds with 8 questions that
are asked without pause follow each other, first on a server whose questions have a process of
their own, then on one that answers them in threads. *cores* is what the question process uses of
the processor meanwhile. Prints one JSON object; takes 80 seconds.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import secrets
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np

from benchmarks.served import Served, served
from deniable_aggregator import Settings, Store, create_app
from deniable_aggregator.doors.app import EXTENSION
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

DAYS: Final = 365
KEYS: Final = 100
REPORTS: Final = 60
"""Of a slice: what a small application has."""

DAYS_PER_UPLOAD: Final = 73
QUESTIONS: Final = 8
ASKED_DAYS: Final = (30, 90)
"""A question is about the last so many days."""

PAUSE_SECONDS: Final = 0.005
FOLD_SECONDS: Final = 60.0
SETTINGS: Final = {"accept_days": DAYS, "question_seconds": 600.0}

VALUES: Final = json.dumps([f"value {number}" for number in range(16)])
CATEGORY: Final = f'type = "category"\nvalues = {VALUES}\ncomplete = true\nepsilon = 1.0\n'
REGISTRY: Final = f"""registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
{CATEGORY}mechanism = {{ name = "grr" }}
"""
SPEC: Final = registry.parse(REGISTRY).metrics["theme"].spec


def build(path: Path) -> tuple[str, str]:
    """Fills a store by uploads; returns a batch key and a read key."""
    today = epoch_at(time.time())
    with closing(Store(path)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        read, *write = (
            create_key(store, scope=scope, application="benchmark", label=str(label), today=today)
            for label, scope in enumerate(("read", *("batch",) * KEYS))
        )
    app = create_app(store=path, settings=Settings(**SETTINGS))
    client = app.test_client()
    drawn = np.random.default_rng(1)
    for key in write:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": wire.CONTENT_TYPE}
        for first in range(today - DAYS + 1, today + 1, DAYS_PER_UPLOAD):
            parts = tuple(
                wire.Part(
                    SPEC.digest, day, drawn.integers(16, size=REPORTS, dtype=np.uint8).tobytes()
                )
                for day in range(first, first + DAYS_PER_UPLOAD)
            )
            body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), parts))
            answer = client.post("/v1/reports", data=body, headers=headers)
            assert answer.status_code == 204, answer.data
    app.extensions[EXTENSION].inbox_fold.fold(seconds=FOLD_SECONDS)
    app.extensions[EXTENSION].close()
    return write[0], read


def send(url: str, token: str, seconds: float) -> list[float]:
    """Sends uploads of one report for some seconds; returns how long each of them took."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}
    spent = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        part = wire.Part(SPEC.digest, epoch_at(time.time()), b"\x01")
        body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
        start = time.perf_counter()
        connection.request("POST", "/v1/reports", body, headers)
        answer = connection.getresponse()
        answer.read()
        spent.append(time.perf_counter() - start)
        assert answer.status == 204, answer.status
        time.sleep(PAUSE_SECONDS)
    return spent


class Sender:
    """A process that sends uploads, which whoever asks questions here does not keep waiting."""

    def __init__(self, url: str, token: str) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        fork = multiprocessing.get_context("fork")
        self.process = fork.Process(target=_obey, args=(theirs, url, token), daemon=True)
        self.process.start()

    def send(self, seconds: float) -> list[float]:
        """Sends for some seconds; returns how long each upload took."""
        self._ours.send(seconds)
        found: list[float] = self._ours.recv()
        return found

    def close(self) -> None:
        """Ends the process."""
        self._ours.send(None)
        self.process.join()


def _obey(orders: Connection, url: str, token: str) -> None:
    while (seconds := orders.recv()) is not None:
        orders.send(send(url, token, seconds))


class Askers:
    """Threads that ask without pause, each time about other days, until they are stopped.

    Attributes:
        answers: HTTP statuses.
    """

    def __init__(self, url: str, token: str) -> None:
        self._netloc = urlsplit(url).netloc
        self._headers = {"Authorization": f"Bearer {token}"}
        self._random = random.Random(1)  # noqa: S311  which days are asked for is no secret
        self._stop = threading.Event()
        self.answers: list[int] = []
        self._threads = [threading.Thread(target=self._ask) for _ in range(QUESTIONS)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        connection = http.client.HTTPConnection(self._netloc, timeout=600)
        while not self._stop.is_set():
            since = epoch_at(time.time()) - self._random.randrange(*ASKED_DAYS)
            day = time.strftime("%Y-%m-%d", time.gmtime(since * 86_400))
            kind = self._random.choice(("estimate?", "health?", "series?by=week&"))
            path = f"/v1/metrics/theme/{kind}since={day}"
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            answer.read()
            self.answers.append(answer.status)

    def stop(self) -> int:
        """Waits for the last answers; returns how many came with 200 until now."""
        found = self.answers.count(200)
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return found


def figures(rounds: list[list[float]]) -> dict[str, float]:
    """Of the uploads of all rounds together, in milliseconds."""
    together = [each * 1e3 for one in rounds for each in one]
    return {
        "uploads": len(together),
        "p50_ms": round(statistics.median(together), 2),
        "p99_ms": round(p99(together), 2),
        "max_ms": round(max(together), 2),
    }


def p99(values: list[float]) -> float:
    """The 99% quantile."""
    return statistics.quantiles(values, n=100, method="inclusive")[98]


def measure(
    server: Served, write: str, read: str, rounds: int, seconds: float, *, real_time: bool
) -> dict[str, Any]:
    """Rounds at rest and rounds with questions, in turn."""
    sender = Sender(server.url, write)
    if real_time:
        for pid in (sender.process.pid, server.worker()):
            subprocess.run(["chrt", "--all-tasks", "--rr", "--pid", "1", str(pid)], check=True)
    sender.send(1.0)
    rest, asked, answered, spent, lasted = [], [], 0, 0.0, 0.0
    for _ in range(rounds):
        rest.append(sender.send(seconds))
        askers = Askers(server.url, read)
        spent -= server.question_cpu_seconds()
        lasted -= time.monotonic()
        try:
            asked.append(sender.send(seconds))
        finally:
            spent += server.question_cpu_seconds()
            lasted += time.monotonic()
            answered += askers.stop()
    sender.close()
    ratios = sorted(p99(b) / p99(a) for a, b in zip(rest, asked, strict=True))
    return {
        "at_rest": figures(rest),
        "with_questions": figures(asked),
        "answers": answered,
        "cores": round(spent / lasted, 2),
        "p99_ratio": round(statistics.median(ratios), 2),
        "p99_ratio_of_rounds": [round(each, 2) for each in ratios],
        "load": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.5, help="of one round")
    parser.add_argument("--store", type=Path, help="keep the store here, and use it again")
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="let the server and the sender of uploads precede all other programs, as root: for a "
        "machine that has other work",
    )
    parser.add_argument("--only", choices=("own_process", "threads"))
    given = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = given.store or Path(folder, "store.db")
        tokens = path.with_suffix(".tokens")
        if not path.exists():
            tokens.write_text(json.dumps(build(path)))
        write, read = json.loads(tokens.read_text())
        for name, processes in (("own_process", 1), ("threads", 0)):
            if given.only in (None, name):
                settings = {"question_processes": processes, **SETTINGS}
                with served(str(path), core=None, **settings) as server:
                    found[name] = measure(
                        server, write, read, given.rounds, given.seconds, real_time=given.real_time
                    )
    print(json.dumps(found, indent=4))


if __name__ == "__main__":
    main()
