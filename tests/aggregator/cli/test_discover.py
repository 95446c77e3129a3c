"""``deniable discover``: tables for people, JSON for programs, and errors that teach."""

from __future__ import annotations

import msgspec
import pytest
from click.testing import CliRunner

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.measured import HiddenStrings, Measured
from deniable_aggregator.asking import http_source
from deniable_aggregator.asking.connection import Connection, ServerAnswer
from tests.aggregator.telling.answers import string, strings, warned
from tests.command_line import deniable

MISSING = Measured(measure="share", value="yule", whole=True, told=False, before=0.08, high=0.01)
RESULT = msgspec.to_builtins(
    warned(
        strings(
            string("dark mode", 0.04, 0.05, 0.06, score=8.0, seen="new", hinted=True),
            string("maps", 0.04, 0.05, 0.06, seen="before"),
            string("opentele", 0.04, 0.05, 0.06, whole=False),
            msgspec.structs.replace(MISSING, seen="gone"),
            msgspec.structs.replace(MISSING, value="tea", seen="not_found"),
            earlier=True,
            hidden=HiddenStrings(minimum_devices=100, below_minimum=3, denied=1),
        ),
        Notice("planted_strings", "warning", "Reports fail"),
    )
)  # fmt: skip


def discovery(**more):
    """The answer of a server."""
    known = {"id": 7, "metric": "search", "application": "flightdeck", "asked": "2026-01-15"}
    days = {"since": "2026-01-08", "until": "2026-01-14"}
    state = {"state": "done", "stage": "", "progress": 1.0, "without_key": [], "version": None}
    return ServerAnswer(msgspec.json.encode({**known, **days, **state, **more}))


@pytest.fixture
def run(monkeypatch):
    """Runs the command against a server that answers one request after the other."""
    monkeypatch.setattr(http_source, "FIRST_PAUSE_SECONDS", 0.0)
    requests = []

    def against(answers, *arguments):
        left = list(answers)

        def request(_connection, method, path, **more):
            requests.append((method, path, more))
            return left.pop(0)

        monkeypatch.setattr(Connection, "request", request)
        environment = {"COLUMNS": "120", "DENIABLE_TOKEN": "token"}
        done = CliRunner(env=environment).invoke(deniable, ["discover", "search", *arguments])
        assert not left
        return done, requests

    return against


def test_it_waits_for_the_run_and_asks_with_lists(run, tmp_path):
    hints = tmp_path / "hints.txt"
    hints.write_text("maps\nweather\n")
    running = discovery(state="running", stage="search level 1", progress=0.4)
    done, requests = run(
        [discovery(state="waiting", progress=0.0), running, discovery(result=RESULT)],
        *("--since", "2026-01-08", "--hints", str(hints), "--json"),
    )
    assert done.exit_code == 0
    assert msgspec.json.decode(done.stdout)["result"] == RESULT
    asked, *polled = requests
    assert asked[:2] == ("POST", "/v1/metrics/search/discoveries")
    assert asked[2]["params"] == [("since", "2026-01-08")]
    assert asked[2]["json"].hints == ("maps", "weather")
    assert [each[:2] for each in polled] == [("GET", "/v1/metrics/search/discoveries/7")] * 2


def test_tables_show_whole_strings_and_first_letters_apart(run):
    done, _ = run([discovery(result=RESULT)], "--top", "1")
    lines = done.stdout.splitlines()
    assert lines[0] == "Warning: Reports fail."
    (row,) = (line for line in lines if line.startswith("dark mode"))
    for word in ("4 to 6%", "5%", "●", "strong", "new", "yes"):
        assert word in row
    begins = next(place for place, line in enumerate(lines) if "first letters were" in line)
    (prefix,) = (place for place, line in enumerate(lines) if line.startswith("opentele…"))
    assert begins < prefix
    assert "at least 4%" in lines[prefix]
    for sentence in (
        "1 more string, each below 6%.",
        "Gone since 2026-01-05 to 2026-01-11: yule (8.0%, now below 1.0%).",
        "3 more not shown: they may be of fewer than minimum_devices (100).",
    ):
        assert sentence in done.stdout.replace("\n", " ")


def test_a_run_that_has_failed_says_why(run):
    done, _ = run([discovery(state="failed", failure="It needs more memory.")])
    assert done.exit_code == 1
    assert done.stderr == "Error: the run has failed. It needs more memory.\n"
