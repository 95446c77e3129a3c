"""The page of plain answers: its commands with a real server, and every figure in it."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.aggregator.served import shares
from tests.client.programs import secret_of
from tests.end_to_end.serving import running

pytestmark = pytest.mark.service

PAGE = Path(__file__).parents[2] / "docs/reviewer/plain-answers.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$")
PROGRAM = re.compile(r"`(\w+\.py)`")
FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+\.\d+%?|\d+%")
COMMANDS = {
    "python": [sys.executable],
    "deniable": [sys.executable, "-c", "from deniable_shared.commands.entry import main; main()"],
}


def blocks(language):
    return [block[2] for block in BLOCK.finditer(TEXT) if block[1] == language]


def programs():
    """The programs of the page; each is named last before it is shown."""
    return {
        PROGRAM.findall(TEXT[: block.start()])[-1]: block[2]
        for block in BLOCK.finditer(TEXT)
        if block[1] == "python"
    }


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """The files that the page has its reader write."""
    directory = tmp_path_factory.mktemp("plain")
    (registry,) = blocks("toml")
    for name, text in {"metrics.toml": registry, **programs()}.items():
        (directory / name).write_text(text, "utf-8")
    return directory


@pytest.fixture(scope="module")
def printed(directory):
    """What each line of the page has printed, in order, and the first device's secret after it."""
    lines = [line for text in blocks("sh") for line in text.splitlines()]
    assert lines[0] == "deniable serve --store plain.db --development metrics.toml"
    done, secrets = [], []
    with running(directory / "plain.db", "--development", directory / "metrics.toml") as server:
        exported = dict(re.findall(r"(?m)^  export (\w+)=(\S+)$", server.output.read_text("utf-8")))
        for line in lines[1:]:
            done.append((line, _run(line, directory, exported)))
            server.show()  # as the server does a moment later
            secrets.append(secret_of(directory / "device-1"))
        left = _run("deniable show --directory device-x --json", directory, exported)
    done.append(("device-x", left))
    return done, secrets


def _run(line, directory, variables):
    words = shlex.split(line)
    inherited = {name: text for name, text in os.environ.items() if name != "DO_NOT_TRACK"}
    done = subprocess.run(
        [*COMMANDS[words[0]], *words[1:]], cwd=directory, check=False, text=True,
        env={**inherited, "COLUMNS": "80", **variables},
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain(text):
    """A text without what differs from day to day and from throw to throw."""
    text = re.sub(r"\w+, \d{1,2} \w+ \d{4}", "DAY", text)
    return " ".join(re.sub(r"'(yes|no)'", "ANSWER", text).split())


def test_commands_print_what_the_page_shows(printed):
    done, _ = printed
    shown = [plain(output) for _, output in done]
    parts = [part for block in blocks("") for part in re.split(r"(?m)^\n|\n(?=  dark)", block)]
    assert len(parts) >= 4
    for part in parts:
        assert any(plain(part) in output for output in shown), part


def test_one_more_report_shows_its_answer_and_that_it_came(printed):
    done, _ = printed
    before, after = (
        json.loads(output) for line, output in done if line == "deniable estimate dark --json"
    )
    reports = [each["head"]["reports"] for each in (before, after)]
    assert reports == [20, 21]
    said_yes = [
        round((shares(each)["true"] / 2 + 1 / 4) * count)
        for each, count in zip((before, after), reports, strict=True)
    ]
    shown = json.loads(done[-1][1])
    (said,) = re.findall(r"Said '(yes|no)'", json.dumps(shown))
    assert said_yes[1] - said_yes[0] == (said == "yes")


def test_leaving_erases_what_the_page_says_and_keeps_what_was_spent(printed):
    done, secrets = printed
    lines = [line for line, _ in done]
    left = lines.index("python leave.py")
    assert secrets[0] == secrets[left - 1] != secrets[left]
    shown = done[left + 1][1]
    assert "no answers" in shown
    assert re.search(r"for life\s+[^ ]+\s+1\.10 of 400", shown)


def test_the_figures_of_the_page_are_computed(printed):
    """Sessions give what they show, and no other figure stands in the text."""
    done, _ = printed
    session = "\n".join(blocks("pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, PAGE.name, None, 0)
    assert len(test.examples) > 15
    complaints: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    assert runner.run(test, out=complaints.append).failed == 0, "".join(complaints)
    known = session.replace("_", ",") + " ".join(output for _, output in done)
    prose = re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", BLOCK.sub("", TEXT))
    figures = FIGURE.findall(prose)
    assert len(figures) > 5
    for figure in figures:
        assert figure in known, figure
