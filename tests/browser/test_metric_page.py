"""The page of a metric: one large picture, whose weeks and values lead on, and other metrics."""

from __future__ import annotations

import re

import pytest

from tests.end_to_end import asking

PHONE = {"width": 390, "height": 844}
SCREENS = 3
MOST_BYTES = 60_000
PERIODS = ".broadest svg.followed a.period"
QUIET = "/metric/theme?period=own&since=2024-08-12&until=2024-09-08&compare=none&by=week"
"""Days of which nothing has to be said before the numbers."""


def shown_days(tab):
    return [tab.page.locator(f"input[name={each}]").input_value() for each in ("since", "until")]


@pytest.mark.parametrize("scripted", [True, False])
def test_a_week_of_the_large_picture_opens_that_week(visit, scripted):
    with visit(java_script_enabled=scripted) as tab:
        tab.open(QUIET)
        tab.page.locator(f"{PERIODS} .target").nth(2).click()
        tab.page.wait_for_url("**since=2024-08-19*")
        assert shown_days(tab) == ["2024-08-19", "2024-08-25"]


def test_periods_are_gone_through_and_opened_by_keyboard(visit):
    with visit() as tab:
        tab.open(QUIET)
        tab.page.locator(PERIODS).last.focus()
        tab.page.keyboard.press("ArrowLeft")
        said = tab.page.locator(f"{PERIODS}:focus + .said")
        assert said.text_content().startswith("Week of 2024-08-26: ")
        assert said.evaluate("each => getComputedStyle(each).visibility") == "visible"
        tab.page.keyboard.press("Home")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**until=2024-08-11*")
        assert shown_days(tab) == ["2024-08-05", "2024-08-11"]


def test_the_number_of_a_period_at_the_pointer_is_that_of_the_api(visit, home, deployment):
    days = "since=2024-08-05&until=2024-09-08&by=week"
    headers = {"Authorization": f"Bearer {deployment.tokens['read']}"}
    answer = asking.get(f"{home}/v1/metrics/theme/series?{days}", headers=headers).json()
    shares = {
        str(answer["head"]["periods"][each.get("period", 0)]["since"]): each
        for each in answer["numbers"]
        if each["measure"] == "share" and each["value"] == "light"
    }
    with visit() as tab:
        tab.open(QUIET)
        periods = tab.page.locator(PERIODS)
        assert periods.count() == len(shares) == 5
        for place in range(periods.count()):
            periods.nth(place).locator(".target").hover()
            said = tab.page.locator(f"{PERIODS} + .said").nth(place)
            assert said.is_visible()
            found = re.search(r"([\d-]{10}): ([\d.]+) to ([\d.]+)%", said.text_content())
            number = shares[found[1]]
            low, high = float(found[2]), float(found[3])
            assert 100 * number["low"] - 1 <= low <= 100 * number["low"] + 1e-9
            assert 100 * number["high"] - 1e-9 <= high <= 100 * number["high"] + 1


def test_a_value_leads_to_its_own_series_which_stays_when_days_are_chosen(visit):
    label = ".broadest svg.followed text.label"
    with visit() as tab:
        tab.open("/metric/theme")
        assert tab.page.locator(label).text_content() == "light"
        tab.page.locator("#values").get_by_role("link", name="system", exact=True).click()
        tab.page.wait_for_url("**follow=system*")
        assert tab.page.locator(label).text_content() == "system"
        tab.page.locator("select[name=compare]").select_option("none")
        tab.page.wait_for_url("**compare=none*")
        assert tab.page.locator(label).text_content() == "system"
        tab.open("/metric/plugin?follow=%3Cscript%3E")
        assert tab.page.locator("p.finding").inner_text()


def test_the_page_of_another_metric_is_about_the_same_days(visit):
    with visit() as tab:
        tab.open("/metric/theme?period=7d&compare=none&follow=dark")
        tab.page.get_by_text("Other metrics").click()
        tab.page.get_by_role("link", name="Whether the application crashed today").click()
        tab.page.wait_for_url("**/metric/crash*")
        assert tab.page.url.endswith("/metric/crash?period=7d&compare=none")


@pytest.mark.parametrize("scripted", [True, False])
@pytest.mark.parametrize(
    "path",
    [
        *(QUIET, "/metric/theme", "/metric/features", "/metric/latency", "/metric/startup_seconds"),
        "/metric/theme?split=key&why=key&compare=before",
    ],
)
def test_a_phone_shows_five_values_in_three_screens(visit, path, scripted):
    """Also with a change, what explains it, warnings, keys that stand out and events."""
    with visit(java_script_enabled=scripted) as tab:
        tab.page.set_viewport_size(PHONE)
        tab.open(path)
        closed = tab.page.locator("details.secondary")
        height = closed.first.evaluate("() => document.documentElement.scrollHeight")
        assert height <= SCREENS * PHONE["height"]
        assert closed.count()
        assert not tab.page.locator("details.secondary[open]").count()
        closed.locator("summary").first.click()
        assert closed.first.locator("p").first.is_visible()


def test_two_segments_are_compared_by_one_click(visit):
    with visit() as tab:
        tab.open("/metric/plugin")
        tab.page.get_by_role("link", name="Compare stable with <i>beta").click()
        tab.page.wait_for_url("**one=segment*")
        assert tab.page.locator("#compared").inner_text() == "channel=stable and channel=<i>beta"
        assert not tab.page.get_by_role("link", name="Compare stable with").count()


def test_what_is_closed_on_a_phone_is_open_on_a_wide_screen(visit):
    with visit() as tab:
        tab.open("/metric/theme")
        assert tab.page.locator("details.secondary[open] svg").count()


def test_the_meaning_of_marks_is_said_once(visit):
    with visit() as tab:
        tab.open("/metric/theme")
        assert tab.page.locator(".key").count() == 1
        assert tab.page.locator("main").inner_text().count("95% interval") >= 1
        assert tab.page.locator("svg g.notes").count() == 0


@pytest.mark.parametrize("path", ["/", "/metric/theme", "/metric/plugin", "/metric/features"])
def test_the_first_view_is_small(visit, path):
    with visit() as tab:
        sizes = []
        tab.page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]))
        tab.open(path)
        tab.page.wait_for_load_state("networkidle")
        assert len(sizes) >= 3
        assert sum(sizes) <= MOST_BYTES
