"""``deniable init``: a registry to begin with, in an empty directory."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from deniable_shared import registry
from deniable_shared.commands.first_registry import registry_text
from deniable_shared.commands.init import find_application, made_valid
from deniable_shared.planning.budget import days_until_lifetime_is_spent, epsilon_of_busiest_day
from tests.command_line import deniable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory: that of a project without a pyproject.toml."""
    project = tmp_path / "Flight-Deck 2"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def run(*words):
    return CliRunner().invoke(deniable, list(words))


def test_the_file_is_checked_and_planned_without_complaint_as_the_command_says_to(folder):
    made = run("init")
    assert made.exit_code == 0
    assert "wrote metrics.toml, of the application flight_deck_2" in made.output
    following = re.findall(r"(?m)^  deniable (.+?)  ", made.output)
    assert [words.split()[0] for words in following] == ["check", "plan", "try"]
    for words in following[:2]:
        done = run(*words.split())
        assert (done.exit_code, done.stderr) == (0, "")
        assert "Warning" not in done.output
    assert registry.load(folder / "metrics.toml").application == "flight_deck_2"


def test_its_metrics_fit_its_budget_for_a_year():
    parsed = registry.parse(registry_text("flightdeck"))
    assert epsilon_of_busiest_day(parsed) <= parsed.budget.epsilon_per_day
    assert days_until_lifetime_is_spent(parsed) > 365
    assert [metric.spec.type for metric in parsed.metrics.values()] == [
        "category",
        "boolean",
        "number",
    ]


def test_what_is_commented_out_can_be_used():
    text = registry_text("flightdeck")
    switched_on = re.sub(r"(?m)^# (?=\[|\w+ = )", "", text)
    parsed = registry.parse(switched_on)
    assert parsed.metrics["search_term"].spec.letters is not None
    assert parsed.metrics["theme"].spec.mechanism.epsilon_permanent == pytest.approx(2.0)


def test_lines_are_as_long_as_those_of_any_source():
    assert max(map(len, registry_text("flightdeck").splitlines())) <= 100


def test_a_file_that_is_there_stays_as_it_is(folder):
    (folder / "metrics.toml").write_text("mine")
    refused = run("init")
    assert refused.exit_code == 1
    assert "metrics.toml is there already and stays as it is" in refused.stderr
    assert (folder / "metrics.toml").read_text() == "mine"
    assert run("init", "other.toml").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_a_folder_that_is_not_there_is_said_in_one_line():
    refused = run("init", "none/metrics.toml")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert "none/metrics.toml: No such file" in refused.stderr


@pytest.mark.parametrize("name", ["9lives", "Flightdeck", "", "a" * 65, 'x"\ny'])
def test_a_name_that_no_application_can_have_is_refused(name, folder):
    refused = run("init", "--application", name)
    assert refused.exit_code == 2
    assert "--application must be a name matching" in refused.stderr
    assert not (folder / "metrics.toml").exists()


@pytest.mark.parametrize(
    ("project", "expected"),
    [
        ('[project]\nname = "Sky.Map"\n', "sky_map"),
        ("[project]\n", "flight_deck_2"),
        ("[project]\nname = 7\n", "flight_deck_2"),
        ("[tool.black]\n", "flight_deck_2"),
        ("no TOML", "flight_deck_2"),
    ],
)
def test_the_name_is_that_of_the_project_or_of_the_folder(folder, project, expected):
    (folder / "pyproject.toml").write_text(project)
    assert find_application(folder) == expected


def test_a_package_inside_a_project_has_its_name(folder):
    (folder / "pyproject.toml").write_text('[project]\nname = "skymap"\n')
    (folder / "src" / "gui").mkdir(parents=True)
    assert "the application skymap" in run("init", "src/gui/metrics.toml").output


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flightdeck", "flightdeck"),
        ("2048", "my_app"),
        ("2048 game", "app_2048_game"),
        ("__", "my_app"),
        ("日本", "my_app"),
        ("Übersicht", "ubersicht"),
        ("a" * 63 + "-b", "a" * 63),
    ],
)
def test_any_name_becomes_one_that_an_application_can_have(name, expected):
    assert made_valid(name) == expected
    registry.parse(registry_text(expected))
