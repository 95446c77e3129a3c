"""Values with another name since a version: answers tell all versions by the new one."""

from __future__ import annotations

import json

import pytest
from msgspec import convert

from deniable_aggregator.answers.registry_history import (
    BrokenHistoryError,
    RegistryHistory,
    check_history,
)
from deniable_aggregator.keeping.audit import AuditAction
from deniable_aggregator.telling.administration import history_table
from deniable_shared import registry
from deniable_shared.errors import RegistryError
from tests import one_metric
from tests.aggregator.api.test_comparability import CHANGE, PATH, Devices, compared
from tests.aggregator.served import codes, number, numbers
from tests.aggregator.service import problem
from tests.aggregator.trends.days import day

THEMES = 'type = "category"\nvalues = [{}]\ncomplete = true\nepsilon = 6\n'
EARLIER = THEMES.format('"light", "system", "dark"')
LATER = THEMES.format('"light", "dark", "auto"')
RENAMED = LATER + 'renamed = { system = "auto" }\n'
HELD = ["light", "dark", "system"] * 200
HELD_LATER = [value.replace("system", "auto") for value in HELD]


@pytest.fixture
def devices(service):
    return Devices(service)


def theirs(fields):
    return registry.parse(one_metric.HEAD + fields).metrics["m"]


def test_a_new_name_is_part_of_no_digest():
    assert theirs(LATER).spec == theirs(RENAMED).spec
    assert theirs(RENAMED).renamed == (("system", "auto"),)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ('{ system = "sepia" }', "renamed.system must be one of values, got 'sepia'"),
        ('{ dark = "auto" }', "renamed.dark must be left out: a value that is in values"),
        ('{ system = "" }', "must be a name of at least one character"),
    ],
)
def test_a_name_that_fits_no_value_is_refused(names, message):
    with pytest.raises(RegistryError, match=message):
        theirs(LATER + f"renamed = {names}\n")


@pytest.mark.one_store
def test_a_renamed_value_is_compared_with_itself_and_nothing_has_changed(devices):
    devices.send(EARLIER, HELD, *range(-14, -7))
    devices.send(RENAMED, HELD_LATER, *range(-7, 0))
    found = compared(devices.service).get_json()
    differences = numbers(found, "difference in share")
    assert {row["value"] for row in differences} == {"light", "dark", "auto"}
    assert not any(row["told"] for row in differences)
    assert "not_compared" not in found["head"]
    assert "values_renamed" not in codes(found)
    (notice,) = [each for each in found["notices"] if each["code"] == "new_names"]
    assert notice["message"] == (
        "Before: Told by new names, as the registry says: system is auto now."
    )


@pytest.mark.one_store
def test_all_answers_go_by_the_new_name(devices):
    service = devices.service
    old = devices.send(EARLIER, HELD, *range(-14, -7))
    new = devices.send(RENAMED, HELD_LATER, *range(-7, 0))
    whole = service.ask(f"{PATH}/estimate?split=version").get_json()
    shares = numbers(whole, "share")
    assert {row["value"] for row in shares} == {"light", "dark", "auto"}
    together = number(whole, "share", value="auto")
    assert abs(together["estimate"] - 1 / 3) < 0.02
    assert whole["head"]["reports"] == 8_400
    by_week = service.ask(f"{PATH}/series?by=week&value=auto").get_json()
    assert all(abs(row["estimate"] - 1 / 3) < 0.05 for row in numbers(by_week, "share"))
    rows = service.ask(f"{PATH}/estimate.csv").get_data(as_text=True)
    assert "auto" in rows
    assert "system" not in rows
    why = {"before": f"{day(-14)}..{day(-8)}", "after": f"{day(-7)}..{day(-1)}", "why": "version"}
    assert service.ask(CHANGE, query_string=why).status_code == 200
    sides = service.ask(f"{PATH}/compare?version={old[:12]}&version={new[:12]}").get_json()
    assert not any(row["told"] for row in numbers(sides, "difference in share"))
    assert len(numbers(sides, "difference in share")) == 3
    details = service.ask(PATH).get_json()
    assert details["renamed"] == {"system": "auto"}
    assert json.loads(details["versions"][1]["canonical"])["values"] == ["light", "system", "dark"]


