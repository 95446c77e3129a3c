"""What the client costs its host: importing it, and `record` with ledger and spool."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import deniable
from benchmarks.timing import Row, at_most

METRICS: Final = 500
STARTS: Final = 15
SECONDS_PER_DAY: Final = 86_400.0

_REGISTRY: Final = """
registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 0.05
[metrics.word]
type = "string"
epsilon = 0.05
mechanism = { name = "cms", rows = 64, buckets = 1024 }
"""


class _Nowhere:
    """A transport that fails at once, so that only recording is measured."""

    def send(self, body: bytes, timeout_seconds: float) -> deniable.Response:  # noqa: ARG002
        raise OSError("nowhere")

    def close(self) -> None:
        """Nothing is open."""


def record_microseconds(metric: str, value: str) -> list[float]:
    """The time of each of many recordings; each on a new day, since a day has one report."""
    with tempfile.TemporaryDirectory() as folder:
        registry = Path(folder) / "metrics.toml"
        registry.write_text(_REGISTRY)
        now = [time.time()]
        client = deniable.Client(
            registry,
            transport=_Nowhere(),
            directory=Path(folder) / "device",
            consent=True,
            clock=lambda: now[0],
        )
        times = []
        with client:
            for _ in range(METRICS):
                now[0] += SECONDS_PER_DAY
                start = time.perf_counter()
                outcome = client.record(metric, value)
                times.append((time.perf_counter() - start) * 1e6)
                if outcome is not deniable.Outcome.RECORDED:
                    raise RuntimeError(f"recording answered {outcome}")
    return times


def start_milliseconds(code: str) -> float:
    """What code adds to the start of Python: the difference between the fastest starts."""

    def fastest(program: str) -> float:
        best = float("inf")
        for _ in range(STARTS):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-I", "-c", program], check=True)
            best = min(best, time.perf_counter() - start)
        return best

    return (fastest(code) - fastest("pass")) * 1e3


def rows() -> list[Row]:
    """The figures."""
    small, large = record_microseconds("theme", "dark"), record_microseconds("word", "dark")
    return [
        at_most("record grr with ledger and spool, median", statistics.median(small), "µs", 60.0),
        Row("record grr with ledger and spool, p99", sorted(small)[int(0.99 * METRICS)], "µs"),
        at_most("record cms, 1,024 bits, median", statistics.median(large), "µs", 60.0),
        at_most("import deniable", start_milliseconds("import deniable"), "ms", 20.0),
        Row("import deniable and deniable.Client", start_milliseconds(
            "import deniable; deniable.Client"), "ms"),
    ]  # fmt: skip
