"""The README's commands and code, in the order of their use, against a real server."""

from __future__ import annotations

import csv
import re
import shlex
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import deniable
from deniable_shared.commands.entry import main
from tests.end_to_end.serving import running

pytestmark = pytest.mark.service

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
DAY_SECONDS = 86_400


def blocks(language):
    found = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", README)
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


def test_what_the_readme_shows_works_as_it_stands_there(run, tmp_path, monkeypatch):
    ((registry,), (program,)) = blocks("toml"), blocks("python")
    analyst, operator = (commands(text) for text in blocks("sh"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)
    (tmp_path / "metrics.toml").write_text(registry, "utf-8")
    assert operator[0] == ["serve", "--store", "deniable.db"]
    with running(tmp_path / "deniable.db") as server:
        monkeypatch.setenv("DENIABLE_SERVER", server.url)
        tokens = {}
        for words in operator[1:]:
            printed = run([tokens.get(word, word) for word in words])
            if words[:2] == ["keys", "create"]:
                scope = words[words.index("--scope") + 1]
                tokens[f"{scope.upper()}_TOKEN"] = printed.strip()
        assert len(tokens) == 3
        program = program.replace("https://telemetry.example.org", server.url)
        program = program.replace("WRITE_TOKEN", tokens["WRITE_TOKEN"])
        names = {}
        exec(program, names)
        assert names["client"].flush(timeout_seconds=60).sent == 1
        names["client"].close()
        with deniable.Client(
            "metrics.toml",
            endpoint=server.url,
            key=tokens["WRITE_TOKEN"],
            directory="another device",
            consent=True,
            clock=lambda: time.time() - DAY_SECONDS,
        ) as yesterday:
            yesterday.record("theme", "light")
            assert yesterday.flush(timeout_seconds=60).sent == 1
        today = datetime.now(UTC).date()
        periods = {"--before": str(today - timedelta(1)), "--after": str(today)}
        for words in analyst:
            asked = [tokens.get(word, word) for word in words]
            for option in periods.keys() & set(asked):
                asked[asked.index(option) + 1] = periods[option]
            printed = run(asked)
            if words[:2] == ["plan", "metrics.toml"]:
                assert "theme" in printed
            elif words[0] == "report":
                assert printed == "wrote week.html\n"
                page = (tmp_path / "week.html").read_text("utf-8")
                assert page.startswith("<!doctype html>")
                assert "Which colour theme is active at start-up" in page
            elif words[0] == "export":
                with (tmp_path / "week.csv").open(encoding="utf-8", newline="") as table:
                    rows = list(csv.DictReader(table))
                assert {row["value"] for row in rows} == {"light", "dark", "system"}
                assert {(row["metric"], row["reports"]) for row in rows} == {("theme", "2")}
            else:
                assert "report" in printed
        assert {file.name for file in tmp_path.glob("week.*")} == {"week.html", "week.csv"}


def test_what_a_metric_gives_away_is_shown_as_the_command_prints_it(run, tmp_path):
    (registry,) = blocks("toml")
    (tmp_path / "metrics.toml").write_text(registry, "utf-8")
    (shown,) = (text for text in blocks("") if text.startswith("theme: "))
    printed = run(["metrics", "check", str(tmp_path / "metrics.toml")])
    assert shown in "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
