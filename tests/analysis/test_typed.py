"""What type checkers know of a notebook's answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.installed import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCES = [str(ROOT / name) for name in ("client", "aggregator", "shared", "analysis")]

PROGRAM = """
from collections.abc import Sequence
from datetime import date
from typing import Any, assert_type

import deniable_analysis as da
from deniable_aggregator.answers.answer import Answer, Period
from deniable_aggregator.answers.measured import Measured

with da.connect("staging") as p:
    assert_type(p, da.Project)
    found = p["browser"].estimate(top=3, since="-7d", until=date(2026, 1, 31))
    assert_type(found, da.Result)
    assert_type(found.sentence, str)
    assert_type(found.warnings, Sequence[str])
    assert_type(found.frame(), Any)
    assert_type(found.answer, Answer)
    assert_type([each.estimate for each in found], list[float | None])
    assert_type(found["Chrome"], Measured)
    assert_type(found.bins, list[Measured])
    change = p["theme"].change(before=("-60d", "-31d"), after="-30d/", segment="beta")
    assert_type(change.clear, list[Measured])
    series = p["startup_seconds"].series(by="week", quantile=[0.5, 0.9])
    assert_type(series.periods, list[tuple[Period, list[Measured]]])
    p["emoji"].estimate(candidates=da.lists.emoji, top=20)
    assert_type(da.lists.emoji, tuple[str, ...])
    assert_type(p["search"].discover().values, list[str])
    assert_type(p.health()["theme"].verdict == "suspicious", bool)
    assert_type([row.metric for row in p.estimates(period="week")], list[str])
    assert_type([each.reports for each in p.metrics], list[int])
"""

WRONG = """
import deniable_analysis as da

p = da.open("backup.db")
p["theme"].series(by="year")
p["theme"].estimate(since=7)
p["theme"].change("2026-01-01").clears
p["theme"].estimate(tops=3)
"""


FRAMES = """
from typing import assert_type

import polars as pl

import deniable_analysis as da

assert_type(da.open("backup.db")["theme"].estimate().frame("polars"), pl.DataFrame)
"""

SETTINGS = """
[mypy]
strict = true
[mypy-pandas.*,polars.*,numpy.*,scipy.*,sqlalchemy.*,flask.*]
# Reading these takes a minute, and the program uses none of them.
follow_imports = skip
[mypy-deniable.*,deniable_aggregator.counting.*,deniable_aggregator.keeping.*]
follow_imports = skip
[mypy-deniable_aggregator.answering.*,deniable_aggregator.media.*,deniable_aggregator.telling.*]
follow_imports = skip
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("program", PROGRAM), ("wrong", WRONG), ("frames", FRAMES)):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    return tmp_path


def mypy(folder):
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(SOURCES)}
    command = (sys.executable, "-m", "mypy", "program.py", "wrong.py")
    return run(*command, cwd=folder, env=environment)


def pyright(folder):
    settings = {"typeCheckingMode": "strict", "extraPaths": SOURCES}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    files = ("program.py", "frames.py", "wrong.py")
    return run(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, *files, cwd=folder)


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_a_program_that_asks_is_clean_and_one_that_is_mistaken_is_told(folder, checker):
    result = checker(folder)
    assert result.returncode == 1, result.stdout + result.stderr
    told = [line for line in result.stdout.splitlines() if " error" in line and ":" in line]
    wrong = {int(line.split("wrong.py:")[1].split(":")[0]) for line in told if "wrong.py:" in line}
    assert wrong == {5, 6, 7, 8}, result.stdout
    assert "program.py:" not in result.stdout, result.stdout
    assert "frames.py:" not in result.stdout, result.stdout
