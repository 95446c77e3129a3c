"""Counting reports of Parquet files in processes, on Dask and with Spark, one beside the other.

    python -m benchmarks.engines [--quick]

Twenty files of a million reports (``--quick``: of 50,000) are counted by two workers of each
engine, in turn, so that whatever else this machine does meets all of them. Starting an engine is
measured by itself. Processor time is that of all processes of the engine, so it hardly depends on
what else runs. Spark is left out where ``make test PART=spark`` has not made its environment.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

from deniable_aggregator.answering.engines import Kernel, dask_cluster, processes
from deniable_aggregator.keeping.archive import report_file
from deniable_shared import registry
from deniable_shared.mechanisms.oracle import IndexOracle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_shared.spec import Spec

ROOT: Final = Path(__file__).parent.parent
SPARK_PYTHON: Final = ROOT / ".venv-spark" / "bin" / "python"
FILES: Final = 20
WORKERS: Final = 2
ROUNDS: Final = 5
KEYS: Final = 10
MEGABYTE: Final = 1 << 20
REGISTRY: Final = f"""
registry = 1
application = "benchmark"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.theme]
type = "category"
values = {json.dumps([f"value {index}" for index in range(16)])}
complete = true
epsilon = 1
mechanism = "grr"
[metrics.model]
type = "category"
values = {json.dumps([f"value {index}" for index in range(1_000)])}
complete = true
epsilon = 1
mechanism = "grr"
[metrics.word]
type = "string"
epsilon = 1
"""

SPARK: Final = """
import sys, time
start = time.perf_counter()
from pyspark.sql import SparkSession
from deniable_aggregator.answering.engines import Kernel, spark
kernel = Kernel.of_registry(sys.argv[1])
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
session = builder.config("spark.log.level", "ERROR").getOrCreate()
print(time.perf_counter() - start, flush=True)
for line in sys.stdin:
    print(sum(spark.count(kernel, line.split(), session)["reports"].to_pylist()), flush=True)
"""


def random_payload(spec: Spec, reports: int, generator: np.random.Generator) -> bytes:
    """Uniform reports: counting takes as long for them as for any."""
    if isinstance(spec.mechanism, IndexOracle):
        width = spec.mechanism.report_bytes
        return (
            generator.integers(0, spec.mechanism.outcomes, reports).astype(f">u{width}").tobytes()
        )
    sketch: Any = spec.mechanism
    rows = generator.integers(0, sketch.rows, reports)
    inner = generator.integers(0, sketch.inner.outcomes, reports)
    return np.stack([rows, inner], axis=1).astype(">u2").tobytes()


def write_files(folder: Path, spec: Spec, files: int, reports: int) -> list[str]:
    """Writes reports as an archive has them, a day each."""
    names = []
    for number in range(files):
        generator = np.random.default_rng(number)
        payload = random_payload(spec, reports, generator)
        share = len(payload) // KEYS
        by_key = [(f"key{key}", payload[key * share :][:share]) for key in range(KEYS)]
        file = folder / f"metric={spec.name}" / f"version={spec.digest.hex()}"
        file = file / f"day=2026-01-{number + 1:02}" / "reports.parquet"
        file.parent.mkdir(parents=True)
        file.write_bytes(report_file(by_key, spec.mechanism.report_bytes))
        names.append(str(file))
    return names


def peak_bytes(kernel: Kernel, files: list[str]) -> int:
    """The most memory that a new process has had while it counted files."""
    for file in files:
        kernel.count_file(file)
    # The resource module would count the memory of the process that started this one.
    (line,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    )
    return int(line.split()[1]) * 1024


def peak_of_new_process(kernel: Kernel, files: list[str]) -> float:
    """The same in megabytes, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(peak_bytes, kernel, files).result() / MEGABYTE


