"""What one application's questions cost another: how long answers take beside them, and alone.

`python -m benchmarks.fairness` makes a store of two applications, each with a year of ten write
keys: 3,650 slices of 1,200 reports a metric. One analyst asks about *calm*, one question after the
other with a pause between them. Rounds alone and rounds in which 8 programs ask about *hog* without
pause follow each other; each has the same questions. An answer takes so many seconds, and meanwhile
the process with the questions uses so many seconds of a processor, for whomever: the latter do not
depend on what else the machine does, and count twice what two threads do at a time.
Prints one JSON object; takes some minutes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import closing, suppress
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
from sqlalchemy import select

from benchmarks.interference import p99
from benchmarks.questions import CANDIDATES, CATEGORY, HEAD, STRING, VALUES, drawn
from benchmarks.served import Served, served
from deniable_aggregator import Store
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.store import schema
from deniable_aggregator.keeping.store.parts import SliceNumbers, add_to_totals, insert_parts
from deniable_shared import registry
from deniable_shared.periods import epoch_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DAYS: Final = 365
KEYS: Final = 10
REPORTS: Final = 1_200
DISTINCT: Final = 10
"""So many different slices are drawn, as drawing all of them would take an hour."""

METRICS: Final = {"theme": CATEGORY, "word": STRING}
ASKERS: Final = 8
PAUSE_SECONDS: Final = 0.05

Asked = tuple[str, Any]
Taken = tuple[float, float]
"""By the clock, and of a processor."""

CALM: Final[tuple[Asked, ...]] = (
    ("/v1/metrics/theme/estimate", None),
    ("/v1/metrics/theme/series?by=week", None),
    ("/v1/metrics/theme/health", None),
    ("/v1/metrics/word/estimate", {"candidates": CANDIDATES[:100]}),
    ("/v1/metrics/theme/estimate?split=key", None),
)
HOG: Final[tuple[Asked, ...]] = (
    ("/v1/metrics/word/series?by=week", {"candidates": CANDIDATES}),
    ("/v1/metrics/theme/series?by=day", None),
    ("/v1/health", None),
    ("/v1/metrics/word/estimate", {"candidates": CANDIDATES}),
)


def fill(store: Store, application: str) -> str:
    """Registers and fills metrics of an application; returns a read key."""
    today = epoch_at(time.time())
    text = HEAD.replace("benchmark", application)
    text += "".join(f"[metrics.{name}]\n{each}" for name, each in METRICS.items())
    metrics = registry.parse(text).metrics
    store.metrics.register(metrics.values(), today)
    issued: dict[str, Any] = {"application": application, "today": today}
    for number in range(KEYS):
        create_key(store, scope="write", label=f"app {number}", **issued)
    generator = np.random.default_rng(1)
    keys_of = select(schema.keys.c.number).where(
        schema.keys.c.scope == "write", schema.keys.c.application == application
    )
    for name, metric in metrics.items():
        values = VALUES if name == "theme" else CANDIDATES[:50]
        some = [drawn(metric.spec, REPORTS, values, generator) for _ in range(DISTINCT)]
        with store._database.write() as connection:
            keys = connection.execute(keys_of).scalars().all()
            number = connection.execute(
                select(schema.metrics.c.number).where(schema.metrics.c.digest == metric.spec.digest)
            ).scalar_one()
            for epoch in range(today - DAYS + 1, today + 1):
                parts = [
                    (SliceNumbers(number, epoch, key), part)
                    for key in keys
                    for part in some[int(generator.integers(DISTINCT))]
                ]
                insert_parts(connection, parts)
            add_to_totals(connection, {(number, key): DAYS * REPORTS for key in keys})
    return create_key(store, scope="read", label="", **issued)


class Client:
    """Asks with one key."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, asked: Asked, clock: Callable[[], float] = time.perf_counter) -> Taken:
        """How long an answer takes, and what passes on another clock meanwhile."""
        start = time.perf_counter(), clock()
        assert self.is_answered(asked), asked
        return time.perf_counter() - start[0], clock() - start[1]

    def leave(self) -> None:
        """Closes the connection, whatever is being answered."""
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)

    def is_answered(self, asked: Asked) -> bool:
        """Asks, and returns whether there is an answer."""
        path, body = asked
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(
            "GET" if body is None else "POST", path, content, headers=self._headers
        )
        answer = self._connection.getresponse()
        answer.read()
        return answer.status == 200