@pytest.mark.one_store
def test_an_answer_follows_a_name_that_is_given_later_and_taken_back(devices):
    service = devices.service
    devices.send(EARLIER, HELD, *range(-14, -7))
    asked = f"{PATH}/estimate"
    before = service.ask(asked)
    assert {row["value"] for row in numbers(before.get_json(), "share")} == {
        "light", "system", "dark",
    }  # fmt: skip
    service.register(one_metric.HEAD + RENAMED)
    renamed = service.ask(asked)
    assert {row["value"] for row in numbers(renamed.get_json(), "share")} == {
        "light", "auto", "dark",
    }  # fmt: skip
    assert renamed.headers["ETag"] != before.headers["ETag"]
    service.register(one_metric.HEAD + LATER)
    again = {row["value"] for row in numbers(service.ask(asked).get_json(), "share")}
    assert again == {"light", "system", "dark"}


@pytest.mark.one_store
def test_two_values_never_become_one(devices):
    both = THEMES.format('"light", "system", "auto"')
    version = devices.send(both, ["light", "system", "auto"] * 20, -9)
    refused = devices.service.register(one_metric.HEAD + RENAMED)
    (detail,) = problem(refused, 422, "registry_refused")["problems"]
    assert "'system' and 'auto'" in detail
    assert version[:12] in detail
    assert "combined" in detail
    shares = numbers(devices.service.ask(f"{PATH}/estimate").get_json(), "share")
    assert {row["value"] for row in shares} == {"light", "system", "auto"}


@pytest.mark.one_store
def test_values_with_segments_are_renamed_in_every_segment(devices):
    channel = 'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'
    versions = [(EARLIER, "system", range(-14, -7)), (RENAMED, "auto", range(-7, 0))]
    for fields, name, days in versions:
        pairs = [(value, segment) for value in ("light", name) for segment in ("stable", "beta")]
        devices.send(fields + channel, pairs * 150, *days)
    query = {"before": f"{day(-14)}..{day(-8)}", "after": f"{day(-7)}..{day(-1)}"}
    found = devices.service.ask(CHANGE, query_string={**query, "segment": "beta"}).get_json()
    row = number(found, "difference in share", value="auto")
    assert not row["told"]
    assert abs(row["before"] - 0.5) < 0.05


@pytest.mark.one_store
def test_history_and_audit_log_have_the_names(devices):
    service = devices.service
    service.register(one_metric.HEAD + EARLIER)
    service.register(one_metric.HEAD + RENAMED)
    service.register(one_metric.HEAD + LATER)
    history = convert(service.ask("/v1/registry-history").get_json(), RegistryHistory)
    check_history(history)
    own = [entry for entry in history.entries if entry.metric == "m"]
    assert [entry.renamed for entry in own] == [{}, {"system": "auto"}, {}]
    assert [entry.act for entry in own] == [
        "registered", "registered", "limits changed",
    ]  # fmt: skip
    told = [row.cells for row in history_table(history).rows]
    assert any("system is auto now" in str(cells) for cells in told)
    own[1].renamed["system"] = "dark"
    with pytest.raises(BrokenHistoryError, match=f"entry {own[1].sequence}"):
        check_history(history)
    registered = [
        json.loads(each.details)["metrics"]
        for each in service.store.audit.entries()
        if each.act == AuditAction.METRICS_REGISTER
    ]
    assert [[of["renamed"] for of in some if of["name"] == "m"] for some in registered][-3:] == [
        [{}], [{"system": "auto"}], [{}],
    ]  # fmt: skip
