"""Questions about metrics that several versions of an application report, over HTTP."""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from msgspec import convert

from deniable_aggregator.answers.administration import Metric
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.answers.common import whole_metric
from deniable_aggregator.telling.tables import tables_of
from deniable_shared import registry, wire
from tests import one_metric
from tests.aggregator.served import codes, number, numbers, shares
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


def test_each_version_is_there_by_itself_about_its_own_values(service):
    old = send(service, OLD, b"\0" * 30 + b"\1" * 20 + b"\2" * 50, TODAY - 2)
    new = send(service, NEW, b"\0" * 60 + b"\1" * 20 + b"\2" * 15 + b"\3" * 5)
    answer = service.ask(f"{PATH}/estimate?split=version").get_json()
    versions = {each["version"]: each for each in answer["head"]["versions"]}
    assert set(versions) == {old, new}
    assert versions[old]["reports"] == versions[new]["reports"] == 100
    assert versions[old]["last_day"] < versions[new]["first_day"]
    assert list(shares(answer, version=old)) == ["light", "dark", "another"]
    assert list(shares(answer, version=new)) == ["light", "dark", "sepia", "another"]
    for version in (old, new):
        alone = service.ask(f"{PATH}/estimate?version={version[:8]}").get_json()
        assert shares(alone) == shares(answer, version=version)
    apart = [shares(answer, version=version)["light"] for version in (old, new)]
    assert shares(answer)["light"] == pytest.approx(sum(apart) / 2)
    together = service.ask(f"{PATH}/estimate").get_json()
    assert not any("version" in each for each in together["numbers"])
    days = service.ask(f"{PATH}/series?version={old}").get_json()["head"]["periods"]
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
    old = send(service, OLD, b"\0" * 60 + b"\1" * 40, TODAY - 2)
    send(service, 'type = "boolean"\nepsilon = 2\n', b"\1" * 80 + b"\0" * 20)
    answer = service.ask(f"{PATH}/estimate").get_json()
    assert (answer["head"]["reports"], list(shares(answer))) == (100, ["true"])
    (notice,) = [each for each in answer["notices"] if each["code"] == "other_version_left_out"]
    assert notice["severity"] == "warning"
    for said in ("100 reports", "category", "boolean", old[:12]):
        assert said in notice["message"]
    alone = service.ask(f"{PATH}/estimate?version={old[:12]}").get_json()
    assert (alone["head"]["reports"], len(shares(alone))) == (100, 3)
    assert "other_version_left_out" not in codes(alone)
    series = service.ask(f"{PATH}/series").get_json()
    assert "other_version_left_out" in codes(series)
    assert series["head"]["reports"] == 100


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
    row = number(service.ask(f"{PATH}/estimate").get_json(), "share", value="light")
    assert row["robust_slices"] == 10
    assert row["robust_low"] < 0.5 < row["robust_high"]
    assert row["robust_high"] - row["robust_low"] < 0.1


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
    late = send(service, 'type = "number"\nrange = [0, 1]\nepsilon = 1\n', b"\1" * 10, TODAY - 1)
    assert service.ask(PATH).get_json()["versions"][0]["version"] == late
    estimate = service.ask(f"{PATH}/estimate").get_json()
    assert estimate["head"]["versions"][0]["version"] == late


@pytest.mark.one_store
def test_a_series_says_beside_a_value_that_some_versions_know_of_how_many_reports_it_is(service):
    send(service, OLD, b"\0" * 30 + b"\1" * 20)
    send(service, NEW, b"\0" * 60 + b"\1" * 20 + b"\2" * 15 + b"\3" * 5)
    series = service.ask(f"{PATH}/series").get_json()
    (light,), (sepia,) = (numbers(series, "share", value=value) for value in ("light", "sepia"))
    assert "reports" not in light
    assert sepia["reports"] == 100
    assert sepia["possible_low"] < sepia["possible_high"]
    assert "100" in cells(series, "sepia")
    assert "100" not in cells(series, "light")
    lists = {"combined": ["light", "sepia"]}
    both = service.ask(f"{PATH}/series", method="POST", json=lists).get_json()
    assert number(both, "combined")["reports"] == 100
    assert "100" in cells(both, "light + sepia")


def cells(series, value):
    """Those of the row of a value in the table of a series."""
    (table,) = tables_of(convert(series, Answer))
    (row,) = (row for row in table.rows if value in row.cells)
    return row.cells
