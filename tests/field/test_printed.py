"""Printed tables are read as a person reads them, and a narrow interval is found."""

from __future__ import annotations

import math

import pytest

from deniable_aggregator.simulating.draws import Batch, Recorded
from deniable_aggregator.simulating.truth import Truth
from field.asking import Answer, Question
from field.deployment import deployment
from field.findings import Check, Interval
from field.judge import OK, WRONG, judge
from field.printed import difference_in, number_in, printed_series, printed_shares, share_in


@pytest.mark.parametrize(
    ("cell", "estimate", "low", "high"),
    [
        ("17.7% ± 0.4%", 17.7, 17.3, 18.1),
        ("5% [4, 6]", 5, 4, 6),
        ("45%  44 to 46%", 45, 44, 46),
        ("44 to 46%  45%", 45, 44, 46),
        ("44 to 46%", math.nan, 44, 46),
        ("below 0.6%", math.nan, 0, 0.6),
        ("can't tell from zero  below 0.6%", math.nan, 0, 0.6),
        ("above 99%", math.nan, 99, 100),
        ("anything from 0 to 100%", math.nan, 0, 100),
    ],
)
def test_a_printed_share_has_the_ends_that_a_person_reads(cell, estimate, low, high):
    assert share_in(cell) == pytest.approx((estimate, low, high), nan_ok=True)


@pytest.mark.parametrize(
    ("cell", "estimate", "low", "high"),
    [
        ("62 ± 8", 62, 54, 70),
        ("2.1 [1.4, 2.8]", 2.1, 1.4, 2.8),
        ("2.1  1.4 to 2.8", 2.1, 1.4, 2.8),
        ("can't place [4.0, 9.0]", math.nan, 4, 9),
        ("12,300 to 12,500", math.nan, 12_300, 12_500),
    ],
)
def test_a_printed_number_has_the_ends_that_a_person_reads(cell, estimate, low, high):
    assert number_in(cell) == pytest.approx((estimate, low, high), nan_ok=True)


@pytest.mark.parametrize(
    ("text", "estimate", "low", "high"),
    [
        ("-25.7 points [-27.9, -23.6]  yes  <1e-06", -25.7, -27.9, -23.6),
        ("0 [-12, 11]  no clear change", 0, -12, 11),
        ("-26 points  down 23 to 28 points  yes", -26, -28, -23),
        ("up 8 to 12 points  yes", math.nan, 8, 12),
        ("up 1 point  yes", math.nan, 1, 1),
        ("+8 to +12 points", math.nan, 8, 12),
        ("less than 2 points either way  no clear change", math.nan, -2, 2),
        ("less than 0.2 either way", math.nan, -0.2, 0.2),
    ],
)
def test_a_printed_difference_has_the_ends_that_a_person_reads(text, estimate, low, high):
    assert difference_in(text) == pytest.approx((estimate, low, high), nan_ok=True)


@pytest.mark.parametrize("text", ["2,100 reports", "", "yes  0.5"])
def test_what_has_no_interval_is_no_difference(text):
    assert difference_in(text) is None


ROW = {"measure": "share", "value": "light", "estimate": 0.484, "low": 0.4732, "high": 0.4945}


def truth_of_a_day():
    """A thousand devices of which 484 hold "light"."""
    recorded = Recorded()
    recorded.add([Batch("theme", 0, "store", 1, ("light", "dark"), (484, 516))])
    return Truth(deployment(63, 1), recorded)


def test_a_printed_series_is_read_below_its_headings():
    day = str(deployment(63, 1).date_of(0))
    content = {
        "head": {"periods": [{"since": day, "until": day, "reports": 1_000}]},
        "numbers": [ROW],
    }
    table = f"""
period      reports  marks        value   share  95% interval   -3.5 to 66.2%
{day}    1,000  new version  light   48.4%  47.3 to 49.5%  │   ●"""
    question = Question("as a table", "theme", "series", [], days=(0, 0), command=())
    answer = Answer(question, truth_of_a_day(), content, table)
    reader = printed_series("printed series")
    findings = list(reader.read(answer, reader.line))
    (interval,) = (each for each in findings if isinstance(each, Interval))
    assert (interval.estimate, interval.low, interval.high) == (48.4, 47.3, 49.5)
    assert interval.covers
    assert all(each.right for each in findings if isinstance(each, Check))


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        ("light    48.4% ± 1.0%  yes  │ ●", WRONG),
        ("light    48.4%  47.3 to 49.5%  yes  │ ●", OK),
        ("light    48.4%  47 to 50%  yes", OK),
        ("light    48.4%  47.4 to 49.5%  yes", WRONG),
    ],
)
def test_an_interval_that_is_printed_narrower_than_computed_is_wrong(table, verdict):
    question = Question("as a table", "theme", "estimate", [], days=(0, 0), command=())
    answer = Answer(
        question,
        truth_of_a_day(),
        {"head": {"periods": [{"reports": 1_000}]}, "numbers": [ROW]},
        table,
    )
    reader = printed_shares("printed shares")
    findings = list(reader.read(answer, reader.line))
    assert [type(each) for each in findings] == [Check, Interval, Check]
    verdicts = {each.measure: each.verdict for each in judge(findings)}
    assert verdicts == {"coverage": OK, "wrong": verdict}
