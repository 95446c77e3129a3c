"""What documents show of commands is what these print; figures of the concepts are computed."""

from __future__ import annotations

import math
import re
import shlex
from pathlib import Path

import pytest

from deniable_shared.commands.entry import main
from tools.concepts.epsilon import most_sure
from tools.concepts.pictures import PICTURES

DOCS = Path(__file__).parents[1] / "docs"
CONCEPTS = DOCS / "concepts"
FAQ = DOCS / "faq.md"
TEXTBOOK = DOCS / "analysis" / "textbook.md"
DOCUMENTS = [FAQ, DOCS / "reviewer" / "quickstart.md", TEXTBOOK, *sorted(CONCEPTS.glob("*.md"))]
IMAGE = re.compile(r"!\[([^\]]+)\]\((\w[\w-]*\.svg)\)")
BLOCK = re.compile(r"(?ms)^```(sh|text|toml|csv)\n(.*?)^```$")
NAMED = re.compile(r"registry = 1 +# (\w+\.toml)\n")


def rows(document, first):
    """The cells of the table whose heading begins with a cell."""
    table = document.read_text("utf-8").partition(f"\n| {first} |")[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


@pytest.fixture
def printed(capsys, monkeypatch):
    """What a line of a shell prints in a wide terminal, if it calls deniable."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(line, status=0):
        program, *words = shlex.split(line, comments=True)
        if program == "pip":
            return ""
        assert program == "deniable"
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code == status
        return capsys.readouterr().out

    return call


@pytest.mark.audit
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_what_a_document_shows_is_what_its_commands_print(document, printed, tmp_path, monkeypatch):
    """A block of text shows lines that the commands before it have printed, one after another.

    A registry with its name in the first line is a file, and so is a table: shares.csv.
    """
    monkeypatch.chdir(tmp_path)
    output = ""
    for language, text in BLOCK.findall(document.read_text("utf-8")):
        if language == "sh":
            output = "".join(printed(line) for line in text.splitlines())
        elif language == "text":
            assert text in output
        elif language == "csv":
            Path("shares.csv").write_text(text, "utf-8")
        elif name := NAMED.match(text):
            Path(name[1]).write_text(text, "utf-8")


def test_the_answers_have_as_many_devices_as_the_planner_says(printed):
    header = ("0.5", "1", "2", "4")
    found = rows(FAQ, "held by")
    assert len(found) == 3
    for share, *devices in found:
        part = float(share.rstrip("%")) / 100
        for epsilon, number in zip(header, devices, strict=True):
            planned = printed(f"deniable plan --type boolean --epsilon {epsilon} --share {part}")
            assert f"needs about {number} devices" in planned


def test_other_metrics_need_as_many_devices_as_the_planner_says(printed):
    found = rows(FAQ, "to see")
    assert len(found) == 4
    for _, options, number in found:
        planned = printed(f"deniable plan --epsilon 1 {options.strip('`')}")
        assert re.search(rf"(needs about|alone;)\s+{number} ", planned)


def test_figures_within_the_answers_are_those_of_the_planner(printed):
    text = FAQ.read_text("utf-8")
    assert "known to ± 0.59 points" in text
    hundred_thousand = "deniable plan --type boolean --epsilon 1 --devices 100000"
    assert "± 0.59% for a value of 10%" in printed(hundred_thousand)
    assert "a value that at least 24% of them hold" in text
    hundred = printed("deniable plan --type boolean --epsilon 1 --devices 100", status=1)
    assert "from 23.86% up" in hundred
    assert "would know it to ± 0.003 points" in text
    assert round(100 * math.log(20) / 100_000, 3) == 0.003  # of Laplace noise, 95 of 100 times


def test_how_sure_a_report_makes_somebody_is_as_the_page_about_epsilon_says():
    found = rows(CONCEPTS / "noise.md", "epsilon of a report")
    assert len(found) == 4
    for epsilon, odds, even, hundredth in found:
        sure = most_sure(0.5, float(epsilon))
        assert float(odds.split()[0]) == pytest.approx(sure / (1 - sure), rel=0.005)
        for said, share in ((even, sure), (hundredth, most_sure(0.01, float(epsilon)))):
            assert said == f"{math.ceil(1_000 * share) / 10:.1f}%"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_concepts_is_what_its_program_draws(name):
    assert (CONCEPTS / name).read_text("utf-8") == PICTURES[name](), "python -m tools.concepts"


def test_every_picture_is_shown_with_words_for_those_who_do_not_see_it():
    texts = [document.read_text("utf-8") for document in CONCEPTS.glob("*.md")]
    shown = {name: words for text in texts for words, name in IMAGE.findall(text)}
    assert shown.keys() == set(PICTURES)
    assert min(map(len, shown.values())) > 40
