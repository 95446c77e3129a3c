"""What is said of one metric and of all: values, versions, days, and mistyped names."""

from __future__ import annotations

import pytest
from msgspec import convert

from deniable_aggregator.answers.administration import Metric
from deniable_aggregator.answers.common import whole_metric
from tests.aggregator.service import REGISTRY, TODAY, problem, serving, upload

pytestmark = pytest.mark.one_store

TYPES = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8
epsilon_lifetime = 80
[metrics.wait]
type = "distribution"
range = [0, 5]
bins = 20
epsilon = 1
[metrics.flight]
type = "attributes"
epsilon = 1
[metrics.flight.attributes]
late = "boolean"
carrier = { values = ["AA", "DL"], other = "another" }
[metrics.beta]
type = "boolean"
epsilon = 1
segment = { name = "channel", values = ["stable", "beta"], complete = true }
[metrics.words]
type = "string"
discover = true
epsilon = 2
"""


@pytest.fixture
def metric(service):
    return lambda name: service.ask(f"/v1/metrics/{name}").get_json()


def test_a_category_is_described_with_its_values_and_what_a_report_gives_away(service, metric):
    service.send(upload(b"\x01" * 30, epoch=TODAY - 3))
    service.send(upload(b"\x01" * 30))
    described = metric("theme")
    assert described["description"] == "Which colour theme is active"
    assert (described["candidates"], described["discovers"]) == (False, False)
    (version,) = described["versions"]
    assert version["values"] == ["light", "dark", "system"]
    assert (version["first_day"], version["last_day"]) == ("2024-10-01", "2024-10-04")
    assert version["reports"] == 60
    assert "73.11% sure" in version["privacy"]
    assert metric("emoji")["candidates"]


def test_each_type_says_what_can_be_asked_of_it(tmp_path):
    with serving(tmp_path / "store.db") as service:
        assert service.register(TYPES).status_code == 200
        described = {
            name: service.ask(f"/v1/metrics/{name}").get_json()["versions"][0]
            for name in ("wait", "flight", "beta", "words")
        }
        assert described["wait"]["range"] == [0, 5]
        assert described["wait"]["bins"] == 20
        assert [each["name"] for each in described["flight"]["attributes"]] == ["late", "carrier"]
        assert described["flight"]["attributes"][1]["values"] == ["AA", "DL", "another"]
        assert described["beta"]["type"] == "boolean"
        assert described["beta"]["values"] == ["false", "true"]
        assert described["beta"]["segments"]["values"] == ["stable", "beta"]
        assert described["words"]["letters"]["alphabet"] == "text"
        assert service.ask("/v1/metrics/words").get_json()["discovers"]
        assert described["words"]["first_day"] is None
        listed = {each["name"]: each for each in service.ask("/v1/metrics").get_json()["metrics"]}
        assert listed["wait"]["range"] == [0, 5]
        assert "range" not in listed["words"]


def test_the_newest_version_comes_first(service, metric):
    service.clock.epoch = TODAY + 1
    service.register(REGISTRY.replace('"dark", "system"', '"dark", "sepia", "system"'))
    newer, older = metric("theme")["versions"]
    assert newer["values"] == ["light", "dark", "sepia", "system"]
    assert newer["registered"] > older["registered"]


def test_of_versions_of_one_day_the_one_that_was_registered_last_is_the_newest(service):
    service.register(REGISTRY.replace('"dark", "system"', '"dark", "sepia", "system"'))
    details = service.ask("/v1/metrics/theme").get_json()
    newer, older = details["versions"]
    assert newer["values"] == ["light", "dark", "sepia", "system"]
    assert newer["registered"] == older["registered"]
    listed = convert(service.ask("/v1/metrics").get_json()["metrics"], list[Metric])
    whole = whole_metric([each for each in listed if each.name == "theme"])
    assert whole.version == newer["version"]


def test_the_list_says_from_when_to_when_there_are_reports(service):
    service.send(upload(b"\x01" * 30, epoch=TODAY - 2))
    service.counts()
    service.send(upload(b"\x01" * 30))  # waits to be counted
    listed = {each["name"]: each for each in service.ask("/v1/metrics").get_json()["metrics"]}
    assert (listed["theme"]["first_day"], listed["theme"]["last_day"]) == (
        "2024-10-02",
        "2024-10-04",
    )
    assert listed["late"]["first_day"] is None


def test_reports_of_an_excluded_key_have_no_days(service):
    service.send(upload(b"\x01" * 30))
    (key,) = [key for key in service.store.keys.all() if key.scope == "batch"]
    service.http.post(
        f"/v1/keys/{key.id}/exclude", headers={"Authorization": f"Bearer {service.admin}"}
    )
    assert service.ask("/v1/metrics/theme").get_json()["versions"][0]["last_day"] is None


@pytest.mark.parametrize("path", ["thene", "thene/estimate", "thene/health", "Theme/series"])
def test_a_mistyped_metric_is_met_with_the_one_that_was_meant(service, path):
    detail = problem(service.ask(f"/v1/metrics/{path}"), 404, "unknown_metric")["detail"]
    assert "Did you mean 'theme'?" in detail
    assert "deniable metrics list" in detail


def test_a_mistyped_value_is_met_with_the_one_that_was_meant(service):
    service.send(upload(b"\x01" * 30))
    for answer in (
        service.ask("/v1/metrics/theme/series?value=Drak"),
        service.ask("/v1/metrics/theme/estimate", method="POST", json={"candidates": ["Drak"]}),
        service.ask("/v1/metrics/theme/estimate", method="POST", json={"combined": ["Drak"]}),
    ):
        detail = problem(answer, 422, "estimate_refused")["detail"]
        assert "must be one of light, dark, system, got 'Drak'. Did you mean 'dark'?" in detail
        assert "deniable metrics show theme" in detail


def test_a_mistyped_key_and_version_are_met_with_those_there_are(service):
    service.send(upload(b"\x01" * 30))
    no_id = problem(service.ask("/v1/metrics/theme/estimate?version=x"), 400, "malformed_question")
    assert "version must be the id of a version" in no_id["detail"]
    digest = service.ask("/v1/metrics/theme").get_json()["versions"][0]["version"]
    wrong = digest[:11] + ("0" if digest[11] != "0" else "1")
    asked = service.ask(f"/v1/metrics/theme/estimate?version={wrong}")
    detail = problem(asked, 400, "malformed_question")["detail"]
    assert f"Did you mean '{digest[:12]}'?" in detail
