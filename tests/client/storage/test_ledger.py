from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable._status import Outcome
from deniable._storage.cost import Charge, cost_nano_nats, limit_nano_nats
from deniable._storage.ledger import Ledger
from deniable_shared.periods import period as period_of

LIMITS = (4_000_000_000, 10_000_000_000)
ONE = 1_000_000_000


class Book:
    """A ledger, and the records that it has made."""

    def __init__(self):
        self.bodies = []
        self.ledger = Ledger(self.append)

    def append(self, body, tail):
        assert tail == b""
        self.bodies.append(body)
        return len(self.bodies)

    def again(self, bodies=None):
        """A ledger that has read these records."""
        book = Book()
        for body in self.bodies if bodies is None else bodies:
            book.ledger.apply(body)
        return book


@pytest.fixture
def book():
    return Book()


@pytest.fixture
def ledger(book):
    return book.ledger


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
    for day in range(1, 6):
        ledger.debit(*memoized(day))
    assert ledger.debit(*memoized(6)) is Outcome.RECORDED
    assert ledger.spending(6) == (0, 5 * ONE // 2)
    ledger.forget_answers()
    assert ledger.debit(*memoized(6)) is Outcome.ALREADY_REPORTED
    assert ledger.debit(*memoized(7)) is Outcome.RECORDED
    assert ledger.spending(7) == (ONE, 7 * ONE // 2)


def test_enrolling_costs_nothing_and_is_remembered(ledger):
    theme = ("theme", "day")
    assert ledger.last_active_day(*theme) is None
    for day in (100, 105, 90):
        ledger.enrol([theme], [], day)
        assert ledger.last_active_day(*theme) == day
    assert ledger.spending(100) == (0, 0)
    ledger.enrol([], [theme], 110)
    assert ledger.last_active_day(*theme) is None


def test_enrolling_changes_no_reported_period(ledger):
    debit(ledger, period=200, epoch=200)
    ledger.enrol([("theme", "day")], [], 150)
    assert debit(ledger, period=200, epoch=200) is Outcome.ALREADY_REPORTED
    assert debit(ledger, period=201, epoch=201) is Outcome.RECORDED


@given(st.floats(min_value=0.01, max_value=8.0))
def test_a_cost_is_the_epsilon_rounded_up(epsilon):
    assert 0 <= Fraction(cost_nano_nats(epsilon), 10**9) - Fraction(epsilon) < Fraction(1, 10**9)


def test_a_limit_written_in_decimals_admits_exactly_what_it_says():
    assert limit_nano_nats(0.3) == 3 * 100_000_000


def said(ledger, day=0):
    """All that a ledger says."""
    return ledger.spending(day), ledger.delta_spent(), ledger.limits, sorted(ledger.bodies())


METRICS = st.tuples(st.sampled_from("abc"), st.sampled_from(["day", "week", "month", "once"]))
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("debit"), METRICS, st.integers(-3, 60), st.integers(0, 3)),
        st.tuples(st.just("memoize"), METRICS, st.integers(-3, 60), st.integers(0, 3)),
        st.tuples(st.just("enrol"), METRICS, st.integers(-3, 60), st.integers(0, 1)),
        st.tuples(st.just("days"), METRICS, st.integers(-3, 60), st.integers(0, 1)),
    ),
    max_size=40,
)


def act(ledger, kind, metric, day, amount):
    name, every = metric
    if kind == "days":
        runs = ((day - 9, day - 7), (day, day + amount))
        return ledger.note_days(runs, day if amount else None, day, 4 * ONE if amount else None)
    if kind == "enrol":
        return ledger.enrol([metric] * amount, [metric] * (1 - amount), day)
    digest, total = (bytes(31) + bytes([amount]), 2 * ONE) if kind == "memoize" else (None, 0)
    charge = Charge(name, every, amount * ONE, digest, total, delta=amount)
    return ledger.debit(charge, period_of(every, day), day, (4 * ONE, 100 * ONE))


@given(ACTS)
def test_a_ledger_is_read_again_as_it_was(acts):
    """From its records, and from those of a journal that replaces them, in any order."""
    book = Book()
    for each in acts:
        act(book.ledger, *each)
    assert said(book.again().ledger) == said(book.ledger)
    bodies = [*book.ledger.bodies()]
    assert said(book.again(bodies).ledger) == said(book.ledger)
    assert said(book.again(reversed(bodies)).ledger) == said(book.ledger)


