"""Weekdays that differ are no change: the same ones are compared, each weighted alike."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from scipy import stats

from deniable_aggregator.answering import weekdays
from deniable_aggregator.answering.alarm import ShapesInTurn, checks_of_shapes
from deniable_aggregator.answering.change import change
from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.answers.dates import DayRange, epoch_of
from deniable_aggregator.answers.questions import ChangeQuery
from deniable_shared.errors import ParameterError
from tests import one_metric
from tests.aggregator.answered import DAYS
from tests.aggregator.simulated import drawn, spec_of
from tests.repetitions import full_or_small

pytestmark = pytest.mark.audit

MONDAY = date(2026, 1, 5)
SPEC = spec_of("grr", 3, 3)
WORK, REST = np.array([0.50, 0.30, 0.20]), np.array([0.47, 0.31, 0.22])
"""A shift of 3 points at weekends."""

QUERY = ChangeQuery(before="2026-01-01", after="2026-01-02")


def days_of(first, count):
    return [MONDAY + timedelta(first + number) for number in range(count)]


class Rhythm:
    """A population of which fewer or more report at weekends, when other things are so."""

    def __init__(self, seed, reports=3_000, weekend=1.0, moved=None, since=10**6):
        self.random, self.reports, self.weekend = np.random.default_rng(seed), reports, weekend
        self.moved, self.since = moved, since
        self.kept = {}

    def collect(self, days):
        """What was counted on a day."""
        if days not in self.kept:
            rest = days.since.weekday() >= 5
            held = REST if rest else WORK
            if self.moved is not None and (days.since - MONDAY).days >= self.since:
                held = held + self.moved
            reports = int(self.reports * (self.weekend if rest else 1))
            counts = drawn(SPEC, self.random.multinomial(reports, held), self.random)
            epoch = epoch_of(days.since)
            self.kept[days] = CollectedTallies([(SPEC, counts)], {SPEC.digest: {epoch: reports}})
        return self.kept[days]

    def reports_of(self, days):
        return {day: self.collect(DayRange(day, day)).reports for day in days}

    def together(self, days):
        parts = [self.collect(DayRange(day, day)) for day in days]
        counts = sum(part.tallies[0][1] for part in parts)
        periods = {epoch_of(day): count for day, count in self.reports_of(days).items()}
        return CollectedTallies([(SPEC, counts)], {SPEC.digest: periods})

    def matched(self, before, after):
        return weekdays.match(
            [self.collect, self.collect], [self.reports_of(before), self.reports_of(after)]
        )


def told(before, after):
    found = change(before, after, ChangeRequest(QUERY))
    return any(number.told for number in found.numbers())


@pytest.mark.parametrize(
    ("before", "after", "differ"),
    [
        (days_of(0, 7), days_of(7, 7), False),
        (days_of(0, 7), days_of(7, 28), False),
        (days_of(0, 5), days_of(5, 2), True),
        (days_of(0, 30), days_of(30, 31), True),
        (days_of(0, 3), days_of(7, 3), False),
    ],
)
def test_whole_weeks_have_the_same_mix_however_many_they_are(before, after, differ):
    assert weekdays.unlike(before, after) == differ


def test_weekdays_are_named():
    assert weekdays.in_words({0, 1, 2, 3, 4}) == "Monday to Friday"
    assert weekdays.in_words({5, 6}) == "Saturday and Sunday"
    assert weekdays.in_words({0, 2, 6}) == "Monday, Wednesday and Sunday"


def test_working_days_and_a_weekend_are_not_compared_and_the_answer_says_what_to_ask():
    with pytest.raises(ParameterError) as caught:
        Rhythm(1).matched(days_of(0, 5), days_of(5, 2))
    said = str(caught.value)
    assert "before they are Monday to Friday, after Saturday and Sunday" in said
    assert "the same weekdays before, 2026-01-03 to 2026-01-04" in said


def test_each_weekday_has_the_same_weight_however_many_reports_it_has():
    """Two weekends and five working days, against whole weeks: 3 points would be 0.9 apart."""
    rhythm = Rhythm(2, reports=60_000, weekend=0.3)
    matched = rhythm.matched(days_of(5, 9), days_of(14, 14))
    found = change(matched.before, matched.after, ChangeRequest(QUERY))
    held = (5 * WORK + 2 * REST) / 7
    error = found.differences.standard_error
    assert (np.abs(found.differences.before - held) < 4 * error).all()
    assert (np.abs(found.differences.after - held) < 4 * error).all()
    assert matched.notice.message.startswith("The days before are not the same weekdays")
    assert "Monday to Sunday" in matched.notice.message


def test_a_weekday_with_hardly_any_reports_does_not_make_the_answer_imprecise():
    rhythm = Rhythm(3, weekend=0.01)
    matched = rhythm.matched(days_of(0, 6), days_of(7, 7))
    assert "Monday to Friday, each weighted alike; 90 reports of other weekdays" in (
        matched.notice.message
    )


def test_counts_are_of_as_many_reports_as_are_as_precise():
    rhythm = Rhythm(4, weekend=0.25)
    weighted = weekdays.weighted_alike(rhythm.collect, days_of(0, 7))
    ((spec, counts),) = weighted.tallies
    precise = 49 / (5 / 3_000 + 2 / 750)
    assert counts.sum() == pytest.approx(precise, abs=1)
    assert weighted.reports == pytest.approx(precise, abs=7)
    assert weighted.reports_by_spec == [(spec, 5 * 3_000 + 2 * 750)]


class Fleets(Rhythm):
    """The same devices report on all days before a day, and others on all days from it on."""

    def collect(self, days):
        """What was counted on a day."""
        if days not in self.kept:
            later = (days.since - MONDAY).days >= self.since
            if later not in self.kept:
                held = WORK + (self.moved if later and self.moved is not None else 0)
                self.kept[later] = self.random.multinomial(self.reports, held)
            counts = drawn(SPEC, self.kept[later], self.random)
            there = {SPEC.digest: {epoch_of(days.since): self.reports}}
            self.kept[days] = CollectedTallies([(SPEC, counts)], there)
        return self.kept[days]


@pytest.mark.statistics
def test_the_errors_of_weighted_weekdays_are_as_stated_and_a_change_is_found():
    """Of 200 pairs without a change, whose differences are the stated errors within 15%.

    The standard deviation of 200 scores has an error of 5%.
    """
    p_values, scores = [], []
    for seed in range(200):
        fleets = Fleets(seed, reports=1_000, since=9)
        matched = fleets.matched(days_of(0, 9), days_of(9, 12))
        found = change(matched.before, matched.after, ChangeRequest(QUERY)).differences
        p_values.append(found.p_value[0])
        scores.append((found.after - found.before)[0] / found.standard_error[0])
    assert stats.binomtest(int(np.sum(np.array(p_values) < 0.05)), 200, 0.05).pvalue > 1e-4
    assert np.std(scores) == pytest.approx(1, abs=0.15)
    moved = Fleets(7, reports=1_000, moved=np.array([-0.1, 0.1, 0]), since=9)
    matched = moved.matched(days_of(0, 9), days_of(9, 12))
    assert told(matched.before, matched.after)


def test_without_regard_to_weekdays_such_days_are_a_change():
    rhythm = Rhythm(5, reports=20_000)
    assert told(rhythm.together(days_of(0, 5)), rhythm.together(days_of(5, 2)))
    matched = rhythm.matched(days_of(0, 6), days_of(6, 8))
    assert not told(matched.before, matched.after)


def alarm(rhythm, days, by="day"):
    tests = ShapesInTurn(len(days), by, rhythm.collect)
    for day in days:
        there = DayRange(day, day)
        tests.add(there, rhythm.collect(there))
    places = {DayRange(day, day): number for number, day in enumerate(days)}
    return checks_of_shapes(tests.tests, places, DAYS)


@pytest.mark.statistics
@pytest.mark.parametrize("reports", [3_000, 20_000])
def test_a_series_by_day_with_a_weekly_rhythm_seldom_raises_an_alarm(reports):
    """At most 5% of the series; of 2,000 it was 5.2% and 4.6%, with a standard error of .5%."""
    repetitions = full_or_small(100, 40)
    raised = sum(
        any(check.verdict == "suspicious" for check in alarm(Rhythm(seed, reports), days_of(0, 21)))
        for seed in range(repetitions)
    )
    assert stats.binomtest(raised, repetitions, 0.05, "greater").pvalue > 1e-4


def test_an_alarm_by_day_finds_a_change_and_names_the_day():
    rhythm = Rhythm(8, 20_000, moved=np.array([-0.05, 0.05, 0]), since=16)
    found = alarm(rhythm, days_of(0, 21))
    assert [check.day for check in found if check.verdict == "suspicious"] == days_of(16, 5)
    assert {(check.period or 0) - (check.before or 0) for check in found} == {7}


def test_metrics_that_are_not_reported_daily_have_no_weekdays():
    assert weekdays.are_daily([SPEC])
    assert not weekdays.are_daily(
        [one_metric.spec_of('type = "boolean"\nepsilon = 1\nevery = "week"\n')]
    )
