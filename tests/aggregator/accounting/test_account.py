"""What a registry costs: each metric by itself, all together, and within the device's budget."""

from __future__ import annotations

import json
from functools import lru_cache

import pytest

from deniable_aggregator.counting.account import account_of
from deniable_shared import registry

pytestmark = pytest.mark.audit

HEAD = """
registry = 1
application = "tests"
[budget]
epsilon_per_day = 10.0
epsilon_lifetime = 400.0
"""
FLAG = """
[metrics.flag]
type = "boolean"
epsilon = 0.5
"""
WEEKLY = """
[metrics.weekly]
type = "category"
values = ["a", "b", "c", "d", "e", "f", "g"]
other = "h"
absent = "a"
epsilon = 1.0
every = "week"
"""
ONCE = """
[metrics.once]
type = "boolean"
epsilon = 1.0
every = "once"
"""
REMEMBERED = """
[metrics.remembered]
type = "category"
values = ["a", "b"]
other = "c"
epsilon = 1.0
every = "day"
repeat = "memoize"
epsilon_permanent = 2.0
"""
WITH_DELTA = """
[metrics.seconds]
type = "number"
range = [0.0, 30.0]
mechanism = "gaussian"
epsilon = 1.0
delta = 1e-6
every = "week"
"""


@lru_cache
def parsed(text):
    """Once: the noise of a delta is looked for."""
    return registry.parse(text)


def of(*metrics, head=HEAD, **options):
    return account_of(parsed(head + "".join(metrics)), **options)


def test_together_is_more_than_each_and_less_than_all_added_up():
    found = of(FLAG, WEEKLY)
    assert [each.reports for each in found.metrics] == [365, 53]
    flag, weekly = (each.figures for each in found.metrics)
    assert flag.exact == pytest.approx(86.857, abs=1e-3)
    assert max(flag.exact, weekly.exact) < found.together.exact < flag.exact + weekly.exact
    together = found.together
    assert together.exact < together.renyi < together.renyi_mironov < together.advanced
    assert together.advanced < together.sum == pytest.approx(182.5 + 53)
    assert found.metrics[1].reports_absence
    assert found.slack.grid + found.slack.tails < 1e-3


def test_figures_grow_with_the_days_and_end_at_those_of_all_of_them():
    found = of(FLAG, WEEKLY)
    days = [days for days, _ in found.over_days]
    assert days[0] == 1
    assert days[-1] == 365
    figures = [each.exact for _, each in found.over_days]
    assert figures == sorted(figures)
    assert figures[-1] == pytest.approx(found.together.exact, rel=1e-3)
    assert all(each.exact <= each.sum for _, each in found.over_days)


def test_a_metric_that_is_reported_once_costs_as_much_in_ten_years():
    short, long = (of(ONCE, days=days) for days in (1, 3_650))
    assert short.together == long.together
    assert short.together.exact == pytest.approx(1, abs=1e-4)


def test_permanent_answers_cost_little_while_nothing_changes_and_much_if_it_may():
    found = of(REMEMBERED, REMEMBERED.replace("remembered", "again"))
    (first, _), together = found.metrics, found.together
    assert first.reports == 365
    bounds = first.histories
    assert bounds.never == pytest.approx(2)
    assert bounds.alike == pytest.approx(6)  # one answer for each of three values
    assert found.unchanging.sum == pytest.approx(4)
    assert 3.9 < found.unchanging.exact <= found.unchanging.sum
    assert found.counted == pytest.approx(12)
    assert 100 < bounds.once < bounds.always <= first.figures.sum
    assert together.sum == pytest.approx(2 * first.figures.sum)
    assert together.exact < together.sum


def test_the_budget_ends_no_reports_of_permanent_answers_that_are_paid_for():
    tight, wide = (
        of(FLAG, REMEMBERED, head=HEAD.replace("400.0", life)) for life in ("10.0", "400.0")
    )
    remembered = wide.metrics[1].figures.sum
    assert tight.together.sum == pytest.approx(10 + remembered)
    assert wide.together.sum == pytest.approx(182.5 + remembered)
    assert tight.unchanging.sum == pytest.approx(12)


