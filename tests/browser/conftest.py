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
    from collections.abc import Callable, Iterator, Mapping

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


@pytest.fixture(scope="package")
def sessions(browser: Browser, home: str, deployment: Deployment) -> Mapping[str, Any]:
    """What a browser keeps of those who have signed in, by the name of their token."""
    kept: dict[str, Any] = {"": None}
    for name in deployment.tokens:
        with tab(browser, home) as signing_in:
            signing_in.sign_in(deployment.tokens[name])
            kept[name] = signing_in.page.context.storage_state()
    return kept


@pytest.fixture
def visit(browser: Browser, home: str, sessions: Mapping[str, Any]) -> Callable[..., Any]:
    """Opens a tab of somebody who has signed in with the token of that name, or of nobody."""

    def open_tab(token: str = "read", **options: Any) -> Any:
        return tab(browser, home, storage_state=sessions[token], **options)

    return open_tab
