"""``deniable discover``: tables for people, JSON for programs, and errors that teach."""

from __future__ import annotations

import msgspec
import pytest
from click.testing import CliRunner

from deniable_aggregator.answers.discoveries import FoundStrings
from deniable_aggregator.asking import http_source
from deniable_aggregator.asking.connection import Connection, ServerAnswer
from deniable_aggregator.cli.render.discovery_table import (
    discovery_notes,
    discovery_tables,
)
from deniable_aggregator.media.console import literal_console
from deniable_aggregator.sentences.discoveries import discovery_explanation
from tests.command_line import deniable

ROW = {
    "share": 0.05,
    "low": 0.04,
    "high": 0.06,
    "devices": 500,
    "evidence": "strong",
    "score": 8.0,
    "p_value": 1e-15,
    "bits": 14,
    "hinted": False,
    "seen": "new",
}
RESULT = {
    "application": "flightdeck",
    "description": "",
    "notices": [{"code": "planted_strings", "severity": "warning", "message": "Reports fail"}],
    "days": {
        "since": "2026-01-08",
        "until": "2026-01-14",
        "covered": 7,
        "reported": 7,
        "missing": [],
        "incomplete": [],
        "open_since": None,
        "releases": [],
        "suspicious": [],
        "uneven": [],
        "not_checked": 0,
        "keys_left_out": [],
    },
    "since": None,
    "until": None,
    "pending_reports": 0,
    "excluded_reports": 0,
    "health": {"verdict": "suspicious", "suspicious_keys": [], "uneven_keys": []},
    "metric": "search",
    "reports": 10_000,
    "version": {
        "version": "ab" * 32,
        "title": "trie",
        "mechanism": {"name": "trie"},
        "epsilon": 4.0,
        "epsilon_permanent": None,
        "epsilon_total": None,
        "reports": 10_000,
    },
    "interval": {"kind": "picked", "level": 0.95, "meaning": "about"},
    "detection": {"alpha": 0.05, "false_finds": "few", "meaning": "at most 5%"},
    "fakes": {"share": 0.01, "meaning": "planted", "planted": 0.04, "strings": 2},
    "hints": 0,
    "strings": [
        {"text": "dark mode", "shown": "dark mode", **ROW},
        {"text": "maps", "shown": "maps", **ROW, "seen": "before"},
    ],
    "prefixes": [{"text": "opentele", "shown": "opentele…", **ROW}],
    "hidden": {"minimum_devices": 100, "below_minimum": 3, "denied": 1},
    "smallest": [
        {"length": "short", "bits": 20, "share": 0.01, "devices": 100},
        {"length": "long", "bits": 68, "share": None, "devices": None},
    ],
    "earlier": {
        "id": 1,
        "since": "2026-01-01",
        "until": "2026-01-07",
        "reports": 9_000,
        "missing": [
            {
                "text": "yule",
                "shown": "yule",
                "share_before": 0.08,
                "high": 0.01,
                "verdict": "gone",
            },
            {
                "text": "tea",
                "shown": "tea",
                "share_before": 0.02,
                "high": 0.03,
                "verdict": "not_found",
            },
        ],
    },
}


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


def test_a_table_shows_whole_strings_and_prefixes_apart(run):
    done, _ = run([discovery(result=RESULT)], "--top", "1")
    lines = done.stdout.splitlines()
    assert lines[0] == "Warning: Reports fail"
    (row,) = (line for line in lines if line.startswith("dark mode"))
    for word in ("5.0% ± 1.0%", "●", "strong", "new"):
        assert word in row
    begins = next(place for place, line in enumerate(lines) if "begins with" in line)
    (prefix,) = (place for place, line in enumerate(lines) if line.startswith("opentele…"))
    assert begins < prefix
    assert " 4.0%" in lines[prefix]
    assert "±" not in lines[prefix]
    for sentence in (
        "1 more strings were found; leave out --top to see them.",
        "Gone since 2026-01-01 to 2026-01-07: yule (8.00%, now below 1.00%).",
        "Found in 2026-01-01 to 2026-01-07 and not this time, perhaps by chance: tea.",
        "3 more not shown: they may be of fewer than minimum_devices (100).",
        "1 more not shown: a deny list names them.",
        "short ones from 1.00% (about 100 devices), long ones never",
        "they could have planted 2 chosen strings with a share of 4.00%",
    ):
        assert sentence in done.stdout.replace("\n", " ")


def printed(result):
    """The tables and lines about a result."""
    console = literal_console()
    console.width = 160  # whatever the terminal has
    with console.capture() as captured:
        answer = msgspec.convert(result, FoundStrings)
        for part in (
            *discovery_tables(answer),
            *discovery_notes(answer),
            *discovery_explanation(answer),
        ):
            console.print(part)
    return captured.get()


def test_what_was_found_cannot_act_on_a_terminal():
    hostile = "\x1b[2J\u202e<b>[red]"
    row = {"text": hostile, "shown": hostile, **ROW}
    shown = printed({**RESULT, "strings": [row], "prefixes": [row]})
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "<U+001B>[2J<U+202E><b>[red]" in shown


def test_an_empty_result_says_what_would_be_needed():
    shown = printed({**RESULT, "strings": [], "prefixes": []})
    assert shown.startswith("No string stands out from the noise of 10,000 reports.")
    assert "More devices or days or a larger epsilon" in shown.replace("\n", " ")
    alone = printed({**RESULT, "strings": [], "prefixes": [], "reports": 1})
    assert alone.startswith("No string stands out from the noise of 1 report.")


def test_a_run_that_has_failed_says_why(run):
    done, _ = run([discovery(state="failed", failure="It needs more memory.")])
    assert done.exit_code == 1
    assert done.stderr == "Error: the run has failed. It needs more memory.\n"
