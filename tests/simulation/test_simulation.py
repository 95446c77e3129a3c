"""Whatever happens, and in whatever order: the tallies are exactly the accepted uploads.

``python -m tests.simulation --seed N --store sqlite --trace`` replays a seed.
"""

from __future__ import annotations

import gc
import logging
from collections import Counter
from unittest import mock

import pytest

from tests.repetitions import SMALL, full_or_small
from tests.simulation.mutants import DEFECTS, PACKAGE
from tests.simulation.plan import AIMS, FAULTS, plan
from tests.simulation.run import check, failure, run, shrunk

SQLITE_SEEDS = full_or_small(200, 10)
POSTGRESQL_SEEDS = full_or_small(16, 1)

# A process that dies closes nothing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

AIMED = {f"{kind}: {point}" for kind, points in AIMS.items() for point in points}
"""Points at which something must have gone wrong in the seeds of the tests, among others."""


@pytest.fixture(autouse=True)
def _quiet():
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module", autouse=True)
def _what_is_left_open():
    """Has Python warn of it here, where it is expected, and not in a later test of this process."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def mortal():
    """A PostgreSQL server of its own, which runs may end."""
    from tests.postgresql import Postgresql

    server = Postgresql(fsync="off", shared_buffers="32MB")
    yield server
    server.remove()


@pytest.mark.slow
def test_tallies_are_exactly_the_accepted_uploads_on_sqlite():
    struck = sum((check(seed, None) for seed in range(SQLITE_SEEDS)), Counter())
    assert SMALL or {point for _, point in struck} >= AIMED
    assert SMALL or {kind for kind, _ in struck} == FAULTS.keys()


@pytest.mark.slow
def test_tallies_are_exactly_the_accepted_uploads_on_postgresql(postgresql, mortal):  # noqa: ARG001
    struck = sum((check(seed, mortal) for seed in range(POSTGRESQL_SEEDS)), Counter())
    assert SMALL or {kind for kind, _ in struck} == FAULTS.keys()


def test_a_seed_always_means_the_same_run():
    said = [], []
    for lines in said:
        run(3, plan(3), None, lines.append)
    assert said[0] == said[1]
    assert len(said[0]) > len(plan(3))


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_the_simulation_finds(defect):
    where, broken, known = DEFECTS[defect]
    # Should the known seed mean another run some day, it has to be found by one of the others.
    seeds = (known, *range(SQLITE_SEEDS))
    with mock.patch(f"{PACKAGE}.{where}", broken):
        assert any(failure(seed, plan(seed), None) for seed in seeds)


def test_a_failing_run_is_cut_to_the_steps_that_matter():
    where, broken, _ = DEFECTS["rows_stay"]
    with mock.patch(f"{PACKAGE}.{where}", broken):
        steps = shrunk(1, plan(1, steps=12), None)
        assert failure(1, steps, None)
        assert len(steps) <= 5
        for left_out in range(len(steps)):
            assert not failure(1, steps[:left_out] + steps[left_out + 1 :], None)
    assert not failure(1, steps, None)
