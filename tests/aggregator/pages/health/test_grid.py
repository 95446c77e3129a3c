"""What the page of health makes of the table of estimates and of checks."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from deniable_aggregator.answers.administration import Metric
from deniable_aggregator.answers.answer import Answer, AskedQuestion, Check
from deniable_aggregator.answers.common import Run
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.row import Row
from deniable_aggregator.doors.pages.health import MOST_DAYS, health_view, read_days
from deniable_aggregator.doors.pages.health_grid import CELL_WORDS, metric_days, not_in_table
from tests.aggregator.answered import DAYS, HEAD

TODAY = date(2026, 3, 8)
WEEK = DayRange(TODAY - timedelta(7), TODAY)


def metric(name, *, first=TODAY - timedelta(60), last=TODAY, every="day", **more):
    fields = {
        "name": name,
        "type": "category",
        "description": "",
        "owners": [],
        "expires": None,
        "retention_days": None,
        "every": every,
        "mechanism": "ss",
        "epsilon": 1.0,
        "epsilon_permanent": None,
        "epsilon_total": None,
        "delta": 0.0,
        "version": "0" * 64,
        "registered": date(2026, 1, 1),
        "candidates": False,
        "discovers": False,
        "first_day": first,
        "last_day": last,
        "reports": 10,
        "excluded_reports": 0,
    }
    return Metric(**{**fields, **more})


def row(name, ago, marks=""):
    day = TODAY - timedelta(ago)
    return Row(
        application="flightdeck",
        metric=name,
        question="series",
        since=day,
        until=day,
        measure="share",
        reports=10,
        suspicious="suspicious" in marks,
        marks=marks,
        final=True,
    )


def cells(metrics, rows, days=WEEK, **looked_at):
    found = metric_days(metrics, rows, looked_at, days, TODAY)
    return {each.metric: each for each in found}


def test_marks_of_the_table_become_cells():
    marks = {7: "", 6: "suspicious", 5: "uneven", 4: "uneven suspicious", 3: "release", 1: ""}
    found = cells([metric("theme")], [row("theme", ago, text) for ago, text in marks.items()])
    assert found["theme"].cells == (
        *("ok", "suspicious", "uneven", "suspicious", "ok"),
        *("missing", "ok", "open"),
    )


def test_a_day_is_missing_only_where_reports_are_due():
    weekly = metric("font", every="week", last=TODAY - timedelta(6))
    found = cells([weekly], [row("font", 6)], DayRange(TODAY - timedelta(7), TODAY))["font"]
    assert found.cells == ("rest", "ok", *["rest"] * 5, "open")
    assert found.stopped_since is None


def test_days_before_the_first_report_and_after_the_last_are_told_from_those_not_worked_out():
    young = metric("young", first=TODAY - timedelta(5), last=TODAY - timedelta(4))
    found = cells([young, metric("other")], [row("other", 7)])
    assert found["young"].cells == (
        *("before", "before", "unknown", "unknown"),
        *("missing", "missing", "missing", "open"),
    )
    assert found["young"].worst == "stopped"
    assert found["other"].cells[1:-1] == ("unknown",) * 6


def test_metrics_that_the_table_does_not_have_are_to_be_checked():
    old = metric("old", last=TODAY - timedelta(30))
    silent = metric("silent", first=None, last=None)
    rows = [row("theme", 3)]
    assert not_in_table([metric("theme"), metric("word"), old, silent], rows, WEEK) == ["word"]


def test_the_worst_metric_comes_first_and_the_answer_names_it():
    metrics = [metric(name) for name in ("b", "c", "bad", "odd")]
    metrics.append(metric("gone", last=TODAY - timedelta(5)))
    rows = [row(name, ago) for name in ("b", "c") for ago in range(1, 8)]
    rows += [row("bad", 3, "suspicious"), row("odd", 2, "uneven"), row("gone", 5)]
    found = metric_days(metrics, rows, {}, WEEK, TODAY)
    assert [each.metric for each in found] == ["bad", "odd", "gone", "b", "c"]
    view = health_view(found, [], WEEK, checked_now=0, not_checked=0)
    assert view.answer == "Not all of them."
    assert view.finding == (
        "The reports of bad are not all those of honest devices. A key answers differently from "
        "the others in odd. No reports arrive any more of gone. No check fails in the other 3 "
        "metrics."
    )
    bad, *_ = view.lines
    linked = [cell for cell in bad.cells if cell.address]
    assert [cell.words for cell in linked] == ["a check fails"]
    assert linked[0].address == "/health?metric=bad&since=2026-03-05&until=2026-03-05"


def test_honest_reports_are_trusted_as_far_as_checks_can_see():
    found = metric_days([metric("a")], [row("a", n) for n in range(1, 8)], {}, WEEK, TODAY)
    view = health_view(found, [], WEEK, checked_now=0, not_checked=0)
    assert view.answer == "Yes, as far as checks can see."
    assert (
        view.finding == "No check fails in the reports of 1 metric from 2026-03-01 to 2026-03-08."
    )


@pytest.mark.parametrize(
    ("given", "since", "until"),
    [
        ({}, TODAY - timedelta(28), TODAY),
        ({"since": "-7d"}, TODAY - timedelta(7), TODAY),
        ({"since": "2026-02-01..2026-02-03"}, date(2026, 2, 1), date(2026, 2, 3)),
        ({"since": "2026-02-01", "until": "yesterday"}, date(2026, 2, 1), TODAY - timedelta(1)),
    ],
)
def test_days_are_read_as_commands_read_them(given, since, until):
    found = read_days(given, TODAY)
    assert (found.days, found.error) == (DayRange(since, until), "")


@pytest.mark.parametrize(
    "given",
    [{"since": "soon"}, {"since": "-400d"}, {"since": "today", "until": "-3d"}, {"until": "\x00"}],
)
def test_days_that_cannot_be_shown_are_answered_with_the_usual_ones_and_a_reason(given):
    found = read_days(given, TODAY)
    assert found.error
    assert (found.days.until - found.days.since).days < MOST_DAYS


def test_days_that_nobody_looked_at_and_days_left_out_are_not_called_days_without_reports():
    """Six days reported; of two nobody has looked at the reports, and of one all are left out."""
    since = TODAY - timedelta(7)

    def run(first, last):
        return [Run(since + timedelta(first), since + timedelta(last))]

    days = replace(
        DAYS, since=since, until=TODAY - timedelta(1), reported=6, not_checked=2,
        not_looked_at=run(0, 1), left_out=run(2, 2), missing=run(6, 6),
    )  # fmt: skip
    checks = [
        Check(day=since + timedelta(number), version="a" * 64, reports=10, verdict="ok")
        for number in (3, 4, 5)
    ]
    health = Answer(
        head=replace(HEAD, kind="health", days=days),
        question=AskedQuestion(name="health"),
        numbers=[],
        checks=checks,
    )
    found = cells([metric("theme")], [], theme=health)["theme"].cells
    assert found == ("unknown", "unknown", "left_out", "ok", "ok", "ok", "missing", "open")
    assert [CELL_WORDS[kind] for kind in found[1:3]] == ["not looked at", "left out"]
