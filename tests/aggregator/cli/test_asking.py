"""What analysts type: where servers and tokens come from, days, metrics, mistakes, completion."""

from __future__ import annotations

import json
import os
import time

import pytest

from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.asking import dates
from deniable_aggregator.doors.cli import question_options, value_completion
from deniable_shared.commands.completion import complete
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.service import REGISTRY, TODAY, upload

SEGMENT = """\
[metrics.motion]
type = "boolean"
description = "Whether motion is reduced"
epsilon = 1.0
segment = { name = "channel", values = ["stable", "beta"], complete = true }
"""
PAYLOAD = b"\x00\x01\x02" * 100


@pytest.fixture
def service(url):  # noqa: F811  the fixture
    _, service = url
    service.register(REGISTRY + SEGMENT)
    service.send(upload(PAYLOAD, epoch=TODAY - 1))
    service.send(upload(PAYLOAD))
    service.running.inbox_fold.fold(seconds=60)
    return service


@pytest.fixture
def asked(run, url, service):  # noqa: F811  the fixtures
    environment = {"DENIABLE_SERVER": url[0], "DENIABLE_TOKEN": service.read}
    return lambda *words, **more: run(*words, env={**environment, **more})


@pytest.fixture
def token_file(tmp_path, service):
    file = tmp_path / "token"
    file.write_text(service.read + "\n")
    file.chmod(0o600)
    return file


def test_metrics_are_listed_with_what_was_reported(asked):
    shown = asked("metrics", "list", COLUMNS="150").stdout
    assert shown.startswith("flightdeck, 4 metrics\n\nmetric")
    (row,) = (line for line in shown.splitlines() if line.startswith("theme"))
    for cell in ("category", "600", "300", "2024-10-03", "2024-10-04", "1 a day", "Which colour"):
        assert cell in row
    assert "string, needs values" in shown
    assert "boolean by channel" not in shown
    data = json.loads(asked("metrics", "list", "--json").stdout)
    assert [each["name"] for each in data["metrics"]] == ["emoji", "late", "motion", "theme"]


def test_no_line_of_a_narrow_list_is_cut(asked):
    shown = asked("metrics", "list", COLUMNS="60").stdout
    assert max(map(len, shown.splitlines())) <= 60
    for word in ("2024-10-04", "Which colour", "600"):
        assert word in shown


def test_a_metric_is_shown_with_the_words_that_questions_take(asked):
    shown = asked("metrics", "show", "theme").stdout
    for word in ("light, dark, system", "73.11% sure", "600, 2024-10-03 to", "ui@example.org"):
        assert word in shown
    assert "deniable estimate theme" in shown
    assert "stable, beta" in asked("metrics", "show", "motion").stdout
    data = json.loads(asked("metrics", "show", "theme", "--json").stdout)
    assert data["versions"][0]["values"] == ["light", "dark", "system"]
    assert [each["reports"] for each in data["keys"]] == [600]


def test_the_health_of_all_metrics_has_a_line_for_each(asked):
    done = asked("health", COLUMNS="100")
    assert done.exit_code == 0
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("theme"))
    assert "honest" in row
    assert "2024-10-04" in row
    assert len(json.loads(asked("health", "--json").stdout)["metrics"]) == 4


def test_cron_is_told_of_suspicious_and_stopped_reports_by_the_exit_status(asked, service):
    both = ("--fail-if-suspicious", "--fail-if-stopped")
    assert asked("health", *both).exit_code == 0
    service.send(upload(b"\x01" * 3_000))
    for words in (("health",), ("health", "theme")):
        assert asked(*words).exit_code == 0
        assert asked(*words, "--fail-if-suspicious").exit_code == 3
        assert asked(*words, "--fail-if-suspicious", "--json").exit_code == 3
    assert asked("health", "--fail-if-stopped").exit_code == 0
    service.clock.epoch = TODAY + 3
    stopped = asked("health", "--fail-if-stopped")
    assert (stopped.exit_code, "stopped" in stopped.stdout) == (3, True)
    refused = asked("health", "theme", "--fail-if-stopped")
    assert (refused.exit_code, "leave METRIC out" in refused.stderr) == (2, True)


def test_a_token_comes_from_a_file_that_only_its_owner_may_read(asked, token_file):
    words = ("metrics", "list", "--token-file", str(token_file))
    assert asked(*words, DENIABLE_TOKEN="wrong").exit_code == 0
    variables = {"DENIABLE_TOKEN": "", "DENIABLE_TOKEN_FILE": str(token_file)}
    assert asked("metrics", "list", **variables).exit_code == 0
    both = asked(*words, "--token", "x")
    assert (both.exit_code, "not both" in both.stderr) == (2, True)
    token_file.chmod(0o644)
    refused = asked(*words)
    assert (refused.exit_code, f"chmod 600 {token_file}" in refused.stderr) == (1, True)


def test_a_profile_is_added_used_and_listed_without_its_token(
    run,  # noqa: F811  the fixture
    url,  # noqa: F811  the fixture
    service,
    token_file,
    tmp_path,
):
    plain = url[0].removeprefix("http://")
    added = run("profiles", "add", "--server", plain, input=token_file.read_text())
    assert added.exit_code == 0, added.output
    assert "flightdeck, 4 metrics" in added.stdout
    file = tmp_path / "config" / "deniable" / "profiles.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert run("metrics", "list").exit_code == 0
    again = run("profiles", "add", "default", "--server", plain, input="x")
    assert (again.exit_code, "already" in again.stderr) == (1, True)
    wrong = run("profiles", "add", "other", "--server", plain, input="nonsense")
    assert (wrong.exit_code, "unknown_key" in wrong.stderr) == (1, True)
    assert run("profiles", "add", "other", "--server", plain, input=service.read).exit_code == 0
    assert run("metrics", "list", "--profile", "other").exit_code == 0
    listed = run("profiles", "list").stdout
    assert listed.split() == ["default", url[0], "other", url[0]]
    missing = run("metrics", "list", "--profile", "othr")
    assert (missing.exit_code, "Did you mean 'other'?" in missing.stderr) == (2, True)
    assert service.read not in added.output + listed + missing.output


