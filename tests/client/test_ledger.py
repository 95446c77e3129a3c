from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import _database
from deniable._ledger import Charge, Ledger, LedgerError, cost_nano_nats, limit_nano_nats
from deniable._status import Outcome

LIMITS = (4_000_000_000, 10_000_000_000)
ONE = 1_000_000_000


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    _database.create(path)
    opened = Ledger(path, new=True)
    yield opened
    opened.close()


def debit(ledger, metric="theme", period=100, epoch=100, cost=ONE, every="day"):
    return ledger.debit(Charge(metric, every, cost), period, epoch, LIMITS)


def test_a_period_is_debited_once(ledger):
    assert debit(ledger) is Outcome.RECORDED
    assert debit(ledger) is Outcome.ALREADY_REPORTED
    assert debit(ledger, period=101, epoch=101) is Outcome.RECORDED
    assert ledger.spent(101) == (ONE, 2 * ONE)


def test_the_day_is_bounded_over_all_metrics(ledger):
    for name in "abcd":
        assert debit(ledger, name) is Outcome.RECORDED
    assert debit(ledger, "e") is Outcome.OVER_BUDGET
    assert ledger.spent(100) == (4 * ONE, 4 * ONE)


def test_what_is_over_budget_leaves_the_period_free(ledger):
    assert debit(ledger, cost=5 * ONE) is Outcome.OVER_BUDGET
    assert debit(ledger) is Outcome.RECORDED


def test_the_lifetime_is_bounded(ledger):
    outcomes = [debit(ledger, period=day, epoch=day) for day in range(12)]
    assert outcomes == [Outcome.RECORDED] * 10 + [Outcome.OVER_BUDGET] * 2


def test_a_clock_that_goes_back_frees_neither_period_nor_budget(ledger):
    for name in "abcd":
        debit(ledger, name, period=200, epoch=200)
    assert debit(ledger, "a", period=199, epoch=199) is Outcome.ALREADY_REPORTED
    assert debit(ledger, "e", period=199, epoch=199) is Outcome.OVER_BUDGET
    assert ledger.spent(150) == (4 * ONE, 4 * ONE)


def test_a_metric_that_becomes_weekly_is_not_locked_out(ledger):
    assert debit(ledger, period=20_000, epoch=20_000) is Outcome.RECORDED
    assert debit(ledger, period=2_858, epoch=20_001, every="week") is Outcome.RECORDED


def test_a_debit_survives_reopening(ledger, tmp_path):
    debit(ledger)
    ledger.close()
    again = Ledger(tmp_path / "ledger.sqlite", new=False)
    assert debit(again) is Outcome.ALREADY_REPORTED
    again.close()


def test_an_empty_file_is_no_ledger_of_a_known_device(tmp_path):
    path = tmp_path / "other.sqlite"
    _database.create(path)
    with pytest.raises(LedgerError):
        Ledger(path, new=False)


@given(st.floats(min_value=0.01, max_value=8.0))
def test_a_cost_is_the_epsilon_rounded_up(epsilon):
    assert 0 <= Fraction(cost_nano_nats(epsilon), 10**9) - Fraction(epsilon) < Fraction(1, 10**9)


def test_a_limit_written_in_decimals_admits_exactly_what_it_says():
    assert limit_nano_nats(0.3) == 3 * 100_000_000
