"""One store, one server and one browser for all tests of pages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser import chromium
from tests.browser.deployment import Deployment, build
from tests.browser.serving import serving
from tests.browser.visitor import tab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs the browser."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("service")
            item.add_marker("browser")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium; where there is none, tests are skipped, or fail in CI."""
    if chromium.executable() is None:
        if os.environ.get(chromium.REQUIRED):
            pytest.fail(f"{chromium.MISSING}, and {chromium.REQUIRED} is set")
        pytest.skip(chromium.MISSING)
    with chromium.browser() as started:
        yield started


@pytest.fixture(scope="package")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    """Eight weeks of reports."""
    return build(tmp_path_factory.mktemp("deployment"))


@pytest.fixture(scope="package")
def home(deployment: Deployment) -> Iterator[str]:
    """The server's address."""
    with serving(deployment.store) as address:
        yield address


@pytest.fixture(scope="session")
def screenshots() -> Path | None:
    """Where SCREENSHOTS says that pictures of all pages are to go."""
    name = os.environ.get("SCREENSHOTS")
    if not name:
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def signed_in(browser: Browser, home: str, deployment: Deployment) -> Callable[..., Any]:
    """Opens a tab of somebody who has signed in with the token of that name."""

    def open_tab(token: str = "read", **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {deployment.tokens[token]}"} if token else {}
        return tab(browser, home, extra_http_headers=headers, **options)

    return open_tab
