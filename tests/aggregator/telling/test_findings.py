"""What sentences say, and that they say no more than the answers."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from deniable_aggregator.answers.common import Days, NamedKey, Notice, PeriodCounts, Run
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.telling.cautions import basis, cautions
from deniable_aggregator.telling.changes import clear_changes, ways_of_change
from deniable_aggregator.telling.findings import finding, sentence
from deniable_shared.characters import visible_constraint
from tests.aggregator.answered import DAYS
from tests.aggregator.telling.answers import (
    change,
    difference,
    every_answer,
    health,
    looked,
    mean,
    series,
    share,
    shares,
    string,
    strings,
    suspicious,
    warned,
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


def ranked(number: Measured, first: int, last: int) -> Measured:
    return replace(number, rank_first=first, rank_last=last)


def test_nothing_leads_whose_rank_is_not_sure_even_where_ranges_are_apart() -> None:
    close = share("safari", 0.41, 0.42, 0.43)
    assert finding(shares(ranked(CHROME, 1, 2), ranked(close, 1, 2))) == (
        "chrome with 44 to 46% of reports and safari with 41 to 43% are too close to call."
    )
    third = ranked(share("edge", 0.10, 0.11, 0.12), 3, 3)
    assert "are too close to call, surely the top 2, then edge" in finding(
        shares(ranked(CHROME, 1, 2), ranked(close, 1, 2), third)
    )


def test_what_follows_the_leader_has_its_ranks_where_they_are_not_sure() -> None:
    others = [ranked(share(name, 0.20, 0.21, 0.22), 2, 4) for name in ("safari", "edge", "opera")]
    least = ranked(share("links", 0.01, 0.02, 0.03), 5, 5)
    assert finding(shares(ranked(CHROME, 1, 1), *others, least)) == (
        "chrome leads with 44 to 46% of reports, then safari with 20 to 22% and edge with 20 to "
        "22%, too close to call, surely among the top 4; 2 more values are above zero."
    )
    first = ranked(share("safari", 0.20, 0.21, 0.22), 2, 2)
    last = ranked(share("edge", 0.10, 0.11, 0.12), 3, 4)
    assert "safari with 20 to 22% and edge with 10 to 12% (surely among the top 4)" in finding(
        shares(ranked(CHROME, 1, 1), first, last, ranked(least, 3, 4), least)
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
    beta = "channel=beta"
    size = Measured(
        measure="segment size", segment=beta, estimate=0.13, low=0.12, high=0.14, told=True
    )
    within = [replace(each, segment=beta) for each in (CHROME, SAFARI)]
    text = finding(shares(size, *within, segment=beta))
    assert text.startswith("Within channel=beta (12 to 14% of all): chrome leads")


def of_sets(*numbers: Measured, periods: int) -> Any:
    answer = shares(*numbers)
    answer.head.meanings = {"several": "a device may have several items"}
    answer.head.period_counts = PeriodCounts(periods, 100)
    return answer


def test_shares_of_sets_overlap_and_the_sizes_of_sets_are_said() -> None:
    git, latex = share("git", 0.29, 0.31, 0.33), share("latex", 0.10, 0.11, 0.12)
    sizes = [
        Measured(measure="items per device", estimate=2.2, low=2.15, high=2.25),
        Measured(
            measure="set size", value="no items", estimate=0.3, low=0.29, high=0.31, told=True
        ),
        Measured(
            measure="set size",
            value="more than 8 items",
            estimate=0.012,
            low=0.011,
            high=0.013,
            told=True,
        ),
    ]
    assert finding(of_sets(git, latex, *sizes, periods=1)) == (
        "git leads with 29 to 33% of devices, then latex with 10 to 12%; a device may have "
        "several: shares do not add up to 100%; on average 2.15 to 2.25 items; 29 to 31% have no "
        "items; 1.1 to 1.3% have more than 8 items, so shares may be up to 1.3 points too low."
    )


def test_of_several_periods_reports_and_not_devices_have_items() -> None:
    text = finding(of_sets(share("git", 0.29, 0.31, 0.33), periods=2))
    assert text == (
        "git: 29 to 33% of reports; a report may have several: shares do not add up to 100%."
    )


def test_a_random_set_of_a_period_is_no_share_of_devices() -> None:
    answer = of_sets(share("git", 0.29, 0.31, 0.33), periods=1)
    assert "of devices" in finding(answer)
    answer.head.versions = [
        replace(version, picked="a device reports one random value")
        for version in answer.head.versions
    ]
    assert finding(answer) == (
        "git: 29 to 33% of reports; a report may have several: shares do not add up to 100%. "
        "A share is of a device's values, averaged over devices."
    )


def lift(*values: str, low: float | None, high: float | None, both: float) -> Measured:
    return Measured(
        measure="lift", value=" & ".join(values), values=values, estimate=1.0, low=low, high=high,
        both=both, expected=0.14, p_value=1e-9, told=True,
    )  # fmt: skip


def test_pairs_that_clearly_go_together_are_said_with_their_lift() -> None:
    pair = lift("search=true", "comments=true", low=1.42, high=1.5, both=0.2)
    assert (
        "search=true and comments=true go together (1.42 to 1.50 times as often as by chance)"
        in finding(shares(CHROME, pair))
    )


def test_a_lift_that_rounds_to_one_is_said_without_a_number() -> None:
    text = finding(shares(CHROME, lift("a=true", "b=true", low=-0.2, high=0.98, both=0.04)))
    assert "a=true and b=true exclude each other (less often than by chance)" in text


def test_values_together_are_said_of_all_reports() -> None:
    some = Measured(
        measure="combined", value="dark + no", values=("dark", "no"), estimate=0.2, low=0.19,
        high=0.21, possible_low=0.1, possible_high=0.5, reports=1_000,
    )  # fmt: skip
    assert 'dark + "no" together: 10 to 50% of reports.' in finding(shares(CHROME, some))


def test_a_clear_change_is_said_with_its_range_and_no_cause() -> None:
    answer = change(
        difference("dark", (0.08, 0.1, 0.12)), difference("a", (-0.01, 0, 0.003), changed=False)
    )
    assert finding(answer) == (
        "Clear change: dark rose from 40% to 50%, by 8 to 12 points; no clear change of "
        '"a" (less than 1.0 points either way).'
    )
    assert clear_changes(answer) == ["dark rose from 40% to 50%, by 8 to 12 points"]
    assert [each.way for each in ways_of_change(answer)] == ["risen"]


def test_no_clear_change_says_what_can_be_excluded() -> None:
    answer = change(difference(None, (-0.2, 0.05, 0.3), changed=False), kind="mean")
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
    answer.head.periods[1].marks = ["incomplete"]
    assert "In the last whole week (2026-01-05 to 2026-01-11)" in finding(answer)
    answer.head.periods[0].reports = 0
    assert "In the week so far (2026-01-12 to 2026-01-18)" in finding(answer)


def test_a_series_names_its_largest_values_and_its_empty_periods() -> None:
    rows = [share(f"v{n}", n / 100, n / 100 + 0.01, n / 100 + 0.02) for n in range(5)]
    text = finding(series(rows, [], rows))
    assert text.startswith(
        "In the last week (2026-01-19 to 2026-01-25), the largest of 5 values: v4 4 to 6% (4 to 6% "
        "the week before); v3 "
    )
    assert text.endswith("; no reports in 1 of 3 weeks.")


def test_strings_are_said_with_what_is_new_and_gone() -> None:
    gone = Measured(measure="share", value="old", whole=True, told=False, seen="gone", before=0.1)
    found = string("weather ", 0.2, 0.21, 0.22, seen="new")
    longer = string("photo", 0.1, 0.11, 0.12, whole=False)
    assert finding(strings(found, longer, gone, earlier=True)) == (
        '1 whole string found: "weather<U+0020>": 20 to 22% of reports; also of 1 longer string '
        "the first letters; 1 new and 1 gone since 2026-01-05 to 2026-01-11."
    )


def test_the_largest_share_is_said_of_the_whole_answer_and_not_of_whole_strings_alone() -> None:
    first = string("Chrome 151", 0.09, 0.1, 0.11, rank_first=1, rank_last=1)
    second = string("Edge 151", 0.03, 0.04, 0.05, rank_first=2, rank_last=2)
    beginning = string("Chrome for Android 15", 0.44, 0.45, 0.46, whole=False)
    assert finding(strings(first, second, beginning)) == (
        'The largest share begins with "Chrome for Android 15…": at least 44% of reports; of 2 '
        'whole strings found, "Chrome 151" leads with 9 to 11% of reports, then "Edge 151" with 3 '
        "to 5%; also of 1 longer string the first letters."
    )
    more = string("Chrome for Android 15", 0.54, 0.55, 0.56, whole=False)
    assert finding(strings(more)).startswith(
        'Most begin with "Chrome for Android 15…": at least 54%'
    )
    fewer = string("Chrome for Android 15", 0.1, 0.45, 0.46, whole=False)
    assert finding(strings(first, fewer)).startswith('1 whole string found: "Chrome 151"')


def test_where_no_string_was_found_it_is_said_what_would_have_been() -> None:
    assert finding(strings()) == (
        "No string stands out from the noise; a short one with 0.35% of reports would be found "
        "nine times out of ten."
    )


def test_health_says_on_which_days_checks_failed_and_whose_reports_stand_out() -> None:
    key = NamedKey("0307bb3eac2d", "partner")
    checks = [*looked(1, "ok"), *looked(2, "suspicious"), *looked(2, "suspicious", key=key.key)]
    assert finding(health(*checks, health=suspicious(key))) == (
        "Reports of 1 of 2 days fail a check (2026-01-02); key partner (0307..) stands out."
    )
    assert finding(health(*looked(1, "ok"))) == "No check of the reports fails on the only day."


def test_health_says_which_keys_answer_unlike_the_others() -> None:
    uneven = Measured(
        measure="contrast in share", value="dark", key="0307bb3eac2d", label="partner",
        version="a" * 64, estimate=0.3, low=0.25, before=0.2, after=0.5, told=True,
    )  # fmt: skip
    assert finding(health(*looked(1, "ok"), numbers=[uneven])) == (
        "No check fails, but key partner (0307..) answers differently from the others."
    )


def test_a_sentence_begins_with_warnings_and_ends_with_what_it_is_based_on() -> None:
    answer = warned(
        shares(CHROME, SAFARI),
        Notice("cut_strings", "note", "a note"),
        Notice("suspicious_reports", "warning", "reports are forged"),
    )
    assert cautions(answer) == ["Reports are forged."]
    assert sentence(answer).endswith(
        "Based on 200,024 reports from 2026-01-01 to 2026-01-31. "
        "Each 95% interval (for noise only) holds the true number 19 times in 20."
    )


def test_a_change_is_based_on_both_periods_and_warns_of_either() -> None:
    answer = change(difference("dark", (0.08, 0.1, 0.12)))
    answer.head.periods[1].days = days(reported=30, incomplete=31)
    assert basis(answer).startswith(
        "Based on 1,000 reports from 2026-01-05 to 2026-01-11 and 1,000 reports from 2026-01-12"
    )
    assert cautions(answer) == ["2026-01-31 is not over."]


def days(*missing: tuple[int, int], reported: int, incomplete: int | None = None) -> Days:
    runs = [Run(date(2026, 1, first), date(2026, 1, last)) for first, last in missing]
    today = [] if incomplete is None else [date(2026, 1, incomplete)]
    return replace(DAYS, missing=runs, reported=reported, incomplete=today)


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
    assert cautions(shares(CHROME, days=covered)) == said


def test_days_that_nobody_checked_are_a_caution() -> None:
    (caution,) = cautions(shares(CHROME, days=replace(days(reported=31), not_checked=9)))
    assert caution == "9 of 31 days with reports were not checked for forged reports."


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
        half = (row["high"] - row["low"]) / 2
        found += [half, 1 - half]
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
    text = re.sub(r"\d+th percentile|\(\w{4}\.\.\)", "", text)
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


def test_a_series_says_whether_reports_are_missing_left_out_or_not_due() -> None:
    """Four words for four things: what was left out is there, and what is not due is no gap."""
    found = series([CHROME], [CHROME], [])
    last = found.head.periods[-1]

    def said(**fields: object) -> str:
        periods = [*found.head.periods[:-1], replace(last, **fields)]
        return finding(
            msgspec.structs.replace(
                found, head=msgspec.structs.replace(found.head, periods=periods)
            )
        )

    assert said(marks=["missing"]).endswith("no reports in 1 of 3 weeks.")
    left_out = said(marks=["left_out"], left_out_reports=40_000)
    assert left_out.endswith("all 40,000 reports of 1 of 3 weeks are left out.")
    assert said(marks=["none_due"]).endswith("none due in 1 of 3 weeks.")


def test_a_number_is_not_said_to_have_risen_from_one_it_cannot_be_compared_with() -> None:
    def mean(value: float) -> Measured:
        return Measured(measure="mean", estimate=value, low=value - 0.1, high=value + 0.1)

    risen = series([mean(1)], [mean(2)], [mean(3)], kind="mean")
    assert "up from" in finding(risen)
    periods = [*risen.head.periods]
    periods[2] = replace(periods[2], marks=["unlike"])
    unlike = replace(risen, head=replace(risen.head, periods=periods))
    assert "up from" not in finding(unlike)
