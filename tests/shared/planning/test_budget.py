from __future__ import annotations

import pytest

from deniable_shared.accounting import counted_epsilon
from deniable_shared.planning.budget import days_until_lifetime_is_spent, days_until_spent
from deniable_shared.planning.plan import plan
from deniable_shared.review import review
from tests.shared.review.registries import FLAG, registry


def of(epsilon, every, life):
    return registry(
        ("flag", f'type = "boolean"\nepsilon = {epsilon}\nevery = "{every}"'), life=life
    )


@pytest.mark.parametrize(
    ("epsilon", "every", "life", "days"),
    [
        (8, "month", 100, 336),
        (1, "month", 12.2, 365),
        (1, "week", 52.2, 365),
        (1, "day", 5.5, 6),
        (1, "week", 53, 365),
    ],
)
def test_the_days_of_a_budget_are_those_after_which_an_account_says_that_devices_stop(
    epsilon, every, life, days
):
    parsed = of(epsilon, every, life)
    specs = [metric.spec for metric in parsed.metrics.values()]
    lasts = days_until_lifetime_is_spent(parsed)
    for asked in (days, lasts, lasts + 1):
        assert (counted_epsilon(specs, asked) > life * (1 + 1e-9)) == (lasts < asked)


@pytest.mark.parametrize(("every", "life"), [("month", 12.2), ("week", 52.2)])
def test_a_budget_that_a_year_may_spend_is_found(every, life):
    parsed = of(1, every, life)
    assert "lifetime-budget" in [each.code for each in review(parsed).findings]
    (metric,) = parsed.metrics.values()
    assert plan(metric, devices=100_000, budget=parsed.budget).collection.budget_days < 365


def test_a_budget_lasts_for_good_where_reports_end_before_it():
    once = registry(("flag", f'{FLAG}every = "once"'), life=1)
    assert days_until_lifetime_is_spent(once) is None
    (metric,) = once.metrics.values()
    assert days_until_spent([metric.spec], 0.5) == 0
