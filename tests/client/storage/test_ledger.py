from __future__ import annotations

import contextlib
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable._status import Outcome
from deniable._storage import sqlite
from deniable._storage.cost import Charge, cost_nano_nats, limit_nano_nats
from deniable._storage.ledger import VERSION, Ledger, LedgerError, SecretReplacedError

LIMITS = (4_000_000_000, 10_000_000_000)
ONE = 1_000_000_000


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.sqlite"
    sqlite.create_file(path)
    opened = Ledger(path, new=True)
    yield opened
    opened.close()


def debit(ledger, metric="theme", period=100, epoch=100, cost=ONE, every="day"):
    return ledger.debit(Charge(metric, every, cost), period, epoch, LIMITS)


def test_a_period_is_debited_once(ledger):
    assert debit(ledger) is Outcome.RECORDED
    assert debit(ledger) is Outcome.ALREADY_REPORTED
    assert debit(ledger, period=101, epoch=101) is Outcome.RECORDED
    assert ledger.spending(101) == (ONE, 2 * ONE)


def test_the_day_is_bounded_over_all_metrics(ledger):
    for name in "abcd":
        assert debit(ledger, name) is Outcome.RECORDED
    assert debit(ledger, "e") is Outcome.OVER_BUDGET
    assert ledger.spending(100) == (4 * ONE, 4 * ONE)


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
    assert ledger.spending(150) == (4 * ONE, 4 * ONE)


def test_a_metric_that_becomes_weekly_is_not_locked_out(ledger):
    assert debit(ledger, period=20_000, epoch=20_000) is Outcome.RECORDED
    assert debit(ledger, period=2_858, epoch=20_001, every="week") is Outcome.RECORDED


