"""``deniable simulate``: what it prints, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from deniable_aggregator import Store
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.simulating import scenario
from tests import command_line
from tests.aggregator.simulating.registries import EVERYTHING, HEAD, SEPIA, THEME
from tests.aggregator.simulating.test_relayed import RELAYED

PLANNING = Path(__file__).parents[3] / "docs" / "analysis" / "planning.md"
FEW = ("--devices", 400, "--days", 6, "--until", "2026-02-01")
run = partial(command_line.run, "simulate")
printed = partial(command_line.printed, "simulate")


@pytest.fixture
def registry(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(EVERYTHING)
    return file


def test_each_metric_has_a_table_beside_the_truth_and_what_would_be_seen(registry):
    text = printed(registry, *FEW)
    assert text.startswith(
        "Simulated: 400 devices of editor from 2026-01-27 to 2026-02-01, seed 1."
    )
    for name in ("theme", "startup", "mode", "settings", "printer", "plugins"):
        assert re.search(rf"(?m)^{name}: \d+ reports", text)
    assert text.count("What devices hold is made up") == 7
    assert "Told from zero:" in text
    assert "covers" in text
    words = " ".join(text.split())
    assert words.count("not compared, as there is no whole week on each side") == 7
    assert re.search(r"intervals \(\d+\.\d%\) cover the truth; 95% should\.", text)
    assert all(len(line) <= 80 for line in text.splitlines())


def test_whole_weeks_on_both_sides_of_the_change_are_compared(registry):
    text = printed(registry, "--devices", 400, "--days", 14, "--until", "2026-02-01")
    assert "On 2026-01-26 the second most common value" in " ".join(text.split())
    assert text.count("Before and after the change: ") == 7
    assert "Truly, " in text
    assert "not compared" not in text


def test_a_table_without_the_key_of_noticed_forged_reports_says_so(tmp_path):
    file = tmp_path / "metrics.toml"
    file.write_text(f'{HEAD}[metrics.plugins]\ntype = "set"\nvalues = ["git", "vim", "latex"]\n'
                    "most = 2\nepsilon = 2\n")  # fmt: skip
    days = ("--days", 14, "--until", "2026-02-01", "--change", 0)
    words = " ".join(printed(file, *days, "--devices", 10_000, "--forge", "plugins=latex").split())
    assert "Without the key of the forged reports: No sign of forgery." in words
    assert "The forged reports were noticed: the table is without the key" in words
    assert "Told from zero: 3 of the 3 values that devices hold." in words


def test_help_fits_a_terminal():
    assert all(len(line) <= 80 for line in printed("--help").splitlines())


def test_json_has_truth_and_estimate_of_every_number(registry):
    found = json.loads(printed(registry, *FEW, "--json"))
    assert found["simulated"] is True
    theme = found["metrics"][0]
    assert [row["value"] for row in theme["numbers"]] == ["light", "dark", "system", "another"]
    assert sum(row["truth"] for row in theme["numbers"]) == pytest.approx(1)
    assert {"estimate", "low", "high", "told", "covers"} <= theme["numbers"][0].keys()


def test_the_same_words_print_the_same_numbers(registry):
    assert printed(registry, *FEW) == printed(registry, *FEW)
    assert printed(registry, *FEW) != printed(registry, *FEW, "--seed", 2)


def test_nothing_is_left_unless_it_is_asked_for(registry, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    printed(registry, *FEW)
    assert not list(temporary.iterdir())


def test_a_store_is_left_to_explore_and_says_that_it_is_simulated(registry, tmp_path):
    text = printed(registry, *FEW, "--store", tmp_path / "kept.db")
    assert "deniable serve --store" in text
    assert re.search(r"export DENIABLE_TOKEN=deniable_read_\w+", text)
    with closing(Store(tmp_path / "kept.db")) as store:
        assert MetricCatalog(store).simulated
        assert {key.label for key in store.keys.all()} == {
            "release",
            "beta",
            "partner",
            "simulation",
        }


def test_shares_of_a_file_are_used_and_said_to_be_stated(registry, tmp_path):
    shares = tmp_path / "shares.csv"
    shares.write_text("theme,light,0.1\ntheme,dark,0.9\n")
    text = printed(registry, *FEW, "--priors", shares, "--change", 0)
    assert "What devices hold is as stated." in text
    assert "Before and after the change" not in text


def test_several_files_are_versions_of_one_application(tmp_path):
    files = [tmp_path / "old.toml", tmp_path / "new.toml"]
    for file, text in zip(files, (HEAD + THEME, HEAD + SEPIA), strict=True):
        file.write_text(text)
    assert "New versions on 2026-01-30." in printed(*files, *FEW)
    files[1].write_text((HEAD + SEPIA).replace('"editor"', '"other"'))
    assert "must be 'editor', as before, got 'other'" in run(*files, *FEW).output


def test_a_picture_shows_true_shares(registry, tmp_path):
    printed(registry, *FEW, "--picture", tmp_path / "all.svg")
    drawn = (tmp_path / "all.svg").read_text()
    assert "Which colour theme is active" in drawn
    assert "do not exist" in drawn


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--devices", "0"), 2, "must be an integer in [1, 100,000,000], got '0'"),
        (("--growth", "nan"), 2, "must be a number in [-50, 100], got 'nan'"),
        (("--forger", "clever"), 2, "'clever' is not one of 'naive', 'patient', 'upload'"),
        (("--forge", "theem=dark"), 1, "Did you mean 'theme'?"),
        (("--outage", "2025-01-01"), 1, "outage must be one of the days 2026-01-27 to 2026-02-01"),
        (("--server", "http://127.0.0.1:1"), 2, "DENIABLE_BATCH_KEY must be set"),
        (("--server", "http://a", "--store", "b"), 2, "give --store or --server, not both"),
    ],
)
def test_what_cannot_be_simulated_is_refused_with_a_reason(
    registry, monkeypatch, options, status, words
):
    monkeypatch.delenv("DENIABLE_BATCH_KEY", raising=False)
    result = run(registry, *FEW, *options, columns=200)
    assert result.exit_code == status
    assert words in result.output


def test_with_a_relay_what_the_crowd_is_worth_is_printed_and_no_server_is_asked(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(scenario, "utc_today", lambda: date(2026, 2, 1))
    file = tmp_path / "metrics.toml"
    file.write_text(RELAYED)
    refused = run(file, "--server", "http://127.0.0.1:1", columns=200)
    assert refused.exit_code == 2
    assert "with --server give a file without [relay]" in refused.output
    options = ("--devices", 300, "--days", 7, "--change", 0, "--store", tmp_path / "kept.db")
    words = " ".join(printed(file, *options).split())
    assert " to 2026-01-17, seed 1" in words  # the relay has closed since
    assert re.search(r"theme: \d+ reports", words)
    assert "theme: epsilon 4 on the device. Nothing less is stated: no group" in words
    assert "export DENIABLE_TOKEN=deniable_read_" in words
    assert not [path for path in tmp_path.iterdir() if "relay" in path.name]


def test_the_numbers_of_the_document_are_printed_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    section = PLANNING.read_text("utf-8").partition("## On simulated devices")[2]
    commands, shown = re.findall(r"(?ms)^```(?:sh|text)\n(.*?)^```$", section)[:2]
    output = [command_line.printed(*line.split()[1:], columns=88) for line in commands.splitlines()]
    assert shown in output[-1]
