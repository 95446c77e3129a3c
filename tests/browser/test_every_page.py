"""Every page, narrow and wide, light and dark: nothing is cut, loaded from elsewhere or refused."""

from __future__ import annotations

import pytest

PAGES = {
    "overview": ("/", "read", 200),
    "overview-empty": ("/", "empty", 200),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_window_and_has_no_barrier(signed_in, screenshots, name):
    path, token, status = PAGES[name]
    with signed_in(token) as tab:
        tab.open(path, status)
        tab.check_layout(screenshots, name)
        tab.check_access()
