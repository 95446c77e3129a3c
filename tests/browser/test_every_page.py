"""Every page, narrow and wide, light and dark: nothing is cut, loaded from elsewhere or refused."""

from __future__ import annotations

import pytest

PAGES = {
    "sign-in": ("/sign-in", "", 200),
    "sign-in-again": ("/sign-in", "read", 200),
    "unknown-page": ("/nothing", "read", 404),
    "unknown-metric": ("/metric/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "read", 404),
    "overview": ("/", "read", 200),
    "overview-empty": ("/", "empty", 200),
    "health": ("/health?since=-14d", "read", 200),
    "health-metric": ("/health?metric=theme&since=-14d", "admin", 200),
    "metric": ("/metric/theme", "read", 200),
    "metric-wrong": ("/metric/theme?by=weak&since=never", "read", 400),
    "plan": ("/plan", "read", 200),
    "plan-strings": ("/plan?type=string&discover=yes", "read", 200),
    "privacy": ("/privacy", "read", 200),
    "operations": ("/operations", "admin", 200),
    "key-of-nobody": ("/keys/nobody/exclude", "admin", 404),
    "plan-wrong": ("/plan?epsilon=-1", "read", 200),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_window_and_has_no_barrier(visit, screenshots, name):
    path, token, status = PAGES[name]
    with visit(token) as tab:
        tab.open(path, status)
        tab.check_layout(screenshots, name)
        tab.check_access()
