from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import deniable_analysis as da
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.keeping.store.backup import backup
from tests.aggregator.listening import listening
from tests.analysis.deployment import deployed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.aggregator.service import Service


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with nine weeks of reports."""
    with deployed(tmp_path_factory.mktemp("deployment") / "store.db") as service:
        yield service


@pytest.fixture(scope="session")
def url(deployment: Service) -> Iterator[str]:
    """Its address."""
    with listening(deployment.app) as url:
        yield url


@pytest.fixture(scope="session")
def connected(deployment: Service, url: str) -> Iterator[da.Project]:
    """Its metrics, over HTTP."""
    with da.connect(server=url, token=deployment.read) as project:
        yield project


@pytest.fixture(scope="session")
def copied(deployment: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of its store, alone in a folder."""
    path = tmp_path_factory.mktemp("backups") / "backup.db"
    backup(deployment.target, path, lambda *_: None)
    return path


@pytest.fixture(scope="session")
def opened(deployment: Service, copied: Path) -> Iterator[da.Project]:
    """Its metrics, from the backup."""
    with da.open(copied, today=day_of(deployment.clock.epoch)) as project:
        yield project
