"""The pages about getting numbers out name every measure and format, and the programs run."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import get_args

import duckdb
import pandas as pd

from deniable_aggregator.answers.row import Row, RowMeasure
from deniable_aggregator.media.row_formats import FORMATS, encode

DOCS = Path(__file__).parents[3] / "docs"
PAGE, COLUMNS = (
    (DOCS / name).read_text(encoding="utf-8")
    for name in ("analysis/getting-numbers-out.md", "reference/columns.md")
)
ROWS = [
    Row(
        application="flightdeck",
        metric="theme",
        question="series",
        measure="share",
        value=value,
        since=date(2026, 1, day),
        until=date(2026, 1, day),
        estimate=0.25 + day / 100,
        low=0.2,
        high=0.3,
        told=True,
        suspicious=False,
    )
    for value in ("dark", "NA")
    for day in (1, 2)
]


def test_every_measure_and_format_is_in_the_tables():
    named = re.findall(r"`([^`]+)`", "\n".join(re.findall(r"(?m)^\| (`.*?) \|", PAGE + COLUMNS)))
    assert set(get_args(RowMeasure)) <= set(named)
    assert {f".{name}" for name in FORMATS} <= set(named)


def test_other_programs_read_the_files(tmp_path):
    for name in FORMATS:
        (tmp_path / f"theme.{name}").write_bytes(b"".join(encode(ROWS, name)))
    numbers = [(row.value, row.estimate, row.low, row.high) for row in ROWS]
    parquet = duckdb.read_parquet(str(tmp_path / "theme.parquet"))
    found = parquet.filter("measure = 'share' AND told AND NOT suspicious")
    assert sorted(found.project("value, estimate, low, high").fetchall()) == sorted(numbers)
    # pandas takes a value called NA for a missing one, unless it is told not to.
    table = pd.read_csv(tmp_path / "theme.csv", keep_default_na=False)
    read = table[["value", "estimate", "low", "high"]].itertuples(index=False, name=None)
    assert list(read) == numbers
