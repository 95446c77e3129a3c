"""The programs of docs/operations/engines.md, each run as its users run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from deniable_aggregator.engines import Kernel
from tests.aggregator.engines.reported import REGISTRY, SPECS, batch_of, random_rows, write_files

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "operations" / "engines.md"
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


def test_the_document_shows_the_programs():
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", DOCUMENT.read_text())
    programs = [(ROOT / "examples" / f"{name}.py").read_text() for name in PROGRAMS]
    assert blocks == [text.partition('"""\n\n')[2] for text in programs]
