"""Debian's Chromium, which tests and the program of screenshots drive with Playwright."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

REQUIRED: Final = "DENIABLE_REQUIRE_CHROMIUM"
MISSING: Final = (
    "Chromium is not installed; make install PART=chromium installs it on Debian and Ubuntu"
)
NAMES: Final = ("chromium", "chromium-browser")
OPTIONS: Final = (
    "--no-sandbox",  # tests may run as root, in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing but this machine
)


def executable() -> str | None:
    """Where Chromium is; None if it is not installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser for the length of a block."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable(), args=[*OPTIONS])
        try:
            yield started
        finally:
            started.close()
