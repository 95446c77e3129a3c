"""Counting with Spark, where it is installed: `make test PART=spark`, which CI does not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable_aggregator.answering.engines import Kernel
from tests.aggregator.engines.killing import KillingKernel
from tests.aggregator.engines.reported import REGISTRY, SPECS, batch_of, random_rows, write_files

sql = pytest.importorskip("pyspark.sql")
pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).parents[2]
KERNEL = Kernel(SPECS.values())
ROWS = random_rows(400)
COUNTED = KERNEL.partial(batch_of(ROWS))


@pytest.fixture(scope="module")
def session():
    builder = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_the_program_counts_what_one_process_counts(tmp_path):
    (tmp_path / "metrics.toml").write_text(REGISTRY)
    write_files(tmp_path / "reports", ROWS)
    program = str(ROOT / "examples" / "count_with_spark.py")
    subprocess.run(
        [sys.executable, program, "metrics.toml", "reports", "tallies.parquet"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True,
    )  # fmt: skip
    assert pq.read_table(tmp_path / "tallies.parquet") == COUNTED


def test_what_a_killed_worker_had_counted_is_counted_again(session, tmp_path):
    from deniable_aggregator.answering.engines import spark

    files = write_files(tmp_path, ROWS)
    killing = KillingKernel(SPECS.values(), files[3], tmp_path / "killed")
    assert spark.count(killing, files, session) == COUNTED
    assert (tmp_path / "killed").exists()
    assert spark.count(KERNEL, [], session) == KERNEL.merge([])


def test_a_frame_of_reports_that_spark_reads_itself_is_counted(session, tmp_path):
    from deniable_aggregator.answering.engines import spark
    from deniable_aggregator.answering.engines.counters import REPORTS

    write_files(tmp_path, ROWS)
    frame = session.read.parquet(str(tmp_path)).select(*REPORTS.names)
    tallies = frame.mapInArrow(KERNEL.map_batches, spark.SPARK_TALLIES)
    assert KERNEL.merge(tallies.toArrow()) == COUNTED
