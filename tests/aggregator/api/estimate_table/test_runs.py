"""A server keeps the table as the reports are: a process that may fail in any way does the work."""

from __future__ import annotations

import contextlib
import sys

import pytest

from deniable_aggregator import Settings, Store
from deniable_aggregator.answering.estimate_table import runs as runs_module
from deniable_aggregator.answering.estimate_table.runs import EstimateTableRuns, WritingError
from tests.aggregator.api.estimate_table.filled import ACCEPT_DAYS, table
from tests.aggregator.service import TODAY
from tests.aggregator.stored import append, decoded, fold, register, settle

pytestmark = [pytest.mark.one_store, pytest.mark.service]
FINISHES = 'print(\'{"type":"Finished","periods":1,"deleted":0,"left":0}\')'
LEFT = 'print(\'{"type":"Finished","periods":1,"deleted":0,"left":7}\')'
BUSY = 'print(\'{"type":"Busy"}\')'
FAILS = 'print(\'{"type":"Failed","why":"no memory"}\')'
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
HANGS = "import sys; sys.stdin.buffer.read()"
LAST = TODAY - ACCEPT_DAYS - 1


@pytest.fixture
def store(target):
    """Reports of three closed days."""
    with contextlib.closing(Store(target)) as opened:
        register(opened)
        for epoch in range(LAST - 2, LAST + 1):
            append(opened, [decoded(bytes([0, 1, 2] * 10), epoch=epoch)])
        fold(opened)
        opened.inbox.close_epochs(TODAY - ACCEPT_DAYS)
        yield opened


class Time:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def server(store):
    """Makes servers whose process is a small program; counts how often it is started."""
    with contextlib.ExitStack() as stack:

        def start(program: str, **settings):
            runs = EstimateTableRuns(
                store,
                Settings(accept_days=ACCEPT_DAYS, **settings),
                monotonic=Time(),
                command=(sys.executable, "-IS", "-c", program),
            )
            return stack.enter_context(contextlib.closing(runs))

        yield start


def started(runs: EstimateTableRuns, today: int = TODAY) -> bool:
    """Looks, waits for the process, and says whether there was one."""
    before = runs._thread
    runs.look(today)
    runs.wait()
    return runs._thread is not before


def test_a_process_is_started_once_until_something_has_changed(server, store):
    runs = server(FINISHES)
    assert started(runs)
    assert not started(runs)
    assert started(runs, TODAY + 1)  # a day has closed
    settle(store, LAST)
    assert started(runs, TODAY + 1)
    assert not started(runs, TODAY + 1)


def test_what_is_left_is_written_by_the_next_process(server):
    runs = server(LEFT)
    assert started(runs)
    assert started(runs)


@pytest.mark.parametrize(
    ("program", "why"),
    [(FAILS, "no memory"), (KILLED, "killed by signal 9"), ("", "ended with 0")],
)
def test_a_failure_is_told_and_the_work_is_tried_again_after_a_while(server, program, why):
    runs = server(program)
    assert started(runs)
    with pytest.raises(WritingError, match=why):
        runs.look(TODAY)
    assert not started(runs)
    runs._monotonic.now += runs_module.PAUSE_SECONDS
    assert started(runs)


def test_a_server_that_finds_another_at_work_looks_again_later(server):
    runs = server(BUSY)
    assert started(runs)
    assert not started(runs)
    runs._monotonic.now += runs_module.PAUSE_SECONDS
    assert started(runs)


def test_a_process_that_hangs_is_ended(server, monkeypatch):
    monkeypatch.setattr(runs_module, "LAST_SECONDS", -1.0)
    runs = server(HANGS)
    assert started(runs)
    with pytest.raises(WritingError, match="took too long"):
        runs.look(TODAY)


def test_a_server_that_ends_ends_its_process(server):
    runs = server(HANGS)
    runs.look(TODAY)
    runs.close()
    assert not runs._thread.is_alive()
    runs.look(TODAY)
    assert not runs._thread.is_alive()


def test_no_process_is_started_where_there_is_nothing_to_write(server, store, tmp_path):
    runs = server(FINISHES, estimate_periods="")
    assert not started(runs)
    settle(store, LAST)
    assert not started(runs, TODAY + 1)
    with contextlib.closing(Store(tmp_path / "new.db")) as new:
        runs = EstimateTableRuns(new, Settings())
        runs.look(TODAY)
        assert runs._thread is None


def test_the_process_writes_the_table_and_empties_it_where_no_period_is_wanted(store):
    for periods, expected in (("day,month", {LAST - 2, LAST - 1, LAST}), ("", set())):
        settings = Settings(accept_days=ACCEPT_DAYS, estimate_periods=periods)
        with contextlib.closing(EstimateTableRuns(store, settings)) as runs:
            assert started(runs)
            runs.look(TODAY)  # it has not failed
            found = {row["since"] for row in table(store)}
            assert len(found) == len(expected)
            assert not started(runs)
