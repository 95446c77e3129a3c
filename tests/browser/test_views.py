"""A view is kept and passed on by keyboard, without script, and a link shows it to strangers."""

from __future__ import annotations

import re

LINK = re.compile(r"http://\S+(/shared/[A-Za-z0-9_-]{43})")


def shared(tab):
    """Makes a link from the page of a metric, by keyboard; returns its path."""
    tab.open("/metric/plugin?period=4-weeks")
    tab.page.get_by_role("link", name="Save or share").focus()
    tab.page.keyboard.press("Enter")
    tab.page.get_by_label("It works for").focus()
    tab.page.get_by_role("button", name="Make a link").focus()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/views/share")
    return LINK.search(tab.page.locator("main").inner_text())[1]


def test_a_view_is_saved_opened_and_deleted_by_keyboard_without_script(visit):
    with visit(java_script_enabled=False) as tab:
        tab.open("/metric/latency?period=7d")
        tab.page.get_by_role("link", name="Save or share").focus()
        tab.page.keyboard.press("Enter")
        tab.page.get_by_label("Name").focus()
        tab.page.keyboard.type("Latency lately")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**done=saved")
        tab.open("/")
        tab.page.get_by_role("link", name="Latency lately").focus()
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/metric/latency?period=7d")
        tab.open("/views")
        line = tab.page.get_by_role("listitem").filter(has_text="Latency lately")
        line.get_by_role("button", name="Delete").focus()
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**done=deleted")
        assert tab.page.get_by_role("link", name="Latency lately").count() == 0


def test_whoever_has_a_link_sees_one_view_in_every_window(visit, screenshots):
    with visit() as tab:
        link = shared(tab)
        tab.check_layout(screenshots, "share-link-made")
        tab.check_access()
        tab.open("/views?of=%2Fmetric%2Ftheme&since=2024-09-01&until=2024-09-28&by=day")
        tab.check_layout(screenshots, "view-to-save")
        tab.check_access()
    with visit("") as stranger:
        stranger.open(link)
        assert "The plugin & its" in stranger.page.locator("h1").inner_text()
        assert stranger.page.locator("main a, form, button:visible").count() == 0
        assert stranger.page.context.cookies() == []
        stranger.check_layout(screenshots, "shared")
        stranger.check_access()
        stranger.page.get_by_role("link", name="Deniable").click()
        stranger.page.wait_for_url("**/sign-in")
        assert stranger.page.evaluate("document.referrer") == ""
