"""The programs of docs/operations/archive.md, each run as its users run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable_aggregator.answering.engines import Kernel
from tests.aggregator.engines.reported import REGISTRY, SPECS, batch_of, random_rows, write_files

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "operations" / "archive.md"
ROWS = random_rows(400)
PROGRAMS = ("count_with_processes", "count_with_dask", "count_with_spark")


@pytest.mark.parametrize("program", ["count_with_processes", "count_with_dask"])
def test_a_program_counts_what_one_process_counts(program, tmp_path):
    (tmp_path / "metrics.toml").write_text(REGISTRY)
    write_files(tmp_path / "reports", ROWS)
    file = ROOT / "examples" / f"{program}.py"
    subprocess.run(
        [sys.executable, str(file), "metrics.toml", "reports", "tallies.parquet"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True,
    )  # fmt: skip
    found = pq.read_table(tmp_path / "tallies.parquet")
    assert found == Kernel(SPECS.values()).partial(batch_of(ROWS))


def test_the_document_shows_the_first_program_and_how_the_others_count():
    text = DOCUMENT.read_text("utf-8")
    first, *others = [(ROOT / "examples" / f"{name}.py").read_text("utf-8") for name in PROGRAMS]
    assert re.findall(r"(?ms)^```python\n(.*?)^```$", text) == [first.partition('"""\n\n')[2]]
    calls = re.findall(r"`(\w+\.count\(.+?)`", text)
    assert len(calls) == len(others)
    for call, program in zip(calls, others, strict=True):
        assert call.replace("kernel", "Kernel.of_registry(registry)") in program or call in program
