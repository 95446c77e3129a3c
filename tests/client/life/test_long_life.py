"""Ninety days of an application on devices to which everything happens that happens to devices.

They sleep, travel, have their clocks set wrongly, get new releases, are killed, lose their disk,
are copied and restored, are shared by processes, opt out and in, while the aggregator is up, slow,
away, or refuses. The account (`tests.client.life.account`) is kept from what left the devices and
from the documents alone.

``python -m tests.client.life --seed N --trace`` lives the life of a seed again.
"""

from __future__ import annotations

import contextlib
import importlib
from unittest import mock

import pytest

from tests.client.life.account import BrokenPromiseError
from tests.client.life.faults import FAULTS
from tests.client.life.plan import DAYS, plan
from tests.client.life.run import live
from tests.repetitions import full_or_small

LIVES = full_or_small(20, 1)
FAULT_SEEDS = 12
FAULT_DAYS = full_or_small(DAYS, 30)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.mark.parametrize("seed", range(LIVES))
def test_in_a_long_life_every_report_is_paid_for_once_and_accounted_for(tmp_path, seed):
    world = live(tmp_path, seed, plan(seed))
    assert len(world.account.bodies) > 200


@pytest.mark.parametrize("name", FAULTS)
def test_the_account_notices_that(tmp_path, name):
    fault = FAULTS[name]
    found = set()
    with planted(fault):
        for seed in range(FAULT_SEEDS):
            with contextlib.suppress(StopIteration):
                try:
                    (folder := tmp_path / str(seed)).mkdir()
                    live(folder, seed, plan(seed, FAULT_DAYS, shared_days=0))
                except BrokenPromiseError as broken:
                    found.add(broken.rule)
                    break
    assert found
    assert found <= {*fault.rules}


@contextlib.contextmanager
def planted(fault):
    """The client with a fault, within the block."""
    module, name = fault.place
    *owners, name = name.split(".")
    owner = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    with mock.patch.object(owner, name, fault.plant(getattr(owner, name))):
        yield
