"""No history of clocks spends more of a day or a lifetime than the budgets allow."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable._recording import day_keeper
from deniable._recording.charged_days import MAX_RUNS, ChargedDays, next_step
from deniable._recording.day_keeper import DayKeeper
from deniable._status import Outcome
from deniable._storage.cost import Charge
from deniable._storage.ledger import Ledger
from deniable_shared.periods import period
from tests.repetitions import full_or_small

TODAY = 20_800
FAR = TODAY + 3_400
A_DAY, A_LIFETIME = 4, 60
LIMITS = (A_DAY, A_LIFETIME)
CHARGES = {
    "daily": Charge("daily", "day", 1),
    "costly": Charge("costly", "day", 3),
    "weekly": Charge("weekly", "week", 2),
    "monthly": Charge("monthly", "month", 2),
    "once": Charge("once", "once", 2),
    "kept": Charge("kept", "day", 1, b"k" * 32, 3),
}


class _Process:
    """One process with a journal, a list of records: what it knows of days is its own."""

    def __init__(self, journal):
        self.journal = journal
        self.open()
        self.days = DayKeeper(self, self, A_DAY)
        self.went_back = False

    def open(self):
        self.ledger, self.read = Ledger(self.append), 0

    def append(self, body, tail):
        assert tail == b""
        self.journal.append(body)
        self.read = len(self.journal)
        return self.read

    def read_on(self):
        for body in self.journal[self.read :]:
            self.ledger.apply(body)
        self.read = len(self.journal)

    @property
    def spool(self):
        return self

    def drop_ahead(self, day):
        """Does nothing: no test looks at reports."""

    def record(self, metric, today):
        """The outcome, the day that was charged, and how much."""
        self.read_on()
        charge = CHARGES[metric]
        number = period(charge.every, today)
        self.days.begin(today)
        latest = self.ledger.latest_day()
        if self.days.is_reported(charge.every, number):
            return Outcome.ALREADY_REPORTED, latest, 0
        before = self.ledger.spending(0)[1]
        outcome = self.ledger.debit(charge, number, today, LIMITS)
        assert self.ledger.latest_day() == latest  # a day begins before it is charged
        return outcome, latest, self.ledger.spending(0)[1] - before


def lives():
    """Strategy for histories: jumps of the clock, records, and processes that begin or go on.

    Few days and many reports, so that a day that begins afresh is soon charged too much.
    """
    day = st.one_of(
        st.sampled_from([*range(TODAY, TODAY + 9), FAR, FAR + 1, 3 * FAR]).map(
            lambda at: ("to", at)
        ),
        st.integers(-40, 40).map(lambda shift: ("by", shift)),
        st.just(("by", 1)),
    )
    record = st.tuples(st.just("record"), st.sampled_from(sorted(CHARGES)))
    process = st.sampled_from(
        [("process", 0), ("process", 1), ("begin", 0), ("begin", 1), ("see", True), ("see", False)]
    )
    copy = st.sampled_from([("upload", 0), ("copy", 0), ("restore", 0)])
    days = st.tuples(
        day, st.lists(record, min_size=2, max_size=5), st.lists(process | copy, max_size=1)
    )
    return st.lists(days, min_size=5, max_size=25).map(
        lambda told: [step for day, records, more in told for step in (day, *records, *more)]
    )


@given(lives())
@settings(max_examples=full_or_small(150, 60), deadline=None)
def test_no_history_of_clocks_spends_more_than_the_budgets_allow(life):
    live(life)


class _Spent(NamedTuple):
    """What a device has spent and reported, as an observer of every debit knows it."""

    of_day: Counter[int]
    reported: set[tuple[str, int]]
    kept: int = 0

    @property
    def ever(self):
        return self.of_day.total()

    def copy(self):
        return self._replace(of_day=self.of_day.copy(), reported=set(self.reported))


def live(life):
    """Lives a life, and checks after each report what was spent and which periods were reported.

    Old copies of the journal are restored as the storage allows: if all that was uploaded is paid
    in them. Then reports that they have not paid were dropped.
    """
    journal = []
    processes = [_Process(journal), _Process(journal)]
    at, today, uploaded = 0, TODAY, 0
    spent = _Spent(Counter(), set())
    kept_copy = [*journal], spent.copy()
    for what, how in life:
        if what == "by":
            today += how
        elif what == "to":
            today = how
        elif what == "process":
            at = how
        elif what == "begin":
            processes[how] = _Process(journal)
        elif what == "see":  # the clock going back
            processes[at].went_back = how
        elif what == "upload":
            uploaded = spent.ever
        elif what == "copy":
            kept_copy = [*journal], spent.copy()
        elif what == "restore" and kept_copy[1].ever >= uploaded:
            journal[:] = kept_copy[0]
            spent = kept_copy[1].copy()
            for process in processes:
                process.open()
        elif what == "record":
            outcome, day, cost = processes[at].record(how, today)
            if outcome is Outcome.RECORDED:
                spent.of_day[day] += cost
                label = how, period(CHARGES[how].every, today)
                assert label not in spent.reported, label
                spent.reported.add(label)
                spent = spent._replace(kept=spent.kept + cost * (how == "kept"))
            assert max(spent.of_day.values(), default=0) <= A_DAY
            assert spent.ever <= A_LIFETIME
            assert spent.kept <= CHARGES["kept"].total


@pytest.mark.parametrize("fault", ["afresh", "freed", "forgotten"])
def test_the_test_of_histories_notices_what_is_wrong(monkeypatch, fault):
    def wrong(latest, today, days, *, certain):
        step = next_step(latest, today, days, certain=certain)
        if fault == "forgotten":  # the days that were charged
            return step and step._replace(days=ChargedDays(((today, today),), step.days.ahead))
        if fault == "afresh":
            return step and step._replace(silent=False)
        return step or (
            None if today == latest else next_step(0, today, ChargedDays(), certain=False)
        )

    monkeypatch.setattr(day_keeper, "next_step", wrong)
    draw = random.Random(1)
    assert any(is_wrong(random_life(draw)) for _ in range(400))


def is_wrong(life):
    try:
        live(life)
    except AssertionError:
        return True
    return False


def random_life(draw):
    life = []
    for _ in range(60):
        life.append(
            draw.choice(
                [("by", draw.randint(-3, 3)), ("to", draw.choice([TODAY, FAR])), ("by", 1)]
                + [("record", draw.choice(sorted(CHARGES)))] * 4
            )
        )
    return life


NEVER = ChargedDays()


def steps(*days, latest=0, charged=NEVER, certain=False):
    """What is noted when the clock comes to these days, one after another."""
    told = []
    for today in days:
        step = next_step(latest, today, charged, certain=certain)
        told.append(None if step is None else ("silent" if step.silent else step.day))
        if step is not None:
            charged, latest = step.days, latest if step.day is None else step.day
    return told, latest, charged


def test_each_day_of_a_clock_that_goes_forward_begins_afresh():
    told, latest, charged = steps(TODAY, TODAY, TODAY + 1, TODAY + 9)
    assert told == [TODAY, None, TODAY + 1, TODAY + 9]
    assert (latest, charged.runs) == (TODAY + 9, ((TODAY, TODAY + 1), (TODAY + 9, TODAY + 9)))


def test_after_a_clock_that_was_far_ahead_one_day_is_silent_and_the_next_begins_afresh():
    told, latest, _ = steps(TODAY, FAR, TODAY + 1, TODAY + 2, TODAY + 3, TODAY + 4)
    assert told == [TODAY, FAR, None, "silent", TODAY + 3, TODAY + 4]
    assert latest == TODAY + 4


def test_whoever_saw_the_clock_go_back_need_not_wait_for_another_day():
    assert steps(TODAY, FAR, TODAY + 1, TODAY + 2, certain=True)[0][2:] == ["silent", TODAY + 2]
    assert steps(*range(TODAY, TODAY + 9), TODAY + 3, certain=True)[0][-1] is None


def test_a_device_whose_first_clock_was_ahead_recovers_as_well():
    assert steps(FAR, TODAY, TODAY + 1, TODAY + 2)[0] == [FAR, None, "silent", TODAY + 2]


def test_a_clock_that_starts_at_the_same_day_each_time_and_is_then_set_right_silences_nothing():
    begun, today, told = TODAY - 300, TODAY, []
    latest, charged = 0, ChargedDays()
    for _ in range(5):
        more, latest, charged = steps(begun, today, latest=latest, charged=charged)
        told.append(more[-1])
        today += 1
    assert told == [TODAY + day for day in range(5)]


def test_a_day_that_was_charged_is_silent_when_it_comes_and_so_is_the_first_one_after_it():
    told, _, _ = steps(TODAY, TODAY + 6, TODAY + 1, TODAY + 2, *range(TODAY + 3, TODAY + 10))
    assert told[:4] == [TODAY, TODAY + 6, None, "silent"]
    assert told[4:7] == [TODAY + 3, TODAY + 4, TODAY + 5]
    assert told[7:] == ["silent", TODAY + 7, TODAY + 8, TODAY + 9]


def test_a_day_after_charged_ones_that_were_skipped_is_silent():
    told, _, _ = steps(TODAY, TODAY + 6, TODAY + 1, TODAY + 2, TODAY + 9, TODAY + 10)
    assert told[4:] == ["silent", TODAY + 10]


def test_a_clock_that_goes_back_to_charged_days_notes_nothing():
    told, latest, _ = steps(*range(TODAY, TODAY + 10), TODAY + 3, TODAY + 4, TODAY + 5)
    assert told[-3:] == [None] * 3
    assert latest == TODAY + 9


def test_the_list_of_charged_days_stays_short_and_forgets_none():
    days = [7 * week for week in range(40)] + [FAR]
    charged = ChargedDays()
    for day in days:
        charged = charged.with_day(day)
    assert len(charged.runs) == MAX_RUNS
    assert all(charged.takes_in(day) for day in days)
    assert not charged.takes_in(FAR - 1)


def test_anchoring_again_frees_neither_once_nor_what_was_paid_for_permanent_answers():
    process = _Process([])
    for day in (FAR, FAR + 1, FAR + 2):
        assert process.record("kept", day)[0] is Outcome.RECORDED
    assert process.record("once", FAR + 2)[0] is Outcome.RECORDED
    process.record("daily", TODAY)
    for metric in CHARGES:
        outcome, *_ = process.record(metric, TODAY + 1)
        assert outcome in (Outcome.ALREADY_REPORTED, Outcome.OVER_BUDGET)
    assert process.ledger.spending(TODAY + 1) == (A_DAY, 6)
    assert process.record("once", TODAY + 2)[0] is Outcome.ALREADY_REPORTED
    outcome, day, spent = process.record("kept", TODAY + 2)
    assert (outcome, day, spent) == (Outcome.RECORDED, TODAY + 2, 0)
    another = _Process(process.journal)
    another.read_on()
    assert another.ledger.latest_day() == TODAY + 2
