"""Minutes of mixed load on a real server whose days pass quickly: does anything grow or get lost?

Devices' uploads, relays' batches, retries and questions, on a server that folds, closes days and
compacts, with a day every few seconds. Prints one JSON object: memory and its slope, sizes of the
store, latencies, answers. Fails if the tallies are not exactly what was acknowledged, or anything
was refused.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import httpx

from benchmarks.served import HOST, REGISTRY, SPEC, Served, Tokens, await_counting, prepare
from benchmarks.whole_load import OK, Request, exchange
from deniable_aggregator import Settings, Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.doors.app import create_app
from deniable_aggregator.doors.server.runner import serve
from deniable_aggregator.doors.server.supervision import end_with_parent
from deniable_shared import registry, wire
from deniable_shared.periods import SECONDS_PER_EPOCH, epoch_at

DAY_SECONDS: Final = 20.0
ACCEPT_DAYS: Final = 3
SMALL_SENDERS: Final = 6
BATCH_SENDERS: Final = 2
SMALL_PAUSE_SECONDS: Final = 0.01
BATCH_PAUSE_SECONDS: Final = 0.1
QUESTION_PAUSE_SECONDS: Final = 0.5
SAMPLE_SECONDS: Final = 1.0
REPEATED_SHARE: Final = 10
"""Every so manieth upload is sent again after its acknowledgement."""

WARM_SHARE: Final = 0.2
"""Memory is looked at after so much of the time: caches fill first."""

BATCH: Final = b"\x00\x01\x02\x01" * 16_320
START_SECONDS: Final = 30.0


class FastClock:
    """A clock whose days take `DAY_SECONDS`.

    Args:
        start: when it agrees with the real one, in seconds since 1970.
    """

    def __init__(self, start: float) -> None:
        self._start = start

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self._start + (time.time() - self._start) * SECONDS_PER_EPOCH / DAY_SECONDS


class Load:
    """Clients of all kinds, and what they were answered.

    Args:
        port: of the server.
        tokens: keys of the application.
        clock: tells the day.

    Attributes:
        acknowledged: reports of uploads that were accepted.
        answers: how many answers there were, by what was asked, status and code.
        seconds: how long accepted requests took, by what was asked.
    """

    def __init__(self, port: int, tokens: Tokens, clock: FastClock) -> None:
        self._port = port
        self._read = tokens.read
        self._clock = clock
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.acknowledged = 0
        self.answers: Counter[str] = Counter()
        self.seconds: dict[str, list[float]] = {}
        senders = [
            (self._send, "small", tokens.write, b"\x01", SMALL_PAUSE_SECONDS)
        ] * SMALL_SENDERS
        senders += [(self._send, "batch", tokens.batch, BATCH, BATCH_PAUSE_SECONDS)] * BATCH_SENDERS
        self._threads = [threading.Thread(target=work, args=given) for work, *given in senders]
        self._threads.append(threading.Thread(target=self._ask))

    def start(self) -> None:
        """Begins."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends when what is under way was answered."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self, what: str, key: str, payload: bytes, pause: float) -> None:
        headers = {"Authorization": f"Bearer {key}", "Content-Type": wire.CONTENT_TYPE}
        with contextlib.closing(http.client.HTTPConnection(HOST, self._port)) as connection:
            number = 0
            while not self._stop.wait(pause):
                number += 1
                part = wire.Part(SPEC.digest, epoch_at(self._clock()) - number % 2, payload)
                body = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
                request = "POST", "/v1/reports", body, headers
                if self._exchange(connection, what, request):
                    with self._lock:
                        self.acknowledged += len(payload)
                    if number % REPEATED_SHARE == 0:
                        self._exchange(connection, what, request)

    def _ask(self) -> None:
        headers = {"Authorization": f"Bearer {self._read}"}
        with contextlib.closing(http.client.HTTPConnection(HOST, self._port)) as connection:
            request = "GET", "/v1/metrics/theme/estimate", None, headers
            counted = False  # until the first reports are, there is nothing to ask about
            while not self._stop.wait(QUESTION_PAUSE_SECONDS):
                if counted:
                    self._exchange(connection, "question", request)
                counted = counted or exchange(connection, request) in OK

    def _exchange(
        self, connection: http.client.HTTPConnection, what: str, request: Request
    ) -> bool:
        start = time.monotonic()
        status = exchange(connection, request)
        with self._lock:
            self.answers[f"{what} {status}"] += 1
            if status in OK:
                self.seconds.setdefault(what, []).append(time.monotonic() - start)
        return status in OK


