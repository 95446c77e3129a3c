"""The documents: what can be checked of them without reading them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deniable_shared import registry

ROOT = Path(__file__).parents[1]
FOLDERS = ("", "docs", "benchmarks", "demo", "tests/vectors")
DOCUMENTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
NAMED_TEST = re.compile(r"([\w/]+\.py)::(\w+)")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_of_the_project(path):
    for target in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


def test_the_list_of_documents_has_them_all():
    listed = LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    assert {*listed, "README.md"} == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_the_registry_in_the_readme_is_one():
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert registry.parse(text).application == "flightdeck"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_is_named_exists(path):
    for file, test in NAMED_TEST.findall(path.read_text(encoding="utf-8")):
        place = ROOT / "tests" / file.removeprefix("tests/")
        assert place.exists(), file
        assert re.search(rf"def {test}\b", place.read_text(encoding="utf-8")), f"{file}::{test}"


def test_every_threat_names_a_test():
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    threats = text.partition("## Threats")[2].partition("## What is not")[0]
    rows = [row for row in threats.splitlines() if row.startswith("| ")]
    named = [row for row in rows if not row.startswith("| threat |")]
    assert len(named) > 20
    assert [row for row in named if not NAMED_TEST.search(row.split(" | ")[2])] == []
