"""Settings of all tests, and what they share: a PostgreSQL server, and the wheel."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests import audits, in_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgresql import Postgresql

# The same examples everywhere, and no clock: a slow machine is not a failure.
settings.register_profile(
    "deniable",
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deniable")

# Pytest's temporary directories, unless somebody wants them elsewhere.
if memory := in_memory.folder():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))

END_TO_END = Path(__file__).parent / "end_to_end"
COSTLY_FIXTURES = {"postgresql": "service", "outcomes": "statistics"}
"""Fixtures, and the marker of every test that asks for them."""

STARTS_A_PROCESS = {"os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"}
"""Audit events of the standard library."""

_fast_tests: list[str] = []
"""The test that runs now, if it is neither marked ``service`` nor ``slow``."""


def _refuse_processes(event: str, _: object) -> None:
    if _fast_tests and event in STARTS_A_PROCESS:
        raise RuntimeError(f"{_fast_tests[0]} starts a process: mark it with pytest.mark.service")


sys.addaudithook(_refuse_processes)


def pytest_configure(config: pytest.Config) -> None:
    """Has audits watched, if this is the run that records what they read."""
    audits.watch(config)
    gc.disable()  # while tests are collected, of which nothing is garbage


def pytest_collection_finish() -> None:
    """Has garbage looked for less often, and never among modules and tests, which stay."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the running server, and those that ask for a costly fixture.

    Audits that have passed with the same sources are skipped where that is trusted.
    """
    passed = cache(audits.passed)
    for item in items:
        if END_TO_END in item.path.parents:
            item.add_marker("service")
        for fixture in COSTLY_FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(COSTLY_FIXTURES[fixture])
        trusted = audits.TRUSTED in os.environ and any(item.iter_markers("audit"))
        if trusted and passed(item.path.relative_to(audits.ROOT).as_posix()):
            item.add_marker(pytest.mark.skip(reason="passed with the same sources"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Lets no test start a process that is not marked for it, so that fast ones are fast."""
    if not any(item.iter_markers("service")) and not any(item.iter_markers("slow")):
        _fast_tests.append(item.nodeid)
    try:
        return (yield)
    finally:
        _fast_tests.clear()


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
