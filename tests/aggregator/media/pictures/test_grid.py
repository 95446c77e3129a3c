"""The health of a metric as a picture: verdicts by key and day."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from deniable_aggregator.answers.answer import Check
from deniable_aggregator.answers.common import Notice
from deniable_aggregator.media.pictures.files import html
from deniable_aggregator.media.pictures.svg import svg
from deniable_aggregator.telling.figure_words import table_of
from deniable_aggregator.telling.figures import figure_of
from tests.aggregator.media.pictures.drawn import (
    DAYS,
    SVG,
    answer_of,
    days_of,
    of_class,
    parsed,
)

VERSION = "0" * 64
LABEL = "<b>partner"


def health(days=31, keys=3):
    """A month in which the second key is suspicious on two days, and day 5 has no reports."""
    checks = []
    for number in range(days):
        if number == 5:
            continue
        day = DAYS.since + timedelta(number)
        odd = "suspicious" if number in (8, 9) else "ok"
        checks.append(Check(day=day, version=VERSION, title="grr", reports=300, verdict=odd))
        checks.append(Check(day=day, version=VERSION, name="sum", verdict=odd, p=1e-9))
        for key in range(keys):
            verdict = odd if key == 1 else "ok"
            name = {"key": f"{key:032x}", "label": LABEL if key == 1 else ""}
            reports = 100 * (keys - key)
            checks.append(Check(day=day, version=VERSION, reports=reports, verdict=verdict, **name))
            checks.append(
                Check(day=day, version=VERSION, name="seeds", verdict=verdict, p=0.1, **name)
            )
    return answer_of(
        question="health",
        kind="health",
        days=replace(days_of(DAYS.since, days), uneven=[DAYS.since + timedelta(20)]),
        checks=checks,
        notices=[Notice("suspicious_reports", "warning", "Not all are honest.")],
        interval=None,
    )


def test_every_key_and_day_has_its_verdict_the_worst_key_first():
    root = parsed(svg(figure_of(health())))
    rows = of_class(root, "row")
    labels = [of_class(row, "label")[0].text for row in rows]
    assert labels[:2] == ["All reports", f"{LABEL} (0000..)"]
    assert [len(of_class(row, "ok")) for row in rows] == [27, 28, 30, 30]
    assert [len(of_class(row, "suspicious")) for row in rows] == [2, 2, 0, 0]
    assert [len(of_class(row, "uneven")) for row in rows] == [1, 0, 0, 0]
    said = root.find(f"{SVG}desc").text
    assert "(0000..): suspicious reports 2026-01-09 to 2026-01-10" in said
    assert "Warning: Not all are honest." in said


def test_a_year_of_days_has_one_shape_for_days_in_a_row():
    root = parsed(svg(figure_of(health(days=366)), 360))
    rows = of_class(root, "row")
    assert [len(of_class(row, "suspicious")) for row in rows] == [1, 1, 0, 0]


def test_of_many_keys_the_worst_are_drawn_and_the_rest_is_said():
    (panel,) = figure_of(health(keys=40)).panels
    assert len(panel.rows) == 26
    assert panel.left_out == "15 more keys are not drawn; none is worse"
    assert table_of(panel)[1][0][:2] == ["All reports", "suspicious reports"]


def test_a_label_cannot_act():
    assert "<b>partner" not in html(figure_of(health()))
