"""Documents: links lead somewhere, what is named exists, and the code in them runs."""

from __future__ import annotations

import functools
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from deniable._lifecycle import close_all
from deniable_shared import registry
from deniable_shared.commands.entry import main
from deniable_shared.commands.first_registry import registry_text
from tools.reference.pages import PAGES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    + [ROOT / folder / "README.md" for folder in ("benchmarks", "field", "tests/vectors")]
    + [ROOT / "demo" / "DATA.md"]
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"(?m)^#{1,6} (.+)$")
FENCE = re.compile(r"(?ms)^```.*?^```$")
NAMED_TEST = re.compile(r"`(test_\w+)`")

each_document = pytest.mark.parametrize(
    "path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


FIRST_PARAGRAPH = re.compile(r"\A# [^\n]+\n\n(.+?[.?!])\s", re.DOTALL)
TABLE_OF_A_METRIC = (
    'registry = 1\napplication = "flightdeck"\n'
    "[budget]\nepsilon_per_day = 8\nepsilon_lifetime = 80\n"
)
CALL = re.compile(r"^deniable$|/bin/deniable$")
RUN_ELSEWHERE = {
    "docs/analysis/getting-numbers-out.md": "tests/analysis/test_notebook.py asks a server, "
    "tests/aggregator/media/test_documented_columns.py has tables",
    "docs/client/recipes.md": "tests/end_to_end/recipes finds each block in a program that it runs",
    "docs/operations/archive.md": "test_engine_examples.py runs the block as a program",
    "docs/reviewer/plain-answers.md": "tests/end_to_end/test_plain_answers.py does what it says",
    "docs/reviewer/publishing.md": "tests/aggregator/publication/test_document.py has an export",
    "docs/client/testing.md": "test_recording_client.py runs the tests with their settings",
}


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


def test_documents_that_sources_name_exist():
    sources = [
        path
        for folder in ("aggregator", "client", "shared", "tests", "examples", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".yml", ".toml")
    ]
    for path in sources:
        for name in re.findall(r"(?<![\w/])docs/[a-z][\w/.-]*\w", text_of(path)):
            assert (ROOT / name).exists(), f"{path}: {name}"


def test_the_index_has_every_document():
    listed = {file for file, _ in LINK.findall(text_of(DOCS / "README.md"))}
    documents = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert listed >= documents - {"README.md"}


def test_documents_are_no_longer_than_they_may_be():
    """Later changes replace rather than add.

    What is made by a program does not count, nor does the list of sentences that others say.
    """
    made = {
        DOCS / "appendix" / f"{name}.md"
        for name in ("bounds", "figures", "letters", "planted-faults")
    }
    made |= {DOCS / "reference" / name for name in PAGES}
    words = {path: len(text_of(path).split()) for path in DOCUMENTS}
    counted = [path for path in DOCUMENTS if DOCS in path.parents and path not in made]
    assert sum(words[path] for path in counted) <= 50_000
    assert words[ROOT / "README.md"] <= 900


def test_every_reader_has_at_most_four_pages_to_read_in_order():
    order = text_of(DOCS / "README.md").partition("Read in this order")[2].partition("\n## ")[0]
    lists = re.split(r"(?m)^- ", order)[1:]
    assert len(lists) == 4
    assert [len(LINK.findall(each)) for each in lists] == [4, 4, 4, 4]


@each_document
def test_every_test_that_is_named_exists(path, names_of_tests):
    assert set(NAMED_TEST.findall(text_of(path))) <= names_of_tests


def test_every_threat_names_a_test():
    text = text_of(DOCS / "threat-model.md")
    threats = text.partition("## Threats")[2].partition("## What is not")[0]
    tables = [table for table in threats.split("\n\n") if table.startswith("| threat |")]
    rows = [row for table in tables for row in table.splitlines()[2:]]
    assert len(rows) > 20
    assert [row for row in rows if not NAMED_TEST.search(row.split(" | ")[2])] == []


def blocks(language, path):
    """The code blocks of a document in one language."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text_of(path))


def having(language, but=()):
    """The documents with code in a language, but for some."""
    names = {str(path.relative_to(ROOT)): path for path in DOCUMENTS if blocks(language, path)}
    shown = [pytest.param(path, id=name) for name, path in names.items() if name not in but]
    return pytest.mark.parametrize("path", shown)


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if DOCS in p.parents], ids=str)
def test_a_document_says_first_which_question_it_answers(path):
    assert FIRST_PARAGRAPH.match(text_of(path))[1].endswith("?")


@having("python", but=RUN_ELSEWHERE)
def test_code_runs(path, tmp_path, monkeypatch):
    example = registry_text("flightdeck")
    (tmp_path / "metrics.toml").write_text(example, "utf-8")
    package = tmp_path / "flightdeck"
    package.mkdir()
    (package / "metrics.toml").write_text(example, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    monkeypatch.setenv("DENIABLE_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("DENIABLE_KEY", "key")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for code in blocks("python", path):
        exec(compile(code, str(path), "exec"), {})
        close_all()  # each is a program of its own
    sys.modules.pop("flightdeck", None)


@having("toml", but=RUN_ELSEWHERE)
def test_toml_is_a_registry_a_metric_or_settings(path, tmp_path, deniable):
    for number, text in enumerate(blocks("toml", path)):
        if text.startswith("registry = "):
            registry.parse(text)
        elif text.startswith("[metrics."):
            registry.parse(TABLE_OF_A_METRIC + text)
        else:
            file = tmp_path / f"{number}.toml"
            file.write_text(text, "utf-8")
            shown = deniable("config", "show", "--json", "--config", str(file))
            settings = {name: each["value"] for name, each in json.loads(shown).items()}
            assert tomllib.loads(text).items() <= settings.items()


@pytest.fixture
def deniable(capsys):
    """Runs a command and returns what it prints."""

    @functools.cache
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert not end.value.code, arguments
        return capsys.readouterr().out

    return run


def commands_in(text):
    """What follows the program's name in each of the lines that call it."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        called = [place for place, word in enumerate(words) if CALL.search(word)]
        if called and words[called[-1] + 1 :]:
            yield words[called[-1] + 1 :]


@having("sh")
def test_commands_and_their_options_exist(path, deniable):
    for text in blocks("sh", path):
        for words in commands_in(text):
            called, explained = [], "\nCommands:\n"
            while "\nCommands:\n" in explained and not words[len(called)].startswith("-"):
                called.append(words[len(called)])
                explained = deniable(*called, "--help")
            for option in (word for word in words if word.startswith("--")):
                assert option in explained, f"deniable {' '.join(called)}: {option}"
