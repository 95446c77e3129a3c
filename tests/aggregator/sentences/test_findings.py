"""What sentences say, and that they say no more than the answers."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from deniable_aggregator.answers.common import Notice
from deniable_aggregator.answers.days import Days, Run
from deniable_aggregator.answers.estimates import SegmentShares
from deniable_aggregator.answers.lifts import Lift
from deniable_aggregator.answers.segments import SegmentSize
from deniable_aggregator.sentences import basis, cautions, clear_changes, finding, sentence
from deniable_shared.characters import visible_constraint
from tests.aggregator.answered import DAYS
from tests.aggregator.sentences.answers import (
    change,
    difference,
    every_answer,
    mean,
    series,
    share,
    shares,
)

CHROME = share("chrome", 0.44, 0.45, 0.46)
SAFARI = share("safari", 0.20, 0.21, 0.22)
EDGE = share("edge", -0.002, 0.002, 0.0058, detected=False)


def test_the_largest_value_leads_where_ranges_do_not_overlap() -> None:
    assert finding(shares(SAFARI, CHROME, EDGE)) == (
        "chrome leads with 44 to 46% of reports, then safari with 20 to 22%; edge can't be told "
        "from zero (below 0.6%)."
    )


def test_values_whose_ranges_overlap_are_too_close_to_call() -> None:
    close = share("safari", 0.43, 0.44, 0.45)
    assert finding(shares(CHROME, close)) == (
        "chrome with 44 to 46% of reports and safari with 43 to 45% are too close to call."
    )


def test_values_that_cannot_be_told_from_zero_are_said_with_how_large_they_may_be() -> None:
    rows = [share(f"v{n}", -0.01, 0.001, 0.005 + n / 1_000, detected=False) for n in range(7)]
    assert finding(shares(*rows)) == "None of 7 values can be told from zero (each below 1.1%)."


def test_a_flag_is_said_without_knowing_what_it_is_about() -> None:
    assert finding(shares(share("true", 0.44, 0.45, 0.46))) == "True: 44 to 46% of reports."


@pytest.mark.parametrize("value", ["no", "other", "None", "99", "9 of 10", "a, b and c"])
def test_a_value_that_reads_like_a_word_of_the_sentence_is_quoted(value: str) -> None:
    text = finding(shares(share(value, 0.44, 0.45, 0.46), SAFARI))
    assert text.startswith(f'"{value}" leads with 44 to 46% of reports')


def test_shares_within_a_segment_say_so_first() -> None:
    size = SegmentSize("channel", "beta", 0.13, 0.005, 0.12, 0.14, True, 0.01)
    whole = shares(CHROME, SAFARI)
    fields = {name: getattr(whole, name) for name in whole.__struct_fields__}
    known = {name: fields[name] for name in SegmentShares.__struct_fields__ if name in fields}
    within = SegmentShares(**{**known, "segment": size, "reports_left_out": 0})
    assert finding(within).startswith("Within channel=beta (12 to 14% of all): chrome leads")


def test_pairs_that_clearly_go_together_are_said_with_their_lift() -> None:
    lift = Lift(
        values=("search=true", "comments=true"), share=0.2, expected=0.14, lift=1.46,
        standard_error=0.02, low=1.42, high=1.5, p_value=1e-9, adjusted_p_value=1e-9,
        association="together", shift_if_fake=0.1, reports=1_000,
    )  # fmt: skip
    answer = shares(CHROME)
    answer.lifts = [lift]
    assert (
        "search=true and comments=true go together (1.42 to 1.50 times as often as if independent)"
        in finding(answer)
    )


def test_a_lift_that_rounds_to_one_is_said_without_a_number() -> None:
    lift = Lift(
        values=("a=true", "b=true"), share=0.01, expected=0.04, lift=0.3, standard_error=0.3,
        low=-0.2, high=0.98, p_value=0.001, adjusted_p_value=0.01, association="apart",
        shift_if_fake=0.1, reports=1_000,
    )  # fmt: skip
    answer = shares(CHROME)
    answer.lifts = [lift]
    text = finding(answer)
    assert "a=true and b=true exclude each other (less often than if independent)" in text


def test_a_clear_change_is_said_with_its_range_and_no_cause() -> None:
    answer = change(
        difference("dark", [0.08, 0.1, 0.12]), difference("a", [-0.01, 0, 0.003], changed=False)
    )
    assert finding(answer) == (
        "Clear change: dark rose from 40% to 50%, by 8 to 12 points; no clear change of "
        '"a" (less than 1.0 points either way).'
    )
    assert clear_changes(answer) == ["dark rose from 40% to 50%, by 8 to 12 points"]


def test_no_clear_change_says_what_can_be_excluded() -> None:
    answer = change(difference(None, [-0.2, 0.05, 0.3], changed=False), kind="mean")
    assert finding(answer) == "No clear change of the mean (less than 0.3 either way)."


def test_a_series_sets_the_last_period_against_the_one_before_and_the_first() -> None:
    rows = [
        [share("dark", *ends)]
        for ends in ((0.3, 0.31, 0.32), (0.43, 0.44, 0.45), (0.44, 0.45, 0.46))
    ]
    assert finding(series(*rows)) == (
        "In the last week (2026-01-19 to 2026-01-25): dark 44 to 46% (43 to 45% the week before, "
        "up from 30 to 32% in the first week)."
    )


def test_a_series_says_which_period_its_numbers_are_of() -> None:
    answer = series(*[[share("dark", 0.3, 0.31, 0.32)]] * 2)
    answer.periods[1].marks = ["incomplete"]
    assert "In the last whole week (2026-01-05 to 2026-01-11)" in finding(answer)
    answer.periods = answer.periods[1:]
    assert "In the week so far (2026-01-12 to 2026-01-18)" in finding(answer)


def test_a_sentence_begins_with_warnings_and_ends_with_what_it_is_based_on() -> None:
    answer = shares(CHROME, SAFARI)
    answer.notices = [Notice("x", "note", "a note"), Notice("y", "warning", "reports are forged")]
    assert cautions(answer) == ["Reports are forged."]
    assert sentence(answer).endswith(
        "Based on 200,024 reports from 2026-01-01 to 2026-01-31; 95% intervals for noise only, "
        "each by itself."
    )


def days(*missing: tuple[int, int], reported: int, incomplete: int | None = None) -> Days:
    runs = [Run(date(2026, 1, first), date(2026, 1, last)) for first, last in missing]
    today = [] if incomplete is None else [date(2026, 1, incomplete)]
    return msgspec.structs.replace(DAYS, missing=runs, reported=reported, incomplete=today)


@pytest.mark.parametrize(
    ("covered", "said"),
    [
        (days((29, 31), reported=28), ["There are no reports from 2026-01-29 on."]),
        (days((31, 31), reported=30, incomplete=31), ["2026-01-31 is not over."]),
        (days((2, 7), (9, 14), (16, 21), (23, 28), (30, 31), reported=5), []),
        (days((10, 11), (30, 31), reported=27), []),
    ],
    ids=["stopped", "today", "once a week", "as long as before"],
)
def test_reports_that_stopped_are_told_from_gaps_that_are_usual(covered: Days, said: Any) -> None:
    answer = shares(CHROME)
    answer.days = covered
    assert cautions(answer) == said


def test_days_that_nobody_checked_are_a_caution() -> None:
    answer = shares(CHROME)
    answer.days = msgspec.structs.replace(days(reported=31), not_checked=9)
    (told,) = cautions(answer)
    assert told == "9 of 31 days with reports were not checked for forged reports."


NUMBER = re.compile(r"(?<![\w.-])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
QUOTED = re.compile(r'"[^"]*"')


def numbers_of(answer: Any) -> list[float]:
    found: list[float] = []

    def walk(value: Any) -> None:
        if isinstance(value, bool):
            return
        if isinstance(value, int | float):
            found.append(float(value))
        elif isinstance(value, dict):
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            found.append(float(len(value)))
            for each in value:
                walk(each)

    walk(msgspec.to_builtins(answer))
    for row in [row for row in _rows(msgspec.to_builtins(answer)) if row["high"] >= row["low"]]:
        found.append((row["high"] - row["low"]) / 2)
    return found


def _rows(value: Any) -> Any:
    if isinstance(value, dict):
        if "low" in value and "high" in value:
            yield value
        for each in value.values():
            yield from _rows(each)
    elif isinstance(value, list):
        for each in value:
            yield from _rows(each)


@settings(deadline=None, max_examples=150)
@given(every_answer)
def test_no_number_is_in_a_sentence_that_is_not_in_the_answer(answer: Any) -> None:
    text = QUOTED.sub("", DATE.sub("", f"{finding(answer)} {basis(answer)}"))
    text = re.sub(r"\d+th percentile", "", text)
    known = numbers_of(answer)
    known += [abs(100 * each) for each in known] + [abs(each) for each in known]
    counts = set(range(1, 30)) | {95}
    for printed in NUMBER.findall(text):
        value = float(printed.replace(",", ""))
        digits = len(printed.partition(".")[2])
        step = 10.0 ** (-digits if "." in printed else len(printed) - len(printed.rstrip("0")))
        near = min(abs(value - each) for each in known)
        assert near <= step * 1.001 or value in counts or value in (0, 100), (printed, text)


@settings(deadline=None, max_examples=150)
@given(every_answer)
def test_sentences_are_text_that_can_be_printed_and_claim_nothing_that_was_not_tested(
    answer: Any,
) -> None:
    text = sentence(answer)
    assert visible_constraint(text) is None
    assert text.endswith(".")
    lower = QUOTED.sub("", text).lower()
    for word in (
        "significant",
        "because",
        "caused",
        "users",
        "people",
        "probably",
        "nan",
        "none of 0",
    ):
        assert word not in lower


def test_a_mean_is_a_range_of_numbers() -> None:
    assert finding(mean(4.04, 4.12, 4.2)) == "The mean is 4.04 to 4.20."
