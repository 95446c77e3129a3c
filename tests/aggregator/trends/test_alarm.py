"""Whether the distribution has changed from one period of a series to the next."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from deniable_aggregator.answering.alarm import (
    MOST_PERIODS,
    ShapesInTurn,
    alarm_note,
    checks_of_shapes,
)
from deniable_aggregator.answering.estimation.inputs import CollectedTallies
from deniable_aggregator.answering.series import series
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.questions import SeriesQuery
from deniable_aggregator.telling.lines import alarm_lines
from deniable_shared.errors import ParameterError
from tests import one_metric
from tests.aggregator.answered import DAYS, answer
from tests.aggregator.simulated import drawn, spec_of

SPEC, REPORTS = spec_of("grr", 4, 3), 2_000
BEFORE, AFTER = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.3, 0.3, 0.2, 0.2])


def day(number):
    there = date(2026, 1, 1) + timedelta(7 * number)  # the same weekday
    return DayRange(there, there)


def gathered(held, number, random, spec=SPEC):
    counts = drawn(spec, random.multinomial(REPORTS, held), random)
    return CollectedTallies([(spec, counts)], {spec.digest: {number: REPORTS}})


def alarms(days, random, covered=DAYS):
    """The tests of a series whose days have these shares."""
    tests = ShapesInTurn(len(days), "day", None)
    for number, held in enumerate(days):
        if held is not None:
            tests.add(day(number), gathered(held, number, random))
    return checks(tests.tests, covered)


def checks(tests, covered=DAYS):
    return checks_of_shapes(tests, {day(number): number for number in range(31)}, covered)


@pytest.mark.statistics
def test_a_series_in_which_nothing_changes_seldom_raises_an_alarm():
    """At most 5% of 80 series, with a standard error of 2.4%; uncorrected it would be 17%."""
    random = np.random.default_rng(1)
    found = [alarms([BEFORE] * 5, random) for _ in range(80)]
    assert sum(alarm_note(each).raised for each in found) / 80 < 0.1
    uncorrected = [any(test.p <= 0.05 for test in each) for each in found]
    assert sum(uncorrected) / 80 > 0.1


def test_the_alarm_names_the_period_in_which_the_distribution_changed():
    random = np.random.default_rng(2)
    for _ in range(5):
        found = alarms([BEFORE, BEFORE, AFTER, AFTER], random)
        assert alarm_note(found).raised
        assert [test.verdict for test in found] == ["ok", "suspicious", "ok"]
        assert [(test.before, test.period) for test in found] == [(0, 1), (1, 2), (2, 3)]


def test_the_alarm_is_said_in_words():
    found = answer(asked([BEFORE, BEFORE, AFTER, AFTER], alarm=True))
    (line,) = alarm_lines(found)
    assert line == "Alarm: 2026-01-15 is unlike 2026-01-08 as a whole, p 0.0015 of 3 tests."
    calm = answer(asked([BEFORE, BEFORE], alarm=True))
    assert [*alarm_lines(calm)] == [
        "No alarm: no clear change of the whole distribution in 1 test."
    ]


def test_a_period_without_reports_is_passed_over():
    (test,) = alarms([BEFORE, None, AFTER], np.random.default_rng(3))
    assert (test.before, test.period, test.day) == (0, 2, date(2026, 1, 15))
    assert test.verdict == "suspicious"


def test_a_period_that_is_not_over_is_not_tested():
    not_over = replace(DAYS, incomplete=[date(2026, 1, 15)])
    (test,) = alarms([BEFORE, BEFORE, AFTER], np.random.default_rng(14), not_over)
    assert (test.day, test.verdict) == (date(2026, 1, 8), "ok")


def asked(days, spec=SPEC, **options):
    random = np.random.default_rng(5)
    there = {day(number): gathered(held, number, random, spec) for number, held in enumerate(days)}
    return series(there.__getitem__, [spec], list(there), SeriesQuery(**options))


def test_a_series_has_an_alarm_where_it_is_asked_for():
    found = answer(asked([BEFORE, AFTER], alarm=True))
    assert found.head.alarm.raised
    assert found.checks[0].p == pytest.approx(1 / 2_001)
    without = answer(asked([BEFORE, AFTER]))
    assert (without.head.alarm, without.checks) == (None, [])


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(ParameterError, match="for an alarm, got 1"):
        asked([BEFORE], alarm=True)
    several = one_metric.spec_of(
        'type = "attributes"\nepsilon = 1\nattributes = { a = "boolean", b = "boolean" }\n'
    )
    with pytest.raises(ParameterError, match="alarm does not work for a metric of attributes"):
        series(None, [several], [day(0), day(1)], SeriesQuery(alarm=True))
    with pytest.raises(ParameterError, match="alarm must be left out within a segment"):
        asked([BEFORE, AFTER], alarm=True, segment="beta")
    with pytest.raises(ParameterError, match=f"left out for more than {MOST_PERIODS} periods"):
        ShapesInTurn(MOST_PERIODS + 1, "day", None)


def test_as_many_periods_as_allowed_can_raise_an_alarm():
    """The least p-value of 100 tests is 100 / 2,001."""
    random = np.random.default_rng(6)
    before, after = (gathered(held, 0, random) for held in (BEFORE, AFTER))
    tests = ShapesInTurn(MOST_PERIODS, "day", None)
    tests.add(day(0), before)
    tests.add(day(1), after)
    (changed,) = tests.tests
    same = [changed._replace(p_value=1.0)] * (MOST_PERIODS - 2)
    assert alarm_note(checks([changed, *same])).raised
    assert not alarm_note(checks([changed, *same, same[0]])).raised