def memoized(period, cost=ONE, digest=b"one", total=5 * ONE // 2):
    return Charge("flag", "day", cost, digest, total), period, period, LIMITS


def test_a_memoised_metric_is_charged_up_to_its_total(ledger):
    for day in range(1, 6):
        assert ledger.debit(*memoized(day)) is Outcome.RECORDED
    assert ledger.spending(5) == (0, 5 * ONE // 2)


def test_the_last_part_of_a_total_is_charged_exactly(ledger):
    spent = []
    for day in range(1, 5):
        ledger.debit(*memoized(day))
        spent.append(ledger.spending(day)[0])
    assert spent == [ONE, ONE, ONE // 2, 0]


def test_another_digest_is_charged_from_the_beginning(ledger):
    for day in range(1, 6):
        ledger.debit(*memoized(day))
    ledger.debit(*memoized(6, digest=b"two"))
    assert ledger.spending(6)[0] == ONE


def test_a_total_that_is_paid_lets_a_metric_report_on_an_empty_account(ledger):
    for day in range(1, 4):
        ledger.debit(*memoized(day))
    for day in range(4, 11):
        debit(ledger, period=day, epoch=day)
    assert debit(ledger, period=11, epoch=11) is Outcome.OVER_BUDGET
    assert ledger.debit(*memoized(11)) is Outcome.RECORDED


def test_another_secret_makes_the_total_be_paid_again_and_leaves_what_was_spent(ledger):
    ledger.set_secret(b"a" * 32)
    for day in range(1, 6):
        ledger.debit(*memoized(day))
    ledger.set_secret(b"a" * 32)
    assert ledger.debit(*memoized(6)) is Outcome.RECORDED
    assert ledger.spending(6) == (0, 5 * ONE // 2)
    ledger.set_secret(b"b" * 32)
    assert ledger.debit(*memoized(6)) is Outcome.ALREADY_REPORTED
    assert ledger.debit(*memoized(7)) is Outcome.RECORDED
    assert ledger.spending(7) == (ONE, 7 * ONE // 2)


def test_a_debit_fails_after_another_process_has_replaced_the_secret(ledger, tmp_path):
    ledger.set_secret(b"a" * 32)
    other = Ledger(tmp_path / "ledger.sqlite", new=False)
    other.set_secret(b"b" * 32)
    other.close()
    with pytest.raises(SecretReplacedError):
        debit(ledger)


def test_the_secret_is_not_in_the_ledger(ledger, tmp_path):
    secret = bytes(range(32))
    ledger.set_secret(secret)
    ledger.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret not in content
    assert secret.hex().encode() not in content


def test_enrolling_costs_nothing_and_is_remembered(ledger):
    theme = ("theme", "day")
    assert ledger.last_active_day(*theme) is None
    for day in (100, 105, 90):
        ledger.enrol([theme], [], day)
        assert ledger.last_active_day(*theme) == day
    assert ledger.spending(100) == (0, 0)
    ledger.enrol([], [theme], 110)
    assert ledger.last_active_day(*theme) is None


def test_a_day_that_is_damaged_is_no_day_until_the_device_is_enrolled_again(ledger):
    theme = ("theme", "day")
    ledger.enrol([theme], [], 100)
    for damage in ("'abc'", "x'00'", "1e300"):
        ledger._connection.execute(f"UPDATE enrolment SET epoch = {damage}")
        assert ledger.last_active_day(*theme) is None
    ledger.enrol([theme], [], 101)
    assert ledger.last_active_day(*theme) == 101


def test_enrolling_changes_no_reported_period(ledger):
    debit(ledger, period=200, epoch=200)
    ledger.enrol([("theme", "day")], [], 150)
    assert debit(ledger, period=200, epoch=200) is Outcome.ALREADY_REPORTED
    assert debit(ledger, period=201, epoch=201) is Outcome.RECORDED


def test_a_debit_survives_reopening(ledger, tmp_path):
    debit(ledger)
    ledger.close()
    again = Ledger(tmp_path / "ledger.sqlite", new=False)
    assert debit(again) is Outcome.ALREADY_REPORTED
    again.close()


def test_an_empty_file_is_no_ledger_of_a_known_device(tmp_path):
    path = tmp_path / "other.sqlite"
    sqlite.create_file(path)
    with pytest.raises(LedgerError):
        Ledger(path, new=False)


@pytest.mark.parametrize("number", [VERSION + 1, 0, -1])
def test_a_ledger_of_another_version_is_refused_and_left_as_it_is(ledger, tmp_path, number):
    path = tmp_path / "ledger.sqlite"
    ledger.close()
    with contextlib.closing(sqlite.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    words = "written by a later version" if number > VERSION else "damaged"
    with pytest.raises(LedgerError, match=words):
        Ledger(path, new=False)
    with contextlib.closing(sqlite.connect(path)) as connection:
        assert sqlite.schema_version(connection) == number


@given(st.floats(min_value=0.01, max_value=8.0))
def test_a_cost_is_the_epsilon_rounded_up(epsilon):
    assert 0 <= Fraction(cost_nano_nats(epsilon), 10**9) - Fraction(epsilon) < Fraction(1, 10**9)


def test_a_limit_written_in_decimals_admits_exactly_what_it_says():
    assert limit_nano_nats(0.3) == 3 * 100_000_000


def test_an_account_that_is_remembered_changes_no_outcome(tmp_path):
    paths = [tmp_path / name for name in ("shared", "alone")]
    for path in paths:
        sqlite.create_file(path)
    first, alone = (Ledger(path, new=True) for path in paths)
    second = Ledger(paths[0], new=False)
    draw = random.Random(20)
    outcomes = Counter()
    for number in range(2_000):
        day = number // 20 + draw.randrange(-1, 2)
        charge = Charge(draw.choice("abcdef"), "day", draw.choice([0, 1, ONE, 3 * ONE]))
        if draw.random() < 0.2:
            charge = Charge("flag", "day", ONE, b"one", 5 * ONE // 2)
        alone._last_account = None  # so that it reads its file
        limits = (4 * ONE, 200 * ONE)
        expected = alone.debit(charge, day, day, limits)
        one = draw.choice([first, second])
        assert one.debit(charge, day, day, limits) is expected
        assert one.lifetime == alone.lifetime or expected is not Outcome.RECORDED
        assert one.spending(day) == alone.spending(day)
        outcomes[expected] += 1
    assert min(outcomes.values()) > 100
    for ledger in (first, second, alone):
        ledger.close()


def test_deltas_add_up_for_life_whatever_becomes_of_the_metric(tmp_path):
    """Under another mechanism of the same name, after opting out, and in another process."""
    path = tmp_path / "ledger.sqlite"
    sqlite.create_file(path)
    first = Ledger(path, new=True)
    first.set_secret(bytes(32))
    assert first.delta_spent() == 0
    for day in range(3):
        charge = Charge("seconds", "day", ONE, delta=1_000_000)
        assert first.debit(charge, day, day, LIMITS) is Outcome.RECORDED
        assert first.debit(charge, day, day, LIMITS) is Outcome.ALREADY_REPORTED
    assert debit(first, "seconds", period=3, epoch=3) is Outcome.RECORDED
    first.set_secret(bytes(31) + b"1")
    assert first.debit(Charge("other", "day", 0, delta=7), 3, 3, LIMITS) is Outcome.RECORDED
    first.close()
    again = Ledger(path, new=False)
    assert (again.spending(3)[1], again.delta_spent()) == (4 * ONE, 3_000_007)
    again.close()


def test_a_delta_that_is_over_budget_is_not_counted(ledger):
    assert ledger.debit(Charge("m", "day", 5 * ONE, delta=9), 1, 1, LIMITS) is Outcome.OVER_BUDGET
    assert ledger.delta_spent() == 0


def test_a_debit_that_a_power_failure_undid_does_not_come_back_after_a_kill(ledger, tmp_path):
    """It would, behind the same bytes written again, if the log went on where it was cut."""
    path, secret = tmp_path / "ledger.sqlite", bytes(32)
    ledger.set_secret(secret)
    ledger.empty_log()

    def log():
        return path.with_name("ledger.sqlite-wal").read_bytes()

    def opened_with(content, name):
        """What is found after the files were left with this log."""
        again = tmp_path / name
        again.write_bytes(path.read_bytes())
        again.with_name(f"{name}-wal").write_bytes(content)
        found = Ledger(again, new=False)
        found.set_secret(secret)
        return found

    kept = log()
    debit(ledger, "theme")
    lost = log()
    debit(ledger, "emoji")
    cut = kept + bytes(len(lost) - len(kept)) + log()[len(lost) :]
    with contextlib.closing(opened_with(cut, "after_power_failure")) as failed:
        assert failed.spending(100) == (0, 0)
        debit(failed, "theme")
        left = (tmp_path / "after_power_failure-wal").read_bytes()
        with contextlib.closing(opened_with(left, "after_kill")) as killed:
            assert killed.spending(100) == (ONE, ONE)
            assert killed.is_reported("theme", "day", 100)
            assert not killed.is_reported("emoji", "day", 100)
