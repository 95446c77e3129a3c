"""Documents: links lead somewhere, tests that are named exist, and examples are registries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deniable_shared import registry

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    + [ROOT / folder / "README.md" for folder in ("benchmarks", "tests/vectors")]
    + [ROOT / "demo" / "DATA.md"]
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"(?m)^#{1,6} (.+)$")
FENCE = re.compile(r"(?ms)^```.*?^```$")
NAMED_TEST = re.compile(r"`(test_\w+)`")

each_document = pytest.mark.parametrize(
    "path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


def text_of(path):
    return path.read_text(encoding="utf-8")


def anchors(path):
    """The anchors that GitHub gives the headings of a document."""
    headings = HEADING.findall(FENCE.sub("", text_of(path)))
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {word.replace(" ", "-") for word in words}


@pytest.fixture(scope="module")
def names_of_tests():
    return {
        name
        for path in (ROOT / "tests").rglob("*.py")
        for name in re.findall(r"def (test_\w+)\b", text_of(path))
    }


@each_document
def test_every_link_leads_to_a_file_and_a_heading_of_the_project(path):
    for file, anchor in LINK.findall(text_of(path)):
        target = path.parent / file if file else path
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), f"{file}#{anchor}"


def test_the_index_has_every_document():
    listed = {file for file, _ in LINK.findall(text_of(DOCS / "README.md"))}
    documents = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert listed >= documents - {"README.md"}


def test_the_registry_in_the_readme_is_one():
    (text,) = re.findall(r"```toml\n(.*?)```", text_of(ROOT / "README.md"), re.DOTALL)
    assert registry.parse(text).application == "flightdeck"


@each_document
def test_every_test_that_is_named_exists(path, names_of_tests):
    assert set(NAMED_TEST.findall(text_of(path))) <= names_of_tests


def test_every_threat_names_a_test():
    text = text_of(DOCS / "threat-model.md")
    threats = text.partition("## Threats")[2].partition("## What is not")[0]
    rows = [row for row in threats.splitlines() if row.startswith("| ")]
    named = [row for row in rows if not row.startswith("| threat |")]
    assert len(named) > 20
    assert [row for row in named if not NAMED_TEST.search(row.split(" | ")[2])] == []
