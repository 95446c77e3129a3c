"""Questions about metrics that several versions of an application report, over HTTP."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from msgspec import convert

from deniable_aggregator.answers.administration import Metric
from deniable_aggregator.answers.trends import Series
from deniable_aggregator.answers.versions import whole_metric
from deniable_aggregator.cli.render.series_table import series_table
from deniable_aggregator.media.console import UNBROKEN
from deniable_shared import registry, wire
from tests import one_metric
from tests.aggregator.printed import printed
from tests.aggregator.service import TODAY, problem

OLD = 'type = "category"\nvalues = ["light", "dark"]\nother = "another"\nepsilon = 4\n'
NEW = 'type = "category"\nvalues = ["light", "dark", "sepia"]\nother = "another"\nepsilon = 2\n'
PATH = "/v1/metrics/m"


def send(service, fields, payload, epoch=TODAY):
    """Registers a version, and sends reports; returns its id."""
    text = one_metric.HEAD + fields
    assert service.register(text).status_code == 200
    spec = registry.parse(text).metrics["m"].spec
    part = wire.Part(spec.digest, epoch, payload)
    upload = wire.Upload(secrets.token_bytes(16), (part,))
    assert service.send(wire.encode(upload)).status_code == 204
    return spec.digest.hex()


def shares(rows):
    return {row["value"]: row["share"] for row in rows}


def test_each_version_is_there_by_itself_about_its_own_values(service):
    old = send(service, OLD, b"\0" * 30 + b"\1" * 20 + b"\2" * 50, TODAY - 2)
    new = send(service, NEW, b"\0" * 60 + b"\1" * 20 + b"\2" * 15 + b"\3" * 5)
    answer = service.ask(f"{PATH}/estimate?per_version=true").get_json()
    versions = {each["version"]: each for each in answer["per_version"]}
    assert set(versions) == {old, new}
    assert versions[old]["reports"] == versions[new]["reports"] == 100
    assert versions[old]["last_day"] < versions[new]["first_day"]
    assert list(shares(versions[old]["estimates"])) == ["light", "dark", "another"]
    assert list(shares(versions[new]["estimates"])) == ["light", "dark", "sepia", "another"]
    for version in (old, new):
        alone = service.ask(f"{PATH}/estimate?version={version[:8]}").get_json()
        assert shares(alone["estimates"]) == shares(versions[version]["estimates"])
    both = shares(answer["estimates"])
    apart = [shares(versions[version]["estimates"])["light"] for version in (old, new)]
    assert both["light"] == pytest.approx(sum(apart) / 2)
    assert "per_version" not in service.ask(f"{PATH}/estimate").get_json()
    days = service.ask(f"{PATH}/series?version={old}").get_json()["periods"]
    assert [day["reports"] for day in days] == [100]


@pytest.mark.one_store
def test_a_version_is_named_by_the_beginning_of_its_id(service):
    old = send(service, OLD, b"\0" * 10)
    send(service, NEW, b"\0" * 10)
    wrong = "ffff" if old[:4] != "ffff" else "0000"
    refused = service.ask(f"{PATH}/estimate?version={wrong}")
    problem(refused, 400, "malformed_question")
    assert old[:12] in refused.get_json()["detail"]
    problem(service.ask(f"{PATH}/estimate?version=theme"), 400, "malformed_question")


def test_a_metric_with_a_new_type_is_answered_about_that_and_says_what_is_left_out(service):
    """Shares and means do not add up; today's answer would be a refusal for as long as both run."""
    old = send(service, OLD, b"\0" * 30 + b"\1" * 20, TODAY - 2)
    send(service, 'type = "boolean"\nepsilon = 2\n', b"\1" * 40 + b"\0" * 10)
    answer = service.ask(f"{PATH}/estimate").get_json()
    assert (answer["reports"], list(shares(answer["estimates"]))) == (50, ["true"])
    (notice,) = [each for each in answer["notices"] if each["code"] == "other_type"]
    assert notice["severity"] == "warning"
    for said in ("50 reports", "category", "boolean", old[:12]):
        assert said in notice["message"]
    alone = service.ask(f"{PATH}/estimate?version={old[:12]}").get_json()
    assert (alone["reports"], len(alone["estimates"])) == (50, 3)
    assert "other_type" not in {each["code"] for each in alone["notices"]}
    series = service.ask(f"{PATH}/series").get_json()
    assert "other_type" in {each["code"] for each in series["notices"]}
    assert series["reports"] == 50


