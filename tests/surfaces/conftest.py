from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import deniable_analysis as da
from tests.aggregator.listening import listening
from tests.surfaces.asking import Asker
from tests.surfaces.deployment import deployed

if TYPE_CHECKING:
    from collections.abc import Iterator


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs the deployment, whose server looks after its table by a process."""
    for item in items:
        if HERE in item.path.parents and "asker" in getattr(item, "fixturenames", ()):
            item.add_marker("service")


@pytest.fixture(scope="package")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """Asks one deployment by every surface."""
    folder = tmp_path_factory.mktemp("surfaces")
    with (
        deployed(folder / "store.db") as service,
        listening(service.app) as url,
        da.connect(server=url, token=service.read) as project,
    ):
        yield Asker(service, url, project, folder)
