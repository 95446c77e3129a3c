"""Every page, narrow and wide, light and dark: nothing is cut, loaded from elsewhere or refused."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.browser.deployment import FORGER

PAGES = {
    "sign-in": ("/sign-in", "", 200),
    "sign-in-again": ("/sign-in", "read", 200),
    "unknown-page": ("/nothing", "read", 404),
    "unknown-metric": ("/metric/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "read", 404),
    "overview": ("/", "read", 200),
    "overview-empty": ("/", "empty", 200),
    "category": ("/metric/theme", "read", 200),
    "category-compared": ("/metric/theme?compare=own&before=2024-08-12..2024-09-01", "read", 200),
    "category-without-key": (f"/metric/theme?by=day&without_key={quote(FORGER)}", "read", 200),
    "category-wrong": ("/metric/theme?since=yesterdya&period=own&by=hour", "read", 400),
    "category-split": ("/metric/theme?split=key&why=key&compare=before", "read", 200),
    "segments-compared": (
        "/metric/plugin?one=segment%3A%3Ci%3Ebeta&other=segment%3Astable",
        "read",
        200,
    ),
    "threshold": ("/metric/latency?above=100&below=1000", "read", 200),
    "hostile": ("/metric/plugin", "read", 200),
    "hostile-segment": ("/metric/plugin?segment=%3Ci%3Ebeta&by=day&top=10", "read", 200),
    "flag": ("/metric/crash", "read", 200),
    "number": ("/metric/startup_seconds", "read", 200),
    "distribution": ("/metric/latency", "read", 200),
    "pairs": ("/metric/features", "read", 200),
    "string": ("/metric/emoji", "read", 200),
    "string-list": ("/metric/emoji?list=saved%3Aemoji-and-more&values=%E2%80%AEabc", "read", 200),
    "discovered": ("/metric/search_term", "read", 200),
    "few": ("/metric/few", "read", 200),
    "silent": ("/metric/silent", "read", 200),
    "stopped": ("/metric/stopped", "read", 200),
    "health": ("/health?since=-14d", "read", 200),
    "health-metric": ("/health?metric=theme&since=-14d", "admin", 200),
    "plan": ("/plan", "read", 200),
    "plan-strings": ("/plan?type=string&discover=yes", "read", 200),
    "plan-wrong": ("/plan?epsilon=-1", "read", 200),
    "privacy": ("/privacy", "read", 200),
    "operations": ("/operations", "admin", 200),
    "operations-reader": ("/operations", "read", 200),
    "key-of-nobody": ("/keys/nobody/exclude", "admin", 404),
    "views": ("/views", "read", 200),
    "view-wrong": ("/views?of=%2F%2Fevil.example", "read", 400),
    "shared-no-more": (f"/shared/{'A' * 43}", "", 404),
    "annotations": ("/annotations", "admin", 200),
    "lists": ("/lists", "read", 200),
    "list": ("/lists/emoji-and-more", "read", 200),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_window_and_has_no_barrier(visit, screenshots, name):
    path, token, status = PAGES[name]
    with visit(token) as tab:
        tab.open(path, status)
        tab.check_layout(screenshots, name)
        tab.check_access()
