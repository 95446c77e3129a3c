"""A picture of the page, as the README shows it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from field.clocked_server import READ

if TYPE_CHECKING:
    from pathlib import Path

    from demo.server import Server

NEEDED: Final = "--screenshot needs Playwright and Chromium: make test; make install PART=chromium"
WIDTH: Final = 1_080
HEIGHT: Final = 890


def can_be_taken() -> bool:
    """Whether there is a browser, and what drives it."""
    try:
        import playwright.sync_api  # noqa: F401  looked for
    except ImportError:
        return False
    return shutil.which("chromium") is not None


def take(server: Server, file: Path) -> list[Path]:
    """Signs in and draws what the window shows first, light and dark.

    Args:
        server: the demo's.
        file: ``page.png`` is drawn light, and ``page-dark.png`` beside it dark.

    Returns:
        The files.
    """
    from playwright.sync_api import sync_playwright

    files = [file, file.with_stem(f"{file.stem}-dark")]
    with sync_playwright() as playwright:
        # As root, in a container, Chromium has no sandbox; it opens nothing but the demo's page.
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{server.endpoint}/sign-in")
        page.get_by_label("Token").fill(server.keys[READ])
        page.keyboard.press("Enter")
        page.wait_for_url(f"{server.endpoint}/")
        page.emulate_media(color_scheme="light")
        page.screenshot(path=files[0])
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=files[1])
        browser.close()
    return files