def processor_seconds() -> float:
    """Processor time of this process and of all that it has started, directly or not."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:2])
    return total


def counted(table: pa.Table) -> int:
    """How many reports are in tallies."""
    return sum(table["reports"].to_pylist())


class SparkProcess:
    """Spark in its own environment, which counts the files that it is told."""

    def __init__(self, registry_file: Path) -> None:
        self._process = subprocess.Popen(
            [str(SPARK_PYTHON), "-c", SPARK, str(registry_file)],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.start_seconds = float(self._read()[0])

    def _read(self) -> list[str]:
        assert self._process.stdout is not None
        return self._process.stdout.readline().split()

    def count(self, files: list[str]) -> int:
        """Counts files; returns how many reports they have."""
        assert self._process.stdin is not None
        print(*files, file=self._process.stdin, flush=True)
        return int(self._read()[0])

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def compare(
    kernel: Kernel, files: dict[str, list[str]], reports: int, registry_file: Path
) -> Iterator[dict[str, Any]]:
    """Each metric's seconds by engine, and the ratios to the pool, over some rounds."""
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        list(pool.map(kernel.count_file, files["theme"][:WORKERS]))
        started = {"processes": time.perf_counter() - start}
        start = time.perf_counter()
        cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
        with cluster, Client(cluster) as client:
            dask_cluster.count(kernel, files["theme"][:WORKERS], client)
            started["dask"] = time.perf_counter() - start
            spark = SparkProcess(registry_file) if SPARK_PYTHON.exists() else None
            if spark is not None:
                started["spark"] = spark.start_seconds
            yield {"seconds to start": started}
            runs: dict[str, Callable[[list[str]], int]] = {
                "processes": lambda names: counted(processes.count(kernel, names, pool=pool)),
                "dask": lambda names: counted(dask_cluster.count(kernel, names, client)),
            }
            if spark is not None:
                runs["spark"] = spark.count
            for metric, names in files.items():
                for run in runs.values():
                    run(names)  # the first time, modules are imported
                rounds = [
                    {name: measured(run, names, reports) for name, run in runs.items()}
                    for _ in range(ROUNDS)
                ]
                yield {"metric": metric, **summary(rounds)}
            if spark is not None:
                spark.close()


def measured(
    run: Callable[[list[str]], int], files: list[str], reports: int
) -> tuple[float, float]:
    """Elapsed and processor seconds of counting files with so many reports."""
    before, start = processor_seconds(), time.perf_counter()
    assert run(files) == reports
    return time.perf_counter() - start, processor_seconds() - before


def summary(rounds: list[dict[str, tuple[float, float]]]) -> dict[str, Any]:
    """The least seconds of each engine, and their ratios to the pool's; also the range by round."""
    found: dict[str, Any] = {}
    for name in rounds[0]:
        for place, kind in enumerate(("elapsed", "processor")):
            seconds, pool = (
                [each[engine][place] for each in rounds] for engine in (name, "processes")
            )
            ratios = [one / other for one, other in zip(seconds, pool, strict=True)]
            found[f"{name}, {kind}"] = {
                "seconds": round(min(seconds), 3),
                "ratio": round(min(seconds) / min(pool), 2),
                "by round": [round(min(ratios), 2), round(max(ratios), 2)],
            }
    return found


def main() -> None:
    """Measures and prints JSON lines."""
    each_file = 50_000 if "--quick" in sys.argv[1:] else 1_000_000
    metrics = registry.parse(REGISTRY).metrics
    kernel = Kernel(metric.spec for metric in metrics.values())
    with tempfile.TemporaryDirectory() as folder:
        registry_file = Path(folder, "metrics.toml")
        registry_file.write_text(REGISTRY)
        files = {
            name: write_files(Path(folder, "archive"), metric.spec, FILES, each_file)
            for name, metric in metrics.items()
        }
        for name, names in files.items():
            size = sum(Path(file).stat().st_size for file in names)
            width = metrics[name].spec.mechanism.report_bytes
            print(json.dumps({name: {"bytes": width, "archived": size / FILES / each_file}}))
        for found in compare(kernel, files, FILES * each_file, registry_file):
            print(json.dumps(found), flush=True)
        spec = metrics["theme"].spec
        one = Path(folder, f"version={spec.digest.hex()}", "day=2026-01-01", "one.parquet")
        one.parent.mkdir(parents=True)
        for factor in (2, 20):
            tables = [pq.read_table(file, partitioning=None) for file in files["theme"][:factor]]
            pq.write_table(pa.concat_tables(tables), one, row_group_size=1 << 20)
            peak = peak_of_new_process(kernel, [str(one)])
            print(json.dumps({"reports in one file": factor * each_file, "peak MiB": peak}))


if __name__ == "__main__":
    main()
