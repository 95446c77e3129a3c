"""Ledgers that earlier versions wrote: brought up to today, with nothing refilled on the way.

The files in ``ledgers`` were written by the code of their time, under the secret `SECRET`: the
metric ``theme`` has reported on days 100 and 101 and ``late`` in week 15, for a nat each; in that
of version 2 also ``flag``, which memoises and has paid one nat of two, and ``crash`` is enrolled.
That of version 3 has the same, with ``crash`` enrolled on day 101.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from deniable import Outcome
from deniable._storage import earlier_ledgers, sqlite
from deniable._storage.cost import Charge
from deniable._storage.ledger import VERSION, Ledger, LedgerError
from deniable_shared.registry import parse
from tests.client.conftest import REGISTRY

SECRET = b"s" * 32
NAT = 10**9
LIMITS = (4 * NAT, 7 * NAT)
SPENT = {1: (NAT, 3 * NAT), 2: (2 * NAT, 4 * NAT), 3: (2 * NAT, 4 * NAT)}
OPT_OUT = """
BEGIN IMMEDIATE;
UPDATE entry SET every = '' WHERE metric = '';
UPDATE entry SET digest = NULL WHERE metric != '';
DELETE FROM enrolled;
COMMIT
"""
"""What the code of versions 2 and 3 does when the user opts out."""

FLAG = Charge("flag", "day", NAT, b"one", 2 * NAT)


@pytest.fixture(params=sorted(SPENT))
def found(request):
    return request.param


@pytest.fixture
def path(tmp_path, found):
    """The ledger of an earlier version, to be opened by this one."""
    path = tmp_path / "ledger.sqlite"
    shutil.copy(Path(__file__).parent / "ledgers" / f"version-{found}.sqlite", path)
    return path


@contextlib.contextmanager
def opened(path):
    ledger = Ledger(path, new=False)
    try:
        ledger.bind(SECRET)
        yield ledger
    finally:
        ledger.close()


def version(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return sqlite.version(connection)


def test_there_is_a_file_of_every_earlier_version():
    assert sorted(SPENT) == list(range(earlier_ledgers.FIRST, VERSION))


def test_what_was_spent_and_reported_stays_so(path, found):
    for _ in range(2):  # the second finds the form of today
        with opened(path) as ledger:
            assert ledger.spent(101) == SPENT[found]
            assert ledger.spent(102) == (0, SPENT[found][1])
            theme, late = Charge("theme", "day", NAT), Charge("late", "week", NAT)
            assert ledger.debit(theme, 101, 101, LIMITS) is Outcome.ALREADY_REPORTED
            assert ledger.debit(late, 15, 101, LIMITS) is Outcome.ALREADY_REPORTED
        assert version(path) == VERSION


def test_the_budget_goes_on_where_it_was(path, found):
    left = LIMITS[1] // NAT - SPENT[found][1] // NAT
    with opened(path) as ledger:
        outcomes = [
            ledger.debit(Charge("theme", "day", NAT), day, day, LIMITS) for day in range(102, 112)
        ]
    assert outcomes == [Outcome.RECORDED] * left + [Outcome.OVER_BUDGET] * (10 - left)


def test_permanent_answers_are_paid_for_once_if_the_ledger_knows_that_they_were(path, found):
    still_to_pay = {1: 2 * NAT, 2: NAT, 3: NAT}[found]
    with opened(path) as ledger:
        for day in (102, 103, 104):
            assert ledger.debit(FLAG, day, day, LIMITS) is Outcome.RECORDED
        assert ledger.spent(104)[1] == SPENT[found][1] + still_to_pay


def test_the_device_takes_part_in_absence_again_from_now_on(path, found):
    with opened(path) as ledger:
        assert ledger.enrolled("crash", "day") == {3: 101}.get(found)
        ledger.enrol([("crash", "day")], [], 102)
        assert ledger.enrolled("crash", "day") == 102


def test_a_client_goes_on_with_the_directory(make_client, directory, path, found, clock):
    directory.mkdir(mode=0o700)
    path.rename(directory / "ledger.sqlite")
    (directory / "secret").write_bytes(SECRET)
    client = make_client(registry=parse(REGISTRY), clock=clock)
    left = 40.0 - SPENT[found][1] / NAT
    assert client.status().epsilon_left_lifetime == pytest.approx(left, abs=1e-6)
    assert client.record("theme", "dark") is Outcome.RECORDED
    assert client.status().epsilon_left_lifetime == pytest.approx(left - 1.0, abs=1e-6)


def test_a_process_of_an_earlier_version_that_still_runs_can_write_nothing_more(path, found):
    amount = "lifetime" if found == 1 else "spent"
    write = (
        f"REPLACE INTO entry (metric, every, period, today, {amount}) VALUES ('', '', 102, 1, 1)"
    )
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as earlier:
        earlier.execute("SELECT * FROM entry").fetchall()
        with opened(path) as ledger:
            with pytest.raises(sqlite3.Error):
                earlier.execute(write)
            with pytest.raises(sqlite3.Error):
                earlier.executescript(OPT_OUT)
            earlier.execute("ROLLBACK")
            assert ledger.spent(101) == SPENT[found]


def test_a_step_that_fails_leaves_the_ledger_as_it_was(path, found, monkeypatch):
    steps = {**earlier_ledgers._STEPS, 3: "DROP TABLE enrolled; DROP TABLE no_such_table"}
    with monkeypatch.context() as patch:
        patch.setattr(earlier_ledgers, "_STEPS", steps)
        with pytest.raises(sqlite3.Error), opened(path):
            pass
    assert version(path) == found
    with opened(path) as ledger:
        assert ledger.spent(101) == SPENT[found]


@pytest.mark.parametrize("number", [VERSION + 1, 0, -1])
def test_a_later_version_or_none_fails_closed_and_is_left_alone(path, number):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    words = "written by a later version" if number > VERSION else "damaged"
    with pytest.raises(LedgerError, match=words):
        Ledger(path, new=False)
    assert version(path) == number