class Askers:
    """Programs that ask without pause until they leave."""

    def __init__(self, url: str, token: str) -> None:
        self._stop = threading.Event()
        self.answered = 0
        self._clients = [Client(url, token) for _ in range(ASKERS)]
        self._threads = [
            threading.Thread(target=self._ask, args=(client, place))
            for place, client in enumerate(self._clients)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, client: Client, place: int) -> None:
        questions: Iterator[Asked] = cycle((*HOG[place % 4 :], *HOG[: place % 4]))
        with suppress(OSError, http.client.HTTPException):
            while not self._stop.is_set():
                client.ask(next(questions))
                self.answered += 1

    def leave(self) -> int:
        """Waits for no answer any longer; returns how many came."""
        self._stop.set()
        for client in self._clients:
            client.leave()
        for thread in self._threads:
            thread.join()
        return self.answered


def processor_clock(process: int) -> Callable[[], float]:
    """What a process has used of a processor, in seconds.

    Args:
        process: its id.
    """
    # How Linux names the clock: clock_getcpuclockid(3) is not in Python.
    return partial(time.clock_gettime, ~process << 3 | 2)


def measure(
    server: Served, calm: str, hog: str, rounds: int, repeats: int, *, real_time: bool
) -> dict[str, Any]:
    """Rounds alone and rounds beside the other application, in turn."""
    client = Client(server.url, calm)
    while not client.is_answered(CALM[0]):
        time.sleep(1.0)
    for asked in (*CALM, *CALM):  # what a process reads once is read
        client.ask(asked)
    (process,) = server.question_processes()
    clock = processor_clock(process)
    if real_time:
        for pid, priority in ((os.getpid(), 2), (server.worker(), 2), (process, 1)):
            command = ["chrt", "--all-tasks", "--rr", "--pid", str(priority), str(pid)]
            subprocess.run(command, check=True)

    def asked_round() -> list[Taken]:
        client = Client(server.url, calm)  # the server closes one that is idle for long
        taken = []
        for asked in CALM * repeats:
            taken.append(client.ask(asked, clock))
            time.sleep(PAUSE_SECONDS)
        return taken

    alone: list[Taken] = []
    beside: list[Taken] = []
    answered, used = 0, 0.0
    for _ in range(rounds):
        alone += asked_round()
        askers = Askers(server.url, hog)
        time.sleep(1.0)
        used -= clock()
        try:
            beside += asked_round()
        finally:
            used += clock()
            answered += askers.leave()
    return {
        "questions": len(alone),
        "seconds": compared(*([each[0] for each in side] for side in (alone, beside))),
        "of_a_processor": compared(*([each[1] for each in side] for side in (alone, beside))),
        "answered_to_others": answered,
        "used_meanwhile": round(used, 1),
        "load": round(os.getloadavg()[0], 2),
    }


def compared(alone: list[float], beside: list[float]) -> dict[str, Any]:
    """Median and 99% quantile of either side, in milliseconds, and their ratios."""
    figures: dict[str, Any] = {}
    for name, quantile in (("p50", statistics.median), ("p99", p99)):
        sides = [float(quantile(side)) for side in (alone, beside)]
        figures[f"{name}_ms"] = [round(1e3 * side, 1) for side in sides]
        figures[f"{name}_ratio"] = round(sides[1] / sides[0], 2)
    kinds = len(CALM)
    figures["ratios_of_medians"] = {
        path: round(statistics.median(beside[at::kinds]) / statistics.median(alone[at::kinds]), 2)
        for at, (path, _) in enumerate(CALM)
    }
    return figures


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=8, help="of the questions, in a round")
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="let the processes precede all other programs, as root: for a machine that has other "
        "work",
    )
    parser.add_argument("--store", type=Path, help="keep the store here, and use it again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.store or Path(folder, "store.db")
        tokens = path.with_suffix(".tokens")
        if not path.exists():
            with closing(Store(path)) as store:
                keys = [fill(store, application) for application in ("calm", "hog")]
            tokens.write_text(json.dumps(keys))
        calm, hog = json.loads(tokens.read_text())
        with served(str(path), core=None, estimate_periods="") as server:
            found = measure(
                server, calm, hog, given.rounds, given.repeats, real_time=given.real_time
            )
            print(json.dumps(found, indent=4))


if __name__ == "__main__":
    main()
