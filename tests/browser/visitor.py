"""Somebody who looks at pages, and notices whatever is wrong with them."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.repetitions import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

WIDTHS: Final = (320, 768, 1280)
HEIGHT: Final = 900
PATIENCE_MILLISECONDS: Final = 120_000
"""A slow machine is not a failure."""
SCHEMES: Final = ("light", "dark")
LAYOUT: Final = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")
AXE_RUN: Final = """() => axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
    preload: location.protocol !== "file:",
})"""


@cache
def axe() -> str:
    """The script of axe-core."""
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


class Tab:
    """One tab of a browser.

    Args:
        page: of Playwright.
        home: the address of the server, without a slash at its end.

    Attributes:
        page: of Playwright.
        problems: what went wrong while the tab was open: errors in the console, which names
            violations of the policy too, and requests to other hosts.
    """

    def __init__(self, page: Page, home: str) -> None:
        self.page = page
        self.problems: list[str] = []
        self._home = home
        self._refused: set[str] = set()
        page.on("console", self._read_console)
        page.on("pageerror", lambda error: self.problems.append(f"script failed: {error}"))
        page.on("request", self._notice_request)

    def open(self, path: str, status: int = 200) -> None:
        """Goes to a page that answers with a status."""
        if status >= 400:
            self.expect_refusal(path)
        answer = self.page.goto(self._home + path)
        assert answer is not None
        assert answer.status == status, self.page.locator("main").inner_text()

    def expect_refusal(self, path: str) -> None:
        """Lets the console say that the server has refused a page."""
        self._refused.add(self._home + path)

    def sign_in(self, token: str) -> None:
        """Signs in with a token; what is shown then is the first page."""
        self.open("/sign-in")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self._home}/")

    def check(self) -> None:
        """Fails if anything went wrong."""
        assert not self.problems, "\n".join(self.problems)

    def check_layout(self, folder: Path | None = None, name: str = "") -> None:
        """Fails if the page does not fit the window, in three widths; takes screenshots.

        Args:
            folder: for the screenshots; None for none.
            name: of the page.
        """
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            self.problems += [f"{width} px: {each}" for each in self.page.evaluate(LAYOUT)]
            for scheme in SCHEMES if folder is not None else ():
                assert folder is not None
                self.page.emulate_media(color_scheme=scheme)
                self.page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)

    def check_access(self) -> None:
        """Fails if axe-core finds a violation: light on a phone, and dark on a wide screen.

        In the small form every second page is looked at in one of the two, the others in the other.
        """
        self.page.evaluate(axe())
        looks = list(zip((WIDTHS[0], WIDTHS[-1]), SCHEMES, strict=True))
        if SMALL:
            looks = [looks[len(self.page.url.removeprefix(self._home)) % 2]]
        for width, scheme in looks:
            self.page.set_viewport_size({"width": width, "height": HEIGHT})
            self.page.emulate_media(color_scheme=scheme)
            for found in self.page.evaluate(AXE_RUN)["violations"]:
                self.problems += [f"{width} px, {scheme}: {each}" for each in _described(found)]

    def _read_console(self, message: ConsoleMessage) -> None:
        expected = (
            message.location["url"] in self._refused
            and "the server responded with a status of" in message.text
        )
        if message.type in ("error", "warning") and not expected:
            self.problems.append(f"console: {message.text}")

    def _notice_request(self, request: Request) -> None:
        if not request.url.startswith(self._home + "/"):
            self.problems.append(f"request to another host: {request.url}")


def _described(found: dict[str, Any]) -> Iterator[str]:
    for node in found["nodes"]:
        yield f"{found['id']} ({found['help']}): {node['html'][:200]} {node['failureSummary']}"


@contextmanager
def tab(browser: Browser, home: str, **options: Any) -> Iterator[Tab]:
    """A tab for the length of a block, which must show no problem.

    Args:
        browser: where.
        home: the server's address.
        **options: of Playwright's contexts, such as ``storage_state``.
    """
    context: BrowserContext = browser.new_context(
        viewport={"width": WIDTHS[-1], "height": HEIGHT}, **options
    )
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    try:
        opened = Tab(context.new_page(), home)
        yield opened
        opened.check()
    finally:
        context.close()