def test_without_a_token_it_is_said_where_one_is_looked_for(run):  # noqa: F811  the fixture
    done = run("estimate", "theme")
    assert done.exit_code == 2
    for word in ("DENIABLE_TOKEN_FILE", "deniable profiles add", "deniable keys create"):
        assert word in done.stderr


def test_days_may_be_relative(asked, service, monkeypatch):
    for module in (dates, question_options):  # whose clocks stand where the server's does
        monkeypatch.setattr(module, "utc_today", lambda: day_of(TODAY))
    service.send(upload(PAYLOAD, epoch=TODAY - 8))
    week = json.loads(asked("estimate", "theme", "--since", "-7d", "--json").stdout)
    assert week["question"]["parameters"]["since"] == str(day_of(TODAY - 7))
    assert week["head"]["reports"] == 300  # without those of today, which is not over
    again = json.loads(asked("estimate", "theme", "--since", "-1w", "--json").stdout)
    assert again["head"]["reports"] == 300
    every = json.loads(asked("estimate", "theme", "--since", "-6d", "--json").stdout)
    assert every["head"]["reports"] == 600
    days = ("--before", "-14d..-8d", "--after", "-7d..yesterday")
    change = json.loads(asked("change", "theme", *days, "--json").stdout)
    assert [period["reports"] for period in change["head"]["periods"]] == [300, 300]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("estimate", "thene"), 1, "Did you mean 'theme'? deniable metrics list"),
        (("metrics", "show", "thene"), 1, "Did you mean 'theme'?"),
        (("estimate", "theme", "--combined", "drak"), 1, "combined must be one of light, dark"),
        (("series", "theme", "--value", "Drak"), 1, "got 'Drak'. Did you mean 'dark'?"),
        (("estimate", "theme", "--since", "yesterdy"), 2, "a day such as 2026-01-31, today"),
        (("estimate", "theme", "--since", "-1d", "--until", "-3d"), 2, "since must not be after"),
        (("report", "out.md", "--since", "today"), 2, "--until (yesterday, if left out), got"),
        (("change", "theme", "--before", "-7d..", "--after", "-3d.."), 2, "must not overlap"),
        (("health", "--server", "example.org"), 2, "beginning with http:// or https://"),
        (("estimate", "theme", "--picture", "out.pdf"), 2, "must end in .html, .png, .svg"),
        (("estimate", "theme", "--picture", "absent/out.svg"), 1, "out.svg: cannot be written"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_mistake_is_named_with_what_to_do_next(asked, words, status, said):
    done = asked(*words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert said in done.stderr


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "theme/estimate", "../metrics"])
@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "{}"),
        ("metrics", "show", "{}"),
        ("metrics", "remove", "--yes", "{}"),
        ("lists", "saved:{}"),
        ("lists", "saved:{}", "--delete"),
        ("lists", "saved:{}", "--save", "list:emoji"),
        ("views", "save", "{}", "/metric/theme"),
        ("views", "delete", "{}"),
        ("acknowledge", "theme", "{}", "known"),
    ],
    ids=" ".join,
)
def test_a_name_that_would_lead_to_another_path_is_refused_as_a_name(asked, words, name):
    done = asked(*(each.format(name) for each in words))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert f"must be a name without /, and not empty or dots, got {name!r}" in done.stderr


@pytest.fixture
def completed(url, service, monkeypatch, capsys, tmp_path):  # noqa: F811  the fixture
    monkeypatch.setattr(value_completion, "SECONDS", 60.0)  # however busy the machine is
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("DENIABLE_SERVER", url[0])
    monkeypatch.setenv("DENIABLE_TOKEN", service.read)

    def words(*typed):
        assert complete("words", typed) == 0
        return [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]

    return words


def test_what_the_server_knows_is_completed(completed, service):
    assert completed("estimate", "") == ["emoji", "late", "motion", "theme"]
    assert completed("metrics", "show", "th") == ["theme"]
    assert completed("health", "m") == ["motion"]
    assert completed("series", "theme", "--value", "") == ["light", "dark", "system"]
    assert completed("estimate", "theme", "--combined", "dark,") == ["dark,light", "dark,system"]
    assert completed("estimate", "motion", "--segment", "") == ["stable", "beta"]
    (version,) = completed("estimate", "theme", "--since", "-7d", "--version", "")
    assert len(version) == 12
    (key,) = completed("estimate", "theme", "--without-key", "")
    assert key in service.batch
    assert completed("estimate", "theme", "--since", "y") == ["yesterday"]


@pytest.mark.parametrize(
    "environment",
    [
        {"DENIABLE_TOKEN": ""},
        {"DENIABLE_TOKEN": "nonsense"},
        {"DENIABLE_SERVER": "http://127.0.0.1:1"},
        {"DENIABLE_SERVER": "nonsense"},
    ],
    ids=str,
)
def test_nothing_is_completed_or_printed_where_no_server_answers(
    completed, monkeypatch, capsys, environment
):
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    assert completed("estimate", "") == []
    assert capsys.readouterr() == ("", "")


def test_a_shell_does_not_wait_for_a_server_that_does_not_answer(completed, monkeypatch):
    monkeypatch.setattr(value_completion, "SECONDS", 0.01)
    monkeypatch.setattr(value_completion, "_get", lambda *_: time.sleep(0.2) or b"{}")
    assert completed("estimate", "") == []
