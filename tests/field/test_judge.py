"""The field trial has power: it accepts right answers, and finds each kind of wrong one."""

import numpy as np
import pytest

from deniable_aggregator.simulating.draws import Batch, Recorded, Selection
from deniable_aggregator.simulating.truth import Truth
from field.asking import Answer, Question
from field.checks import reports, sums, warned
from field.deployment import deployment
from field.judge import OK, WRONG, judge
from field.reading import clear_changes, detected, shares

DEPLOYMENT = deployment(63, 1)
DEVICES = 500
LAW = {"light": 0.5, "dark": 0.35, "system": 0.15}
ERROR = 0.02
NORMAL = 1.96
SEED = 20_261_122
"""Fixed, so that the tests never change; a right answer is called wrong for one seed in 100."""


@pytest.fixture(scope="module")
def truth():
    """Sixty-three days of a category."""
    generator = np.random.default_rng(SEED)
    recorded = Recorded()
    for day in range(DEPLOYMENT.days):
        counts = generator.multinomial(DEVICES, list(LAW.values())).tolist()
        recorded.add([Batch("theme", day, "store", 1, tuple(LAW), counts)])
    return Truth(DEPLOYMENT, recorded)


def rows(truth, days, generator, claimed=1.0):
    """The shares of an answer whose errors are `claimed` times what they are."""
    found = []
    for value in LAW:
        true = truth.share("theme", [value], Selection(days))
        share, error = true + ERROR * generator.normal(), ERROR * claimed
        ends = {"low": share - NORMAL * error, "high": share + NORMAL * error}
        found.append(
            {"measure": "share", "value": value, "estimate": share, "standard_error": error, **ends}
        )
    return found


def verdicts(truth, question, numbers, periods=({"reports": DEVICES * DEPLOYMENT.days},), **more):
    """What the trial says to an answer, by line and measure."""
    head = {"periods": periods, "reports": sum(period["reports"] for period in periods)}
    answer = Answer(question, truth, {"head": head, "numbers": numbers, **more})
    found = [each for reader in question.reads for each in reader.read(answer, reader.line)]
    return {(each.line, each.measure): each.verdict for each in judge(found)}


def by_day(truth, claimed=1.0, said=DEVICES):
    """A series by day, and what the trial says to it."""
    generator = np.random.default_rng(SEED + 1)
    dates = [DEPLOYMENT.date_of(day).isoformat() for day in range(DEPLOYMENT.days)]
    periods = [{"since": date, "until": date, "reports": said} for date in dates]
    numbers = [
        {**row, "period": day}
        for day in range(DEPLOYMENT.days)
        for row in rows(truth, (day, day), generator, claimed)
    ]
    question = Question("by day", "theme", "series", [shares("shares"), reports()])
    return verdicts(truth, question, numbers, periods)


def test_right_answers_are_accepted(truth):
    assert set(by_day(truth).values()) == {OK}


def test_intervals_of_seven_tenths_of_their_width_are_found(truth):
    found = by_day(truth, claimed=0.7)
    assert found["shares", "coverage"] == WRONG
    assert found["shares", "error/claimed"] == WRONG


def test_a_wrong_denominator_is_found(truth):
    assert by_day(truth, said=DEVICES - 1)["which reports", "wrong"] == WRONG


def test_a_row_known_over_fewer_reports_than_it_says_is_found(truth):
    numbers = rows(truth, None, np.random.default_rng(SEED))
    numbers[0]["reports"] = DEVICES
    question = Question("in all", "theme", "estimate", [reports()])
    assert verdicts(truth, question, numbers)["which reports", "wrong"] == WRONG


@pytest.mark.parametrize(("false", "verdict"), [(0, OK), (8, WRONG)])
def test_values_that_nobody_holds_are_false_finds(truth, false, verdict):
    generator = np.random.default_rng(SEED)
    findings = []
    for week in range(9):
        days = (7 * week, 7 * week + 6)
        held = [{**row, "told": True} for row in rows(truth, days, generator)]
        absent = [
            {"measure": "share", "value": f"absent {number}", "estimate": 0.1,
             "standard_error": ERROR, "low": 0.06, "high": 0.14, "told": True}
            for number in range(false)
        ]  # fmt: skip
        question = Question("listed", "theme", "estimate", [], days=days)
        answer = Answer(question, truth, {"numbers": held + absent})
        findings += detected("finds").read(answer, "finds")
    assert judge(findings)[0].verdict == verdict


@pytest.mark.parametrize(("false", "verdict"), [(1, OK), (9, WRONG)])
def test_changes_that_are_none_are_false_finds(truth, false, verdict):
    findings = []
    for week in range(20):
        question = Question("week by week", "theme", "change", [], days=(week, week))
        told = {"light": week < false, "dark": False}
        changes = [
            {"measure": "difference in share", "value": value, "told": clear}
            for value, clear in told.items()
        ]
        answer = Answer(question, truth, {"numbers": changes})
        findings += clear_changes("changes").read(answer, "changes")
    assert judge(findings)[0].verdict == verdict


def test_adjusted_shares_that_do_not_add_up_are_found(truth):
    question = Question("in all", "theme", "estimate", [sums()])
    numbers = rows(truth, None, np.random.default_rng(SEED))
    for row, adjusted in zip(numbers, (0.5, 0.35, 0.16), strict=True):
        row["adjusted"] = adjusted
    assert verdicts(truth, question, numbers)["sums of shares", "wrong"] == WRONG


@pytest.mark.parametrize(("text", "verdict"), [("2026-01-07 has no reports", OK), ("", WRONG)])
def test_a_warning_that_is_due_must_be_there(truth, text, verdict):
    question = Question("an outage", "theme", "estimate", [warned("2026-01-07")])
    notices = [{"code": "missing_days", "severity": "warning", "message": text}]
    (found,) = verdicts(truth, question, [], notices=notices).values()
    assert found == verdict
