"""Which changes a report of many metrics calls clear."""

from __future__ import annotations

from datetime import date

import numpy as np
from msgspec import UNSET

from deniable_aggregator.answers.common import DetectionNote, FakesNote, IntervalNote
from deniable_aggregator.answers.trends import Change, ComparedPeriod, Difference
from deniable_aggregator.report.clear_changes import at_report_level
from tests.aggregator.answered import BOTH_HEALTHY, DAYS


def changed(metric: str, *p_values: float) -> Change:
    """A change whose rows have these adjusted p-values."""
    period = ComparedPeriod(date(2026, 1, 1), date(2026, 1, 7), 1_000, [], DAYS, [])
    rows = [
        Difference(
            value=f"v{number}", before=0.2, after=0.3, change=0.1, standard_error=0.01,
            standard_error_same_devices=None, low=0.08, high=0.12, p_value=p_value,
            adjusted_p_value=p_value, changed=p_value <= 0.05, shift_if_fake=0.0,
        )
        for number, p_value in enumerate(p_values)
    ]  # fmt: skip
    return Change(
        application="flightdeck", description="", notices=[], metric=metric, kind="shares",
        before=period, after=period, pending_reports=0, excluded_reports=0, health=BOTH_HEALTHY,
        margin="noise", unit="", overlap="", interval=IntervalNote(kind="one", level=0.95,
        meaning=""), test=DetectionNote(0.05, "few", ""), fakes=FakesNote(0.01, ""),
        changes=rows, not_compared=[], segment=UNSET,
    )  # fmt: skip


def clear(*changes: Change) -> dict[str, list[bool]]:
    found = at_report_level(changes)
    return {name: [row.changed for row in each.changes] for name, each in found.items()}


def test_one_metric_alone_is_as_it_was_answered() -> None:
    assert clear(changed("a", 0.04, 0.2)) == {"a": [True, False]}


def test_a_change_that_chance_makes_in_one_of_many_metrics_is_not_clear() -> None:
    others = [changed(f"m{number}", 0.5) for number in range(19)]
    found = clear(changed("a", 0.04), changed("b", 1e-9, 0.02), *others)
    assert found["a"] == [False]
    assert found["b"] == [True, False]


def test_where_nothing_has_changed_few_reports_name_a_change() -> None:
    generator = np.random.default_rng(5)
    named = sum(
        any(map(any, clear(*(changed(f"m{n}", p) for n, p in enumerate(p_values))).values()))
        for p_values in generator.random((400, 30))
    )
    assert named <= 0.05 * 400 + 3 * (400 * 0.05 * 0.95) ** 0.5


def test_no_comparison_gives_no_change() -> None:
    assert at_report_level([]) == {}


def test_a_change_is_not_clear_if_its_interval_denies_it() -> None:
    change = changed("a", 0.001)
    change.changes[0].low = -0.01
    assert clear(change) == {"a": [False]}
