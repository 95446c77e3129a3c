"""The Makefile: what documents say of it, and that no test is forgotten."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
]


def make(*words: str) -> str:
    """What make would run."""
    # Of a make that runs the tests, variables of its command line are in the environment.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if "MAKE" not in name and name not in ("PART", "SMALL")
    }
    done = subprocess.run(
        ["make", "--dry-run", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=inherited,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shares(part: str) -> list[list[str]]:
    """The arguments of every pytest that a part of `make test` starts."""
    commands = make("test", f"PART={part}").replace("\\\n", " ").splitlines()
    return [line.partition(" -m pytest ")[2].split() for line in commands if " -m pytest " in line]


def modules_of(share: list[str]) -> set[Path]:
    """The test modules that pytest finds with these arguments."""
    paths = [ROOT / word for word in share if word.startswith("tests")]
    ignored = [ROOT / word.partition("=")[2] for word in share if word.startswith("--ignore=")]
    assert paths
    assert all(path.exists() for path in [*paths, *ignored])
    modules = {
        file for path in paths for file in (path.rglob("test_*.py") if path.is_dir() else [path])
    }
    return {file for file in modules if not {file, *file.parents} & set(ignored)}


def test_every_test_is_in_one_share():
    counted = Counter(file for share in shares("all") for file in modules_of(share))
    assert counted == Counter((ROOT / "tests").rglob("test_*.py"))


def test_a_share_alone_runs_its_tests():
    assert [modules_of(share) for share in shares("client")] == [
        {*(ROOT / "tests/client").rglob("test_*.py")}
    ]


def test_documents_name_targets_and_parts_that_exist():
    named = {
        call
        for path in DOCUMENTS
        if path.name != "CHANGELOG.md"
        for code in re.findall(r"(?ms)^```.*?^```|`[^`\n]+`", path.read_text("utf-8"))
        for call in re.findall(r"(?m)(?:^|`) *make\s+([a-z]+(?:\s+PART=[a-z]+)?)\b", code)
    }
    assert {"demo", "test", "test PART=all", "bench PART=discovery"} <= named
    make(*(call for call in named if "PART=" not in call))
    for call in named:
        if "PART=" in call:
            make(*call.split())


def test_what_is_no_part_is_refused_by_name():
    for target in ("test", "bench"):
        done = subprocess.run(
            ["make", target, "PART=none"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode
        assert re.search("PART must be one of .*, got 'none'", done.stderr)
