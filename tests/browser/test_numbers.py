"""What a page draws, says and hands out are the numbers of the API."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.end_to_end import asking

DAYS = "since=2024-09-09&until=2024-10-04"
DRAWN = """() => [...document.querySelectorAll(":is(#values, #untold) tbody tr")].map((row) => ({
    label: row.querySelector("th").textContent,
    said: row.querySelector("td[data-column^=share]").textContent,
    band: (({ left, right }) => [left, right])(
        (row.querySelector("svg.bar rect.interval") || row).getBoundingClientRect()
    ),
}))"""
SERIES = """() => [...document.querySelectorAll(".broadest svg.followed a.period")].map((each) => ({
    said: each.getAttribute("aria-label"),
    shown: each.querySelector(".said").textContent,
    at: each.querySelector(".target").getBoundingClientRect().left,
}))"""


def asked(home, deployment, path):
    headers = {"Authorization": f"Bearer {deployment.tokens['read']}"}
    return asking.get(f"{home}{path}", headers=headers).raise_for_status()


@pytest.mark.parametrize("metric", ["theme", "plugin"])
def test_the_ends_of_drawn_intervals_are_those_of_the_api(visit, home, deployment, metric):
    estimate = asked(home, deployment, f"/v1/metrics/{metric}/estimate?{DAYS}").json()
    shares = [row for row in estimate["numbers"] if row["measure"] == "share"]
    rows = {row["value"]: row for row in shares if row["told"]}
    with visit() as tab:
        tab.open(f"/metric/{metric}?period=own&compare=none&{DAYS}")
        drawn = tab.page.evaluate(DRAWN)
    pairs = []
    for each in drawn:
        row = rows.get(each["label"])
        if row is None:
            continue
        pairs += zip((row["low"], row["high"]), each["band"], strict=True)
        low, high = map(float, re.findall(r"[0-9.]+", each["said"]))
        assert low <= 100 * row["low"] + 1e-9
        assert high >= 100 * row["high"] - 1e-9
        assert high - low <= 100 * (row["high"] - row["low"]) + 2
    assert len(pairs) >= 6
    numbers, pixels = np.array(pairs).T
    scale = np.polyfit(numbers, pixels, 1)
    assert scale[0] > 0
    np.testing.assert_allclose(np.polyval(scale, numbers), pixels, atol=0.5)


def test_a_file_is_the_answer_of_the_api(visit, home, deployment):
    with visit() as tab:
        tab.open(f"/metric/theme?period=own&compare=none&{DAYS}")
        tab.page.locator("#export > summary").click()
        with tab.page.expect_download() as started:
            tab.page.locator("#export").get_by_role("link", name="CSV").first.click()
        content = started.value.path().read_bytes()
    assert content == asked(home, deployment, f"/v1/metrics/theme/estimate.csv?{DAYS}").content


def test_a_hundred_thousand_values_are_looked_for_and_some_shown(visit):
    with visit() as tab:
        sizes = []
        tab.page.on("response", lambda answer: sizes.append(len(answer.body())))
        tab.open("/metric/emoji?list=saved%3Amany")
        assert tab.page.locator("tbody tr").count() > 0
    assert sizes[0] < 400_000
