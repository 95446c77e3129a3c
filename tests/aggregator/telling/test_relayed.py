"""The sentence about relayed reports is the same wherever it is shown."""

from __future__ import annotations

import html
import json
from datetime import date

import pytest

from deniable_aggregator.answering.answering import Answerer
from deniable_aggregator.answering.local_source import LocalSource
from deniable_aggregator.answers.questions import DaysQuery
from deniable_aggregator.asking.questions import RELAYED
from deniable_aggregator.asking.relayed import ask_relayed
from deniable_aggregator.keeping.parts import Parts
from deniable_aggregator.telling.publication.document import document_of
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.relayed import CONDITION, relayed_sentences
from tests.aggregator.cli.test_cli import run, url  # noqa: F401  fixtures
from tests.aggregator.relayed import OTHER, bring
from tests.aggregator.service import REGISTRY

pytestmark = pytest.mark.one_store

TODAY = date(2024, 10, 4)


@pytest.fixture
def service(url):  # noqa: F811  the fixture
    _, running = url
    running.register()
    bring(running, 1_500)
    bring(running, 10, relay=OTHER)
    return running


@pytest.fixture
def source(service):
    parts = Parts(service.store, service.settings, service.clock)
    return LocalSource(Answerer(parts), "flightdeck")


@pytest.fixture
def sentence(source):
    (said,) = relayed_sentences(ask_relayed(source, "theme", TODAY))
    assert "epsilon 1 on the device" in said
    assert "at least 750" in said
    assert CONDITION in said
    return said


@pytest.fixture
def cost(run, url, service, tmp_path, monkeypatch):  # noqa: F811  the fixtures
    monkeypatch.setattr("deniable_aggregator.asking.dates.utc_today", lambda: TODAY)
    file = tmp_path / "metrics.toml"
    file.write_text(REGISTRY)
    environment = {"DENIABLE_SERVER": url[0], "DENIABLE_TOKEN": service.read, "COLUMNS": "2000"}
    return lambda *options: run("cost", str(file), "--relayed", *options, env=environment)


def test_the_command_says_it_beside_a_table(cost, sentence):
    shown = cost()
    assert shown.exit_code == 0, shown.output
    assert sentence in shown.stdout
    assert shown.stdout.splitlines()[0].split() == [
        *("metric", "version", "on", "the", "device", "of", "100", "reports"),
        *("hid", "among", "epsilon", "a", "week"),
    ]
    (metric,) = json.loads(cost("--json").stdout)["metrics"]
    assert metric["versions"][0]["hidden"][2]["honest"] == 750


def test_what_is_about_a_year_is_refused_beside_it(cost):
    refused = cost("--shuffled", "9")
    assert refused.exit_code == 2
    assert "--shuffled is not given with --relayed" in refused.output


def test_the_privacy_page_says_it(service, sentence):
    service.sign_in()
    shown = html.unescape(service.http.get("/privacy").text)
    assert sentence in shown
    assert shown.count(CONDITION) == 1  # of the metrics that are not relayed nothing is said


def test_a_publication_says_it_of_its_days(source):
    made = publish(source, "theme")
    days = DaysQuery(since=made.since, until=made.until)
    (said,) = relayed_sentences(source.ask(RELAYED.of("theme"), days))
    assert f"relayed reports of {made.since}" in said
    assert said in document_of(made).below


def test_of_reports_that_came_directly_a_publication_says_nothing(url):  # noqa: F811
    _, service = url
    service.register()
    bring(service, 1_500, relay=None)
    source = LocalSource(Answerer(Parts(service.store, service.settings)), "flightdeck")
    assert not any("relay" in text for text in document_of(publish(source, "theme")).below)


def test_without_reports_of_the_last_weeks_there_is_nothing_to_say(source):
    assert ask_relayed(source, "theme", date(2026, 11, 27)) is None