def slope(values: list[float], every: float) -> float:
    """The slope of a straight line through values, per minute."""
    times = [index * every / 60 for index in range(len(values))]
    return statistics.linear_regression(times, values).slope


def measure(store: str, seconds: float) -> dict[str, Any]:
    """The whole run; see the README for what is what."""
    start = time.time()
    clock = FastClock(start)
    tokens = prepare(store)
    port = _free_port()
    settings: dict[str, Any] = {"store": store, "port": port, "accept_days": ACCEPT_DAYS}
    settings |= {"fold_seconds": 2.0, "batch_reports": 1}
    # A process that answers questions would read the system's clock.
    settings |= {"question_processes": 0, "read_rate_limit": "", "drain_seconds": 0.0}
    given = json.dumps({"start": start, "settings": settings})
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.soak", "--serve", given])
    server = Served(f"http://{HOST}:{port}", process)
    memory: list[float] = []
    sizes: list[int] = []
    try:
        _await(server)
        load = Load(port, tokens, clock)
        load.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(SAMPLE_SECONDS)
            memory.append(server.memory_mib())
            sizes.append(_size(store))
        load.stop()
        await_counting(server, tokens)
        headers = {"Authorization": f"Bearer {tokens.read}"}
        url = f"{server.url}/v1/metrics/theme/estimate"
        counted = httpx.get(url, headers=headers, timeout=60).json()["head"].get("reports", 0)
    finally:
        process.terminate()
        process.wait()
    warm = memory[int(len(memory) * WARM_SHARE) :]
    return {
        "benchmark": "soak",
        "seconds": round(seconds),
        "days": epoch_at(clock()) - epoch_at(start),
        "load_average": round(os.getloadavg()[0], 2),
        "acknowledged_reports": load.acknowledged,
        "counted_reports": counted,
        "answers": dict(sorted(load.answers.items())),
        "latency_ms": {what: _percentiles(found) for what, found in load.seconds.items()},
        "memory_mib": {
            "warm": round(warm[0], 1),
            "end": round(warm[-1], 1),
            "most": round(max(memory), 1),
            "slope_per_minute": round(slope(warm, SAMPLE_SECONDS), 3),
        },
        "store_mib": {"most": round(max(sizes) / 2**20, 1), "end": round(_size(store) / 2**20, 1)},
        **_at_rest(store),
    }


def _free_port() -> int:
    import socket

    with contextlib.closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _await(server: Served) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"{server.url}/healthz")
            return
        time.sleep(0.05)
    raise TimeoutError(server.url)


def _size(store: str) -> int:
    return sum(file.stat().st_size for file in Path(store).parent.glob(f"{Path(store).name}*"))


def _percentiles(seconds: list[float]) -> dict[str, float]:
    hundredths = statistics.quantiles(seconds, n=100)
    return {"p50": round(hundredths[49] * 1e3, 1), "p99": round(hundredths[98] * 1e3, 1)}


def _at_rest(store: str) -> dict[str, int]:
    """What is left in the store."""
    spec = registry.parse(REGISTRY).metrics["theme"].spec
    with contextlib.closing(Store(store)) as opened:
        found = opened.tallies.volumes([tally_for(spec)], 0, 10**6)
        days = len(found[spec.digest])
        return {
            "days_with_tallies": days,
            "rows_waiting": opened.usage().inbox_rows,
            "rows_set_aside": opened.usage().set_aside_rows,
        }


def main() -> None:
    """Prints the figures; or serves, as the process that is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve is None:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(str(Path(folder, "store.db")), given.seconds)
        print(json.dumps(found, indent=4))
        if found["counted_reports"] != found["acknowledged_reports"]:
            sys.exit("the tallies must be what was acknowledged")
        if refused := [each for each in found["answers"] if each.split()[1] not in OK]:
            sys.exit(f"nothing must be refused, got {refused}")
        return
    end_with_parent(os.getppid(), signal.SIGTERM)
    asked = json.loads(given.serve)
    # The worker is a fork of this process, and begins with this clock.
    create_app.__kwdefaults__["clock"] = FastClock(asked["start"])
    serve(Settings(**asked["settings"]))


if __name__ == "__main__":
    main()
