from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.aggregator import sorters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.aggregator.service import Service


@pytest.fixture(autouse=True)
def no_sorter_carries_large_columns() -> Iterator[None]:
    """Fails a test that is the first to run a statement whose sorter does."""
    yield
    statements = sorters.found[:]
    sorters.found.clear()
    assert statements == []


def pytest_configure() -> None:
    """Watches all statements of stores in SQLite."""
    sorters.watch()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs tests of stores on SQLite and PostgreSQL; those marked ``one_store`` on SQLite alone."""
    if "fresh_target" in metafunc.fixturenames:
        stores = ["sqlite", pytest.param("postgresql", marks=pytest.mark.service)]
        one = metafunc.definition.get_closest_marker("one_store")
        metafunc.parametrize("fresh_target", stores[:1] if one else stores, indirect=True)


@pytest.fixture
def fresh_target(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str | Path]:
    """Makes places for stores: paths, or URLs of empty schemas of a real server."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql").fresh_schema
    numbers = itertools.count()
    return lambda: tmp_path / f"store{next(numbers) or ''}.db"


@pytest.fixture
def target(fresh_target: Callable[[], str | Path]) -> str | Path:
    """A place for a store, in every kind of database."""
    return fresh_target()


@pytest.fixture(scope="session")
def registered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Sequence[str]]:
    """A file with the three metrics of `service.REGISTRY`, of which tests have copies; its keys."""
    from tests.aggregator.service import serving  # it brings the whole server

    path = tmp_path_factory.mktemp("registered") / "store.db"
    with serving(path) as running:
        assert running.register().status_code == 200
    return path, running.tokens


@pytest.fixture
def service(target: str | Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A service with the three metrics of `service.REGISTRY`."""
    from tests.aggregator.service import serving

    if isinstance(target, Path):
        file, tokens = request.getfixturevalue("registered")
        shutil.copyfile(file, target)
        with serving(target, tokens) as running:
            yield running
    else:
        with serving(target) as running:
            assert running.register().status_code == 200
            yield running
