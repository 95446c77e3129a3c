"""The pages about getting numbers out name every measure and format, and the programs run."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import get_args

import pytest

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


@pytest.mark.parametrize("title", ["DuckDB", "pandas"])
def test_the_programs_of_the_page_run(title, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FORMATS:
        Path(f"theme.{name}").write_bytes(b"".join(encode(ROWS, name)))
    (code,) = re.findall(rf"### {title}\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    scope: dict[str, object] = {}
    exec(code, scope)
    if title == "DuckDB":
        assert sorted(scope["clear"]) == sorted(
            (row.value, row.estimate, row.low, row.high) for row in ROWS
        )
    else:
        by_period = scope["by_period"]
        assert list(by_period.columns) == ["NA", "dark"]
        assert by_period["dark"].tolist() == [row.estimate for row in ROWS[:2]]
