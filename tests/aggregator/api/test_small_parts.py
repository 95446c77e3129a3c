"""Parts of the reports that are too small to be shown, or to be left out."""

from __future__ import annotations

import pytest

from tests.aggregator.api.test_comparability import CATEGORY, PATH, THEMES, Devices
from tests.aggregator.served import number
from tests.aggregator.service import problem
from tests.aggregator.trends.days import day

SEGMENTS = 'segment = { name = "channel", values = ["stable", "beta"], complete = true }\n'


@pytest.fixture
def devices(service):
    return Devices(service)


def refused(devices, path):
    detail = problem(devices.service.ask(f"{PATH}/{path}"), 422, "estimate_refused")["detail"]
    assert "what is shown or left out by itself needs 100 (part_reports)" in detail
    return detail


@pytest.mark.one_store
@pytest.mark.parametrize("form", ["estimate", "series", "health"])
def test_a_key_with_few_reports_is_not_left_out_so_that_nobody_can_subtract(devices, form):
    devices.send(CATEGORY, ["few", "many"] * 300, *range(-7, 0))
    devices.key = devices.service.key("batch")
    key = devices.key.split("_")[2]
    devices.send(CATEGORY, ["few"] * 12, -1)
    detail = refused(devices, f"{form}?without_key={key}")
    assert "has 12 reports in these days" in detail
    # Of days in which it has none, nothing is subtracted.
    before = f"{form}?without_key={key}&until={day(-2)}"
    assert devices.service.ask(f"{PATH}/{before}").status_code == 200
    devices.send(CATEGORY, ["few"] * 100, -1)
    assert devices.service.ask(f"{PATH}/{form}?without_key={key}").status_code == 200


@pytest.mark.one_store
def test_nor_is_what_is_left_without_a_key_if_that_is_little(devices):
    devices.send(CATEGORY, ["few"] * 12, -1)
    devices.key = devices.service.key("batch")
    devices.send(CATEGORY, ["few", "many"] * 300, -1)
    detail = refused(devices, f"estimate?without_key={devices.key.split('_')[2]}")
    assert "m without key" in detail


@pytest.mark.one_store
def test_a_change_looks_at_either_period(devices):
    devices.send(CATEGORY, ["few", "many"] * 300, *range(-14, 0))
    devices.key = devices.service.key("batch")
    devices.send(CATEGORY, ["few"] * 200, -9)
    devices.send(CATEGORY, ["few"] * 12, -1)
    days = f"before={day(-14)}..{day(-8)}&after={day(-7)}..{day(-1)}"
    refused(devices, f"change?{days}&without_key={devices.key.split('_')[2]}")


@pytest.mark.one_store
def test_a_version_with_few_reports_is_shown_neither_alone_nor_by_the_others(devices):
    old = devices.send(CATEGORY, ["few", "many"] * 300, -2)
    assert devices.service.ask(f"{PATH}/estimate?version={old[:12]}").status_code == 200
    new = devices.send(THEMES.format('"auto"'), ["light"] * 12, -1)
    refused(devices, f"estimate?version={new[:12]}")
    refused(devices, f"estimate?version={old[:12]}")
    only_new = f"estimate?version={new[:12]}&since={day(-1)}"
    assert devices.service.ask(f"{PATH}/{only_new}").status_code == 200  # it is all there is


@pytest.mark.one_store
@pytest.mark.parametrize("form", ["estimate", "series"])
def test_a_segment_with_few_reports_is_not_looked_into(devices, form):
    held = [("few", "stable")] * 600 + [("many", "beta")] * 30
    devices.send(CATEGORY + SEGMENTS, held, -1)
    detail = refused(devices, f"{form}?segment=beta")
    assert "segment beta has about " in detail
    assert devices.service.ask(f"{PATH}/{form}?segment=stable").status_code == 200


@pytest.mark.one_store
def test_small_metrics_are_answered_as_a_whole(devices):
    devices.send(CATEGORY, ["few", "many"] * 10, -1)
    found = devices.service.ask(f"{PATH}/estimate").get_json()
    assert 0 < number(found, "share", value="few")["estimate"] < 1