def test_answers_that_are_sent_as_they_are_have_no_bound_but_while_nothing_changes():
    kept = REMEMBERED.replace("epsilon = 1.0", 'mechanism = "lduchi"\nepsilon = 2.0')
    kept = kept.replace('"category"\nvalues = ["a", "b"]\nother = "c"', '"number"\nrange = [0, 1]')
    found = of(FLAG, kept)
    assert found.together.sum is found.together.exact is None
    assert found.unchanging.exact < found.unchanging.sum
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["metrics"][1]["histories"]["once"] is None
    assert data["metrics"][1]["histories"]["never"] == pytest.approx(2)


def test_the_device_s_budget_ends_the_reports():
    head = HEAD.replace("400.0", "20.0")
    found = of(FLAG, WEEKLY, head=head)
    assert found.together.sum == 20
    assert found.counted == pytest.approx(182.5 + 53)
    assert found.days_until_lifetime_is_spent < 365
    assert found.together.exact == found.together.renyi < 20
    assert found.slack is None
    # Forty reports of half a nat each are all that this metric may ever send.
    assert found.metrics[0].figures.exact == pytest.approx(of(FLAG, days=40).together.exact)


def test_no_figure_is_more_than_the_sum_of_the_reports_that_fit_into_the_budget():
    """Twelve reports of 8 nats fit into 100, and a thirteenth does not."""
    flag = FLAG.replace("0.5", "8.0") + 'every = "month"\n'
    found = of(flag, head=HEAD.replace("400.0", "100.0"), days=336)
    assert found.counted == pytest.approx(104)
    assert 95.99 < found.together.exact <= 12 * found.metrics[0].epsilon * (1 + 1e-11)
    assert found.metrics[0].figures.exact == found.together.exact


def test_of_a_metric_that_its_budget_ends_the_slack_is_that_of_the_reports_that_fit():
    found = of(FLAG, head=HEAD.replace("400.0", "20.0"))
    assert found.is_stopped
    assert found.slack == of(FLAG, days=40).slack is not None


def test_deltas_of_reports_stand_beside_the_sum():
    found = of(FLAG, WITH_DELTA, delta=1e-6)
    assert found.together.sum_delta == pytest.approx(53e-6, rel=0.02)
    assert found.together.advanced is None
    assert found.together.exact < found.together.sum
    without = of(FLAG, WITH_DELTA, delta=0.0)
    assert without.together.exact is None
    assert without.together.renyi is None


def test_without_a_delta_there_is_the_sum_alone():
    figures = of(FLAG, WEEKLY, delta=0.0).together
    assert figures.exact == figures.renyi == figures.advanced == figures.sum


@pytest.mark.parametrize("epsilon", ["0.01", "8.0"])
@pytest.mark.parametrize("days", [1, 3_650])
def test_no_figure_is_more_than_the_sum(epsilon, days):
    figures = of(FLAG.replace("0.5", epsilon), days=days).together
    for each in (figures.advanced, figures.renyi, figures.exact):
        assert 0 < each <= figures.sum


def test_devices_of_one_person_compose():
    one, two = (of(FLAG, days=60, devices_per_person=devices) for devices in (1, 2))
    assert two.together.sum == pytest.approx(2 * one.together.sum)
    assert one.together.exact < two.together.exact < 2 * one.together.exact
    assert two.together.exact == pytest.approx(of(FLAG, days=120).together.exact)
    assert one.extended is None
    assert two.extended.epsilon == pytest.approx(2 * one.together.exact)
    assert two.extended.delta > one.delta


def test_a_shuffler_would_hide_fresh_reports_and_no_permanent_answers():
    found = of(FLAG, WITH_DELTA, days=30, shuffled_among=10_000)
    flag, with_delta = (each.figures for each in found.metrics)
    assert flag.shuffled < flag.exact / 50
    assert with_delta.shuffled == pytest.approx(with_delta.exact)
    assert found.together.shuffled < found.together.exact
    remembered = of(REMEMBERED, days=30, shuffled_among=10_000).unchanging
    assert remembered.shuffled == pytest.approx(remembered.exact)
    few = of(FLAG, days=30, shuffled_among=1).together
    assert few.shuffled == pytest.approx(few.exact)


def test_an_account_is_json_data():
    found = of(FLAG, WITH_DELTA, days=30, delta=1e-9, shuffled_among=100)
    data = json.loads(json.dumps(found.as_dict()))
    assert data["together"]["exact"] == found.together.exact
    assert [each["days"] for each in data["over_days"]][-1] == 30
