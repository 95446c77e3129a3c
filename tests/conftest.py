"""Settings of all tests, and what they share: a PostgreSQL server, and the wheel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgresql import Postgresql

# The same examples everywhere, and no clock: a slow machine is not a failure.
settings.register_profile(
    "deniable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("deniable")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgresql]:
    """A real server, started once; where there is none, tests are skipped, or fail in CI."""
    from tests.postgresql import MISSING, REQUIRED, Postgresql, binaries

    if binaries() is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{MISSING}, and {REQUIRED} is set")
        pytest.skip(MISSING)
    # The tests kill processes, not machines: what the system was given is safe.
    server = Postgresql(fsync="off", full_page_writes="off", shared_buffers="32MB")
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, built from the sdist, and the sdist."""
    from tests.installed import build

    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    """The wheel, built from the sdist."""
    (path,) = distributions.glob("*.whl")
    return path
