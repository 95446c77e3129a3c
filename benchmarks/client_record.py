"""How long `Client.record` takes, with ledger and durable spool, and what importing costs.

Prints one JSON line per measurement. Every call records a new day, so every call is debited,
randomized and stored; nobody listens at the endpoint.

    python benchmarks/client_record.py [--calls 3000] [--directory DIR]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import deniable
from deniable_shared.registry import parse

REGISTRY = """
registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.rr]
type = "boolean"
epsilon = 0.01
[metrics.grr]
type = "category"
values = ["light", "dark", "system"]
epsilon = 0.01
[metrics.cms_1024]
type = "string"
epsilon = 0.01
[metrics.rappor_1024]
type = "string"
epsilon = 0.01
epsilon_permanent = 0.02
mechanism = { name = "rappor", bits = 1024 }
"""
VALUES = {"rr": True, "grr": "dark", "cms_1024": "hello", "rappor_1024": "hello"}
SECONDS_PER_DAY = 86_400
TARGETS = {"rr": 40, "grr": 40, "cms_1024": 60, "rappor_1024": 60}

IMPORT = """
import time
a = time.perf_counter(); import deniable
b = time.perf_counter(); deniable.Client
print(1e3 * (b - a), 1e3 * (time.perf_counter() - b))
"""


def show(**fields: object) -> None:
    """Prints one line."""
    print(json.dumps({"benchmark": "client_record", **fields}), flush=True)


def microseconds(nanoseconds: list[int]) -> dict[str, float]:
    """Median and 99th percentile."""
    cuts = statistics.quantiles(nanoseconds, n=100)
    return {"p50_us": round(cuts[49] / 1e3, 2), "p99_us": round(cuts[98] / 1e3, 2)}


def measure(name: str, directory: Path, calls: int) -> None:
    """One metric in a fresh directory; the second call of a day is timed as well."""
    now = 1.7e9
    registry = parse(REGISTRY)
    fresh, again = [], []
    with deniable.Client(
        registry,
        endpoint="http://127.0.0.1:9",
        key="benchmark",
        directory=directory / name,
        consent=True,
        clock=lambda: now,
    ) as client:
        client.record(name, VALUES[name])
        for _ in range(calls):
            now += SECONDS_PER_DAY
            start = time.perf_counter_ns()
            first = client.record(name, VALUES[name])
            between = time.perf_counter_ns()
            second = client.record(name, VALUES[name])
            end = time.perf_counter_ns()
            assert (first, second) == ("recorded", "already_reported")
            fresh.append(between - start)
            again.append(end - between)
    show(metric=name, case="recorded", target_us=TARGETS[name], **microseconds(fresh))
    show(metric=name, case="already_reported", **microseconds(again))


def main() -> None:
    """Runs everything."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--calls", type=int, default=3_000)
    arguments.add_argument("--directory", type=Path, default=None, help="on the disk to measure")
    options = arguments.parse_args()
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        for _ in range(9)
    ]
    times = [[float(number) for number in run.stdout.split()] for run in runs]
    package, client = (round(statistics.median(column), 2) for column in zip(*times, strict=True))
    show(case="import deniable", median_ms=package, target_ms=20)
    show(case="then deniable.Client", median_ms=client)
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for name in VALUES:
            measure(name, Path(directory), options.calls)


if __name__ == "__main__":
    main()
