"""What a registry's metrics send in so many days, as draws that compose."""

from __future__ import annotations

import itertools

import pytest

from deniable_shared import registry
from deniable_shared.accounting import components_of, counted_epsilon
from deniable_shared.periods import EVERY, most_periods, period

REGISTRY = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 10.0
epsilon_lifetime = 400.0
[metrics.fresh]
type = "boolean"
epsilon = 1.0
[metrics.weekly]
type = "category"
values = ["a", "b"]
other = "c"
epsilon = 1.0
every = "week"
[metrics.once]
type = "boolean"
epsilon = 1.0
every = "once"
[metrics.remembered]
type = "category"
values = ["a", "b"]
other = "c"
epsilon = 1.0
every = "day"
repeat = "memoize"
epsilon_permanent = 2.0
"""


@pytest.fixture(scope="module")
def specs():
    return [metric.spec for metric in registry.parse(REGISTRY).metrics.values()]


def test_reports_with_fresh_noise_are_as_many_draws(specs):
    fresh, weekly, once, *_ = components_of(specs, 365)
    assert (fresh.draws, weekly.draws, once.draws) == (365, 53, 1)
    assert fresh.epsilon == pytest.approx(1)
    assert not fresh.permanent


def test_permanent_answers_are_one_draw_while_nothing_changes():
    spec = registry.parse(REGISTRY).metrics["remembered"].spec
    of_days = {days: components_of([spec], days, changing=False) for days in (1, 2, 365)}
    assert all(each.draws == 1 and each.permanent for (each,) in of_days.values())
    assert [each.epsilon for (each,) in of_days.values()] == pytest.approx([1, 2, 2])


def test_values_that_may_change_cost_a_second_round_for_each_report_after_the_first(specs):
    mechanism = specs[-1].mechanism
    (single,) = components_of(specs[-1:], 1)
    first, later = components_of(specs[-1:], 365)
    assert first == single
    assert (first.draws, first.epsilon) == (1, mechanism.epsilon)
    assert later.draws == 364 * mechanism.second_round.draws
    assert later.permanent
    assert later.epsilon == mechanism.second_round.epsilon > 1


def test_devices_count_what_permanent_answers_can_cost(specs):
    total = specs[-1].mechanism.epsilon_total
    assert total == pytest.approx(6)
    counted = [counted_epsilon(specs[-1:], days) for days in (1, 3, 365)]
    assert counted == pytest.approx([1, 3, total])


def test_devices_of_one_person_draw_for_themselves(specs):
    one, three = (components_of(specs, 30, devices) for devices in (1, 3))
    assert [each.draws for each in three] == [3 * each.draws for each in one]
    assert [each.epsilon for each in three] == [each.epsilon for each in one]


@pytest.mark.parametrize("days", [1, 2, 7, 8, 28, 30, 31, 59, 365, 366, 3650])
@pytest.mark.parametrize("every", EVERY)
def test_days_fall_into_as_many_periods_as_the_worst_first_day_makes_them(every, days):
    touched = (
        len({period(every, day) for day in (*range(start, start + days, 7), start + days - 1)})
        for start in itertools.chain(range(0, 800, 3), (30, 58, 89))
    )
    if every == "day":
        assert most_periods(every, days) == days
    else:
        assert most_periods(every, days) == max(touched)
