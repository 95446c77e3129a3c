"""Commands and code of the README and the quick start, in their order, with a real server."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import deniable
from deniable_shared.commands.entry import main
from tests.end_to_end.serving import running

pytestmark = pytest.mark.service

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
QUICK_START = ROOT / "docs/client/quickstart.md"
DAY_SECONDS = 86_400
NOT_RUN = ("pip", "python3", ".")
"""Commands that make an environment; tests have one."""


def blocks(language, document=README):
    found = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", document.read_text(encoding="utf-8"))
    return [text for name, text in found if name == language]


def commands(text):
    lines = (shlex.split(line, comments=True) for line in text.splitlines())
    return [words[1:] for words in lines if words and words[0] == "deniable"]


@pytest.fixture
def run(capsys):
    """Runs a command and returns what it prints."""

    def call(words):
        with pytest.raises(SystemExit) as end:
            main(words)
        printed = capsys.readouterr()
        assert not end.value.code, printed.err
        return printed.out

    return call


@pytest.fixture(scope="module")
def terminal(tmp_path_factory):
    """A function that runs a line in a directory with these variables, as a shell does."""
    programs = tmp_path_factory.mktemp("bin")
    main_function = "from deniable_shared.commands.entry import main; main()"
    for name, words in {"python": "", "deniable": f"-c '{main_function}' "}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words}"$@"\n', "utf-8")
        (programs / name).chmod(0o755)
    inherited = {name: text for name, text in os.environ.items() if name != "DO_NOT_TRACK"}

    def call(line, directory, variables):
        path = {"PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "100"}
        done = subprocess.run(
            ["bash", "-c", line], cwd=directory, env={**inherited, **path, **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    return call


def follow(document, lines, directory, variables, terminal):
    """Runs lines of a document, and returns what each prints; its program is beside them."""
    (program,) = blocks("python", document)
    (directory / "app.py").write_text(program, "utf-8")
    lines = [line for line in lines if line and line.split()[0] not in NOT_RUN]
    return {line.partition("#")[0].strip(): terminal(line, directory, variables) for line in lines}


def serving(lines):
    """The lines of a document until a server is started, and the options it is started with."""
    place = next(index for index, line in enumerate(lines) if line.startswith("deniable serve"))
    return lines[:place], shlex.split(lines[place], comments=True)[2:], lines[place + 1 :]


def shell_lines(document):
    return [line for text in blocks("sh", document) for line in text.splitlines()]


@pytest.fixture(scope="module")
def first_hour(tmp_path_factory, terminal):
    """A server as developers start it; its directory, and the variables that it printed."""
    directory = tmp_path_factory.mktemp("flightdeck")
    before, options, _ = serving(shell_lines(QUICK_START))
    follow(QUICK_START, before, directory, {}, terminal)
    assert options == ["--store", "deniable.db", "--development", "metrics.toml"]
    with running(directory / "deniable.db", "--development", directory / "metrics.toml") as server:
        printed = server.output.read_text("utf-8")
        exported = dict(re.findall(r"(?m)^  export (\w+)=(\S+)$", printed))
        yield server, directory, exported


def test_the_first_hour_goes_as_the_quick_start_says(first_hour, terminal):
    _, directory, exported = first_hour
    _, _, after = serving(shell_lines(QUICK_START))
    (excerpt,) = blocks("toml", QUICK_START)
    assert excerpt in (directory / "metrics.toml").read_text("utf-8")
    printed = follow(QUICK_START, after[:3], directory, exported, terminal)
    assert printed["deniable try metrics.toml"].count("has stored it") == 3
    said = printed["DENIABLE_DEVELOPMENT=1 python app.py"]
    assert "theme: recorded" in said
    assert "theme: the server has counted 256 bytes" in said
    listed = re.search(r"(?m)^theme +category +(\d+) ", printed["deniable metrics list"])
    assert int(listed[1]) >= 2


def test_what_the_readme_says_to_developers_works(first_hour, terminal, tmp_path):
    _, directory, exported = first_hour
    developer, *_ = blocks("sh")
    before, options, after = serving(developer.splitlines())
    assert options == ["--store", "deniable.db", "--development", "metrics.toml"]
    follow(README, before, tmp_path, {}, terminal)
    written = (tmp_path / "metrics.toml").read_text("utf-8")
    assert written == (directory / "metrics.toml").read_text("utf-8")
    printed = follow(README, after, tmp_path, exported, terminal)
    assert printed["deniable try metrics.toml"].count("has stored it") == 3
    development = {**exported, "DENIABLE_DEVELOPMENT": "1"}
    assert "theme: recorded" in terminal("python app.py", tmp_path, development)


def test_what_the_readme_says_to_the_others_works(first_hour, run, monkeypatch):
    server, directory, exported = first_hour
    _, analyst, reviewer, operator = (commands(text) for text in blocks("sh"))
    monkeypatch.chdir(directory)
    for variable in ("DO_NOT_TRACK", *exported):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("DENIABLE_SERVER", server.url)
    said = ["theme: category of 3", "together", "theme: passed, proved for all values"]
    assert [text in run(words) for words, text in zip(reviewer, said, strict=True)] == [True] * 3
    started, made, registered = operator
    assert started == ["serve", "--store", "deniable.db"]
    tokens = {"ADMIN_TOKEN": run(made).strip()}
    for scope in ("read", "write"):
        words = [scope if word == "admin" else word for word in made]
        tokens[f"{scope.upper()}_TOKEN"] = run(words).strip()
    assert "theme" in run([tokens.get(word, word) for word in registered])
    with deniable.Client(
        "metrics.toml",
        endpoint=server.url,
        key=tokens["WRITE_TOKEN"],
        directory="a device of yesterday",
        consent=True,
        clock=lambda: time.time() - DAY_SECONDS,
    ) as client:
        client.record("theme", "light")
        assert client.flush(timeout_seconds=60).sent == 1
    server.show()  # as the server does a moment later
    listed, estimated, reported = (
        run([tokens.get(word, word) for word in words]) for words in analyst
    )
    assert re.search(r"(?m)^theme +category +[1-9]", listed)
    assert "reports" in estimated
    assert reported == "wrote week.html\n"
    page = (directory / "week.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "Which colour theme is active at start-up" in page