def test_deltas_add_up_for_life_whatever_becomes_of_the_metric(book, ledger):
    """Under another mechanism of the same name, after opting out, and in another process."""
    assert ledger.delta_spent() == 0
    for day in range(3):
        charge = Charge("seconds", "day", ONE, delta=1_000_000)
        assert ledger.debit(charge, day, day, LIMITS) is Outcome.RECORDED
        assert ledger.debit(charge, day, day, LIMITS) is Outcome.ALREADY_REPORTED
    assert debit(ledger, "seconds", period=3, epoch=3) is Outcome.RECORDED
    ledger.forget_answers()
    assert ledger.debit(Charge("other", "day", 0, delta=7), 3, 3, LIMITS) is Outcome.RECORDED
    again = book.again().ledger
    assert (again.spending(3)[1], again.delta_spent()) == (4 * ONE, 3_000_007)


def test_a_delta_that_is_over_budget_is_not_counted(ledger):
    assert ledger.debit(Charge("m", "day", 5 * ONE, delta=9), 1, 1, LIMITS) is Outcome.OVER_BUDGET
    assert ledger.delta_spent() == 0


def test_a_debit_may_come_before_its_report(book, ledger):
    stored = []
    charge = Charge("theme", "day", ONE)
    assert ledger.debit(charge, 1, 1, LIMITS, stored.append) is Outcome.RECORDED
    assert ledger.debit(charge, 2, 2, LIMITS) is Outcome.RECORDED
    assert len(stored) == 1
    again = book.again([*book.bodies[:1], *stored, *book.bodies[1:]]).ledger
    assert debit(again, period=2, epoch=2) is Outcome.ALREADY_REPORTED
    assert again.spending(2) == (ONE, 2 * ONE)


def test_a_silent_day_marks_all_periods_but_once_and_ends_enrolment(book, ledger):
    for name, every in (("a", "day"), ("b", "week"), ("c", "month"), ("d", "once")):
        debit(ledger, name, period=period_of(every, 9_000), epoch=9_000, every=every)
    ledger.enrol([("a", "day")], [], 9_000)
    ledger.note_days(((100, 100), (9_000, 9_000)), None, 100, LIMITS[0])
    for one in (ledger, book.again().ledger, book.again(list(ledger.bodies())).ledger):
        assert one.spending(100) == (LIMITS[0], 4 * ONE)
        assert one.spending(101) == (0, 4 * ONE)
        assert one.charged_days() == (((100, 100), (9_000, 9_000)), None)
        assert one.last_active_day("a", "day") is None
        for name, every in (("a", "day"), ("b", "week"), ("c", "month")):
            number = period_of(every, 100)
            outcome = debit(one, name, period=number, epoch=101, every=every)
            assert outcome is Outcome.ALREADY_REPORTED
            outcome = debit(one, name, period=number + 1, epoch=131, every=every)
            assert outcome is Outcome.RECORDED
        assert debit(one, "d", period=0, epoch=131, every="once") is Outcome.ALREADY_REPORTED


def test_a_silent_day_keeps_what_was_paid_for_permanent_answers(ledger):
    for day in range(9_000, 9_003):
        ledger.debit(*memoized(day))
    ledger.note_days(((100, 100),), None, 100, LIMITS[0])
    assert ledger.debit(*memoized(100)) is Outcome.ALREADY_REPORTED
    assert ledger.debit(*memoized(101)) is Outcome.RECORDED
    assert ledger.spending(101) == (0, 5 * ONE // 2)


def test_a_report_that_was_paid_for_is_marked_once_and_costs_nothing(book, ledger):
    stored = []
    assert ledger.mark("theme", "day", 3, stored.append) is Outcome.RECORDED
    assert ledger.mark("theme", "day", 3, stored.append) is Outcome.ALREADY_REPORTED
    assert len(stored) == 1
    assert ledger.spending(3) == (0, 0)
    assert ledger.limits is None
    again = book.again(stored).ledger
    assert again.mark("theme", "day", 3, stored.append) is Outcome.ALREADY_REPORTED
