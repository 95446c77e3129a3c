"""The ways to a project, and names that are completed or met with what was meant."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from datetime import date

import pytest

import deniable_analysis as da
from deniable_aggregator import Store
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.keeping.store import StoreRefusedError
from deniable_shared import registry
from deniable_shared.errors import ParameterError
from tests.aggregator.service import REGISTRY
from tests.analysis.deployment import deployed

HEAVY = {"flask", "sqlalchemy", "numpy", "scipy", "pandas", "polars", "pyarrow",
         "narwhals", "httpx", "click", "rich"}  # fmt: skip

AGGREGATOR_ONLY = {"flask", "sqlalchemy", "scipy", "click", "rich", "cryptography", "alembic"}


@pytest.fixture
def place(monkeypatch, tmp_path):
    """Nothing in the environment, and a folder for profiles."""
    for name in ("PROFILE", "SERVER", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"DENIABLE_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "deniable").mkdir()
    return tmp_path / "deniable"


def write(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)


def test_a_server_is_found_in_the_environment_or_in_a_profile(place, url, deployment, monkeypatch):
    with pytest.raises(da.AskingError, match="there is no token") as told:
        da.connect()
    assert str(place / "profiles.toml") in str(told.value)
    write(place / "token", deployment.read + "\n")
    write(place / "profiles.toml", f'[here]\nserver = "{url}"\ntoken_file = "token"\n')
    with da.connect("here") as project:
        assert "browser" in project
    monkeypatch.setenv("DENIABLE_PROFILE", "here")
    with da.connect() as project:
        assert len(project) == 6
    monkeypatch.setenv("DENIABLE_SERVER", "http://127.0.0.1:1")
    monkeypatch.setenv("DENIABLE_TOKEN", "any")
    with da.connect() as project, pytest.raises(da.AskingError, match="cannot be reached"):
        project.metrics  # noqa: B018
    with da.connect("here", server=url, token=deployment.read) as project:
        assert list(project) == project.metrics.names
    write(place / "profiles.toml", f'[here]\nserver = "{url}"\ntoken = "t"\n', 0o644)
    with pytest.raises(da.AskingError, match="chmod 600"):
        da.connect("here")


def test_a_wrong_token_is_told_and_never_shown(place, url):  # noqa: ARG001
    project = da.connect(server=url, token="deniable_hunter2")
    with pytest.raises(da.AskingError, match="unknown_key") as told:
        project.metrics  # noqa: B018
    assert told.value.code == "unknown_key"
    project.close()
    assert "hunter2" not in f"{told.value} {project!r} {project.source!r}"


def test_an_unknown_metric_is_met_with_the_one_that_was_meant(connected, opened):
    for project in (connected, opened):
        with pytest.raises(da.AskingError, match=r"'browsr'. Did you mean 'browser'") as told:
            project["browsr"]
        assert told.value.code == "unknown_metric"
        assert project._ipython_key_completions_() == list(project)
    with pytest.raises(da.AskingError, match="there is no metric 7"):
        connected[7]


def test_a_metric_says_what_it_is(connected):
    metric = connected["browser"]
    assert repr(metric) == "Metric('browser': Which browser opened the report)"
    assert "Which browser opened the report" in metric._repr_html_()
    assert metric.details().name == "browser"


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ({"days": "2026-09-01/2026-09-30"}, ("2026-09-01", "2026-09-30")),
        ({"days": ("2026-09-01", date(2026, 9, 2))}, ("2026-09-01", "2026-09-02")),
        ({"since": date(2026, 9, 1)}, ("2026-09-01", None)),
        ({"until": "2026-09-30"}, (None, "2026-09-30")),
        ({"since": "-7d", "until": "yesterday"}, ("2026-10-19", "2026-10-25")),
        ({"since": "-4w"}, ("2026-09-28", "2026-10-25")),
        ({"since": "-3d"}, ("2026-10-23", None)),
        ({"days": "-1m/"}, ("2026-09-26", "2026-10-26")),
    ],
)
def test_days_are_dates_or_texts_and_count_from_the_day_of_the_store(opened, asked, days):
    given = opened["browser"].estimate(**asked).answer.question.parameters
    assert (given.get("since"), given.get("until")) == days


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"since": "last week"}, r"since must be a day such as .*, got 'last week'"),
        ({"days": "2026-09-02/2026-09-01"}, "days must be two days in their order"),
        ({"days": "-7d/", "since": "-7d"}, "days must be left out if since or until"),
        ({"days": ("-1d", "-2d")}, "days must be two days in their order"),
        ({"candidates": []}, "candidates must be at least one value"),
        ({"candidates": ["a", 7]}, "candidates must be text, or several texts, got 7"),
    ],
)
def test_what_is_mistyped_is_refused_by_its_name(connected, asked, told):
    with pytest.raises(ParameterError, match=told):
        connected["browser"].estimate(**asked)


def test_a_shipped_list_is_an_attribute_and_has_a_name(connected):
    assert {"emoji", "locales"} < set(dir(da.lists))
    assert "🐝" in da.lists.emoji
    assert da.lists.emoji_skin_tones == da.lists.load("emoji-skin-tones")
    with pytest.raises(AttributeError, match="no list 'emojis'; there are browsers, "):
        da.lists.emojis  # noqa: B018
    by_value = connected["emoji"].estimate(candidates=da.lists.emoji, top=3)
    assert by_value.values[:2] == ["😂", "🐝"]
    assert by_value["😂"].estimate > 0.3
    assert connected["emoji"].estimate(candidates="list:emoji", top=3) == by_value
    with pytest.raises(ParameterError, match="list must be one of browsers"):
        connected["emoji"].estimate(candidates="list:emojis")


def test_every_shipped_list_is_known_to_type_checkers():
    assert {name.replace("-", "_") for name in da.lists.names()} == set(da.lists.__annotations__)


@pytest.mark.parametrize("project", ["connected", "opened"])
@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"top": 0}, "malformed_question"),
        ({"margin": "none"}, "malformed_question"),
        ({"segment": "beta"}, "estimate_refused"),
        ({"since": "2020-01-01", "until": "2020-01-02"}, "no_reports"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_the_same_way(project, asked, code, request):
    project = request.getfixturevalue(project)
    with pytest.raises(da.AskingError) as told:
        project["browser"].estimate(**asked)
    assert told.value.code == code


def test_a_backup_is_left_as_it_is(copied, deployment):
    before = {each.name: each.read_bytes() for each in copied.parent.iterdir()}
    with da.open(copied, "flightdeck") as project:
        assert repr(project) == f"Project(StoreSource('{copied}', 'flightdeck'))"
        assert project["browser"].estimate().answer.head.reports > 7_000
    assert {each.name: each.read_bytes() for each in copied.parent.iterdir()} == before
    with da.open(deployment.target) as project:  # the server's own, while it runs
        assert project["browser"].estimate().answer.head.reports > 7_000


@pytest.mark.service
def test_a_database_is_opened_as_a_file_is(postgresql, opened, deployment):
    with deployed(postgresql.fresh_schema(), days=5) as service:
        with da.open(service.target, today=day_of(deployment.clock.epoch)) as project:
            there = project["theme"].estimate(segment="beta").answer
        here = opened["theme"].estimate(segment="beta", days="2026-08-24/2026-08-28").answer
    assert there.numbers == here.numbers
    assert there.head.reports == here.head.reports == 600


def test_a_store_of_several_applications_wants_a_name(tmp_path):
    path = tmp_path / "store.db"
    with closing(Store(path)) as store:
        with pytest.raises(da.AskingError, match="no metric is registered"):
            da.open(path)
        for name in ("flightdeck", "editor"):
            text = REGISTRY.replace("flightdeck", name)
            store.metrics.register(registry.parse(text).metrics.values(), 20_000)
    with pytest.raises(da.AskingError, match="name one of editor, flightdeck"):
        da.open(path)
    with pytest.raises(da.AskingError, match="Did you mean 'editor'"):
        da.open(path, "editr")
    with da.open(path, "editor") as project:
        assert project.metrics.names == ["emoji", "late", "theme"]
    with pytest.raises(StoreRefusedError, match="there is no such file"):
        da.open(tmp_path / "none.db")
    with pytest.raises(ParameterError, match="today must be a day"):
        da.open(path, "editor", today="someday")


@pytest.mark.service
def test_little_is_imported_before_it_is_needed(url, deployment, tmp_path):
    program = f"""
import sys
import deniable_analysis as da
p = da.connect(server={url!r}, token={deployment.read!r})
assert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)
result = p["browser"].estimate()
str(result), result._repr_html_(), result.sentence
assert not {HEAVY - {"httpx", "click", "rich"}} & set(sys.modules)
for name in {AGGREGATOR_ONLY}:
    sys.modules[name] = None  # as if it were not installed
result.frame("polars")
p.report("week.html", since="2026-10-19", until="2026-10-25", metrics="theme")
"""
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, cwd=tmp_path)