@pytest.mark.one_store
def test_the_robust_check_of_unlike_versions_is_of_the_share_of_all(service):
    """The older half has light in nine of ten, the newer in one: half of all, as the share says."""
    complete = 'type = "category"\nvalues = ["light", "dark"]\ncomplete = true\nepsilon = '
    generator = np.random.default_rng(6)
    for epsilon, light in ((4, 0.9), (2, 0.1)):
        spec = registry.parse(f"{one_metric.HEAD}{complete}{epsilon}\n").metrics["m"].spec
        support = spec.mechanism.support
        chance = support.q + light * (support.p - support.q)
        for day in range(5):
            payload = (generator.random(1_000) > chance).astype(np.uint8).tobytes()
            send(service, f"{complete}{epsilon}\n", payload, TODAY - day)
    light = service.ask(f"{PATH}/estimate").get_json()["estimates"][0]
    assert light["robust_check"]["slices"] == 10
    assert light["robust_check"]["low"] < 0.5 < light["robust_check"]["high"]
    assert light["robust_check"]["high"] - light["robust_check"]["low"] < 0.1


def test_of_two_versions_of_one_day_the_one_that_was_registered_last_is_the_newest(service):
    old = send(service, OLD, b"\0" * 10)
    new = send(service, NEW, b"\0" * 10)
    assert [each["version"] for each in service.ask(PATH).get_json()["versions"]] == [new, old]
    refused = service.ask(f"{PATH}/estimate?version=abcd")
    detail = problem(refused, 400, "malformed_question")["detail"]
    assert detail.index(new[:12]) < detail.index(old[:12])
    listed = service.ask("/v1/metrics").get_json()["metrics"]
    versions = [convert(each, Metric) for each in listed if each["name"] == "m"]
    assert whole_metric(versions).version == new
    number = send(service, 'type = "number"\nrange = [0, 1]\nepsilon = 1\n', b"\1" * 10, TODAY - 1)
    assert service.ask(PATH).get_json()["versions"][0]["version"] == number
    assert service.ask(f"{PATH}/estimate").get_json()["versions"][0]["version"] == number


@pytest.mark.one_store
def test_a_series_says_beside_a_value_that_some_versions_know_of_how_many_reports_it_is(service):
    send(service, OLD, b"\0" * 30 + b"\1" * 20)
    send(service, NEW, b"\0" * 60 + b"\1" * 20 + b"\2" * 15 + b"\3" * 5)
    series = convert(service.ask(f"{PATH}/series").get_json(), Series)
    (period,) = series.periods
    possible = {each.value: each.possible for each in period.estimates}["sepia"]
    most = f"to {possible.high:.1%}"
    lines = printed(series_table(series), UNBROKEN).splitlines()
    (light,) = (line for line in lines if "light" in line)
    (sepia,) = (line for line in lines if "sepia" in line)
    assert "  all  " in light
    assert "  100  " in sepia
    assert most in sepia
    stacked = printed(series_table(series, 60), 60)
    assert " of 100" in stacked
    assert most in stacked
    lists = {"combined": ["light", "sepia"]}
    both = convert(service.ask(f"{PATH}/series", method="POST", json=lists).get_json(), Series)
    most = f"to {both.periods[0].combined.possible.high:.1%}"
    (together,) = (
        line for line in printed(series_table(both), UNBROKEN).splitlines() if "+" in line
    )
    assert "  100  " in together
    assert most in together
