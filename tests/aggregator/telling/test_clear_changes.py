"""Which changes a report of many metrics calls clear."""

from __future__ import annotations

import msgspec
import numpy as np

from deniable_aggregator.answers.answer import Answer, AskedQuestion
from deniable_aggregator.answers.common import DetectionNote
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.cautions import clear_in_words
from deniable_aggregator.telling.clear_changes import at_report_level
from tests.aggregator.answered import HEAD


def changed(metric: str, *p_values: float, low: float = 0.08) -> Answer:
    """A change whose numbers have these adjusted p-values."""
    numbers = [
        Measured(
            measure="difference in share", value=f"v{number}", before=0.2, after=0.3, estimate=0.1,
            standard_error=0.01, low=low, high=0.12, p_value=p_value,
            adjusted_p_value=p_value, told=p_value <= 0.05,
        )
        for number, p_value in enumerate(p_values)
    ]  # fmt: skip
    detection = DetectionNote(0.05, "few", "")
    return Answer(
        head=msgspec.structs.replace(HEAD, metric=metric, detection=detection),
        question=AskedQuestion(name="change"),
        numbers=numbers,
    )


def clear(*changes: Answer) -> dict[str, list[bool | None]]:
    levelled = at_report_level(changes)
    return {name: [row.told for row in each.numbers] for name, each in levelled.items()}


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


def test_whether_a_change_is_clear_does_not_depend_on_what_intervals_cover() -> None:
    """Those of many values together may reach beyond zero, though the test is as sure."""
    assert clear(changed("a", 0.001, low=-0.01)) == {"a": [True]}


def test_how_many_values_and_metrics_were_asked_about_together_is_said() -> None:
    levelled = at_report_level([changed("a", 0.001, 0.2), changed("b", 0.5)])["a"]
    asked = msgspec.structs.replace(levelled.head, values_asked=2)
    assert clear_in_words(msgspec.structs.replace(levelled, head=asked)) == (
        "a change is clear if noise and sampling hardly explain it, "
        "over all 2 values of 2 metrics together"
    )
