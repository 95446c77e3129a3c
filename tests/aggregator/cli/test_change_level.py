"""How often --fail-if-changed fails where nothing has changed, and what decides it.

Of 100 pairs of periods without a change at most 5% may fail, 5 on average: 20 or more have a
probability below 1e-6.
"""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from deniable_aggregator.answering.change import change
from deniable_aggregator.answering.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.answers.questions import ChangeQuery
from deniable_aggregator.doors.cli.estimate import is_changed
from deniable_aggregator.telling.clear_changes import numbers_at_level
from tests.aggregator.answered import change_answer
from tests.aggregator.simulated import drawn, spec_of

PAIRS, MOST = 100, 19
REPORTS = 10_000
SPEC = spec_of("grr", 8, 4)
HELD = np.array([0.4, 0.2, 0.1, 0.1, 0.08, 0.06, 0.04, 0.02])


def compared(generator, after=HELD):
    """The answer about two periods, each with other devices of a population."""
    tallies = [
        CollectedTallies(
            [(SPEC, drawn(SPEC, generator.multinomial(REPORTS, share), generator))], {}
        )
        for share in (HELD, after)
    ]
    query = ChangeQuery(before="2026-01-01", after="2026-01-02")
    return change_answer(change(*tallies, ChangeRequest(query)), *query.periods())


@pytest.mark.statistics
def test_where_nothing_has_changed_a_job_seldom_fails():
    generator = np.random.default_rng(6)
    assert sum(is_changed(compared(generator)) for _ in range(PAIRS)) <= MOST
    moved = HELD + np.array([-0.05, 0.05, 0, 0, 0, 0, 0, 0])
    assert all(is_changed(compared(generator, moved)) for _ in range(20))


@pytest.fixture(scope="module")
def answer():
    return compared(np.random.default_rng(6))


def with_p_values(answer, values, shape, combined=None):
    """The answer with these p-values, of a mean where there are any; told at the level of all."""
    rows = []
    if values is not None:
        row = answer.of("difference in share")[0]
        rows = [replace(row, measure="difference in mean", adjusted_p_value=values)]
    whole = answer.one("distance")
    if shape is not None:
        rows.append(replace(whole, p_value=shape))
    if combined is not None:
        rows.append(replace(whole, measure="difference in combined", p_value=combined))
    return replace(answer, numbers=numbers_at_level({"m": rows})["m"])


@pytest.mark.parametrize(
    ("p_values", "changed"),
    [
        ((0.05, None), True),
        ((0.051, None), False),
        ((0.03, 0.03), False),
        ((0.025, 1.0), True),
        ((1.0, 0.025), True),
        ((0.02, 0.02, 0.02), False),
        ((1.0, 1.0, 0.016), True),
    ],
)
def test_all_tests_together_have_the_level_of_one(answer, p_values, changed):
    assert is_changed(with_p_values(answer, *p_values)) == changed


def test_without_values_to_compare_the_distribution_decides(answer):
    assert is_changed(with_p_values(answer, None, 0.01))
    assert not is_changed(with_p_values(answer, None, None))
