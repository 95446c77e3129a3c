"""What stands above, beside and below the numbers of an answer."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from deniable_aggregator.answers.administration import Annotation
from deniable_aggregator.answers.answer import AlarmNote, Answer, Check, NotCompared
from deniable_aggregator.answers.common import (
    IntegritySummary,
    IntervalNote,
    KeyLeftOut,
    NamedKey,
    Notice,
    Release,
    Run,
)
from deniable_aggregator.answers.measured import HiddenStrings, Measured, SegmentCloseness
from deniable_aggregator.telling.cautions import (
    beside_title,
    counted_line,
    days_in_words,
    days_lines,
    notes,
    title,
)
from deniable_aggregator.telling.lines import asides, below
from deniable_aggregator.telling.meaning import closeness_in_words, meaning, possible_shift
from deniable_shared.characters import visible_constraint
from tests.aggregator.answered import DAYS
from tests.aggregator.telling.answers import (
    PARTNER,
    VERSION,
    WEEKS,
    asked,
    change,
    difference,
    distribution,
    every_answer,
    health,
    looked,
    mean,
    number,
    quantile,
    series,
    share,
    shares,
    string,
    strings,
    suspicious,
    warned,
)

CHROME = share("chrome", 0.44, 0.45, 0.46)
BETA = "channel=beta"
SIZE = Measured(measure="segment size", segment=BETA, estimate=0.13, low=0.12, high=0.14, told=True)


def shape(**fields: Any) -> Measured:
    given: dict[str, Any] = {
        "measure": "distance", "period": 1, "p_value": 1e-9, "told": True, "value": "earth-mover",
        "estimate": 0.0312, "low": 0.0204, "high": 0.0423, "noise": 0.0123,
    }  # fmt: skip
    return Measured(**{**given, **fields})


def test_the_title_is_what_the_metric_is_for() -> None:
    assert title(shares(CHROME, description="The browser\x1b")) == "The browser<U+001B>"
    assert title(shares(CHROME)) == "theme"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (shares(CHROME), ""),
        (shares(SIZE, CHROME, segment=BETA), "where channel is beta"),
        (series([CHROME]), "by week"),
        (
            change(difference("dark", (0, 1, 2)), segment=BETA),
            "where channel is beta, before and after",
        ),
        (strings(), "found without a list"),
        (health(), "do its reports look honest?"),
    ],
)  # fmt: skip
def test_beside_the_title_stands_what_was_asked(answer: Answer, words: str) -> None:
    assert beside_title(answer) == words


def test_notes_are_apart_from_warnings() -> None:
    warning = Notice("suspicious_reports", "warning", "reports are forged")
    note = Notice("cut_strings", "note", "Some\u202e values are cut.")
    assert notes(warned(shares(CHROME), note, warning)) == ["Some<U+202E> values are cut."]


def test_days_are_said_in_one_line_with_what_is_special_about_them() -> None:
    days = replace(
        DAYS,
        reported=28,
        missing=[Run(date(2026, 1, 3), date(2026, 1, 4)), Run(date(2026, 1, 9), date(2026, 1, 9))],
        incomplete=[date(2026, 1, 31)],
        open_since=date(2026, 1, 29),
        releases=[Release(date(2026, 1, 12), "b" * 64)],
        suspicious=[date(2026, 1, 20), date(2026, 1, 21)],
        uneven=[date(2026, 1, 22)],
        keys_left_out=[KeyLeftOut(PARTNER.key, PARTNER.label, 1, "excluded")],
    )
    assert days_in_words(days) == (
        "2026-01-01 to 2026-01-31, 28 of 31 days; 3 without reports: 01-03 to 01-04, 01-09; 01-31 "
        "is incomplete; open for late reports since 01-29, without those that wait; a "
        "new version since 01-12; suspicious: 01-20 to 01-21; keys differ: 01-22; without 1 report "
        "of key partner (0307..) (excluded)"
    )


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        (IntegritySummary("ok", [], []), "No sign of forgery."),
        (suspicious(PARTNER), "Some reports look forged: key partner (0307..)."),
        (suspicious(), "Some reports look forged: see the health of the metric."),
        (
            IntegritySummary("uneven", [], [PARTNER, NamedKey("99", "")]),
            "No sign of forgery, but keys partner (0307..), 99 answered unlike the others.",
        ),
        (IntegritySummary("unknown", [], []), "Whether reports look honest was not checked."),
    ],
)  # fmt: skip
def test_days_are_said_with_whether_their_reports_look_honest(
    summary: IntegritySummary, words: str
) -> None:
    (line,) = days_lines(shares(CHROME, health=summary))
    assert line == f"Days: 2026-01-01 to 2026-01-31, 31 of 31 days. {words}"


def test_days_that_were_not_checked_are_said_beside_the_verdict() -> None:
    (line,) = days_lines(shares(CHROME, days=replace(DAYS, not_checked=9)))
    assert line.endswith(
        "No sign of forgery in the 22 days that were looked at. 9 of 31 days with reports were not "
        "checked: the health of the metric checks more."
    )


def test_a_change_has_a_line_for_each_period() -> None:
    answer = change(difference("dark", (0, 1, 2)))
    assert [line.partition(":")[0] for line in days_lines(answer)] == ["Before", "After"]
    assert counted_line(answer) == "1,000 reports before, 1,000 after, oue at epsilon 1.00."


def test_reports_are_counted_with_the_mechanisms_that_made_them() -> None:
    assert counted_line(shares(CHROME)) == "200,024 reports, oue at epsilon 1.00."
    other = replace(VERSION, epsilon=2.0)
    assert counted_line(shares(CHROME, versions=[VERSION, VERSION, other])) == (
        "200,024 reports, oue at epsilon 1.00, oue at epsilon 2.00 (3 versions)."
    )


def test_picked_values_are_said_to_be_picked() -> None:
    picked = IntervalNote(kind="picked", level=0.9, meaning="")
    (line,) = asides(shares(CHROME, values_asked=500, interval=picked))
    assert line.startswith("Shown are 1 of 500 values, picked for their estimates.")
    assert "90% of those shown" in line
    assert asides(shares(CHROME, values_asked=500)) == []
    assert asides(series([CHROME], values_asked=500)) == [
        "Picked out of 500 values, by their shares over all of these days."
    ]


def test_values_that_cannot_be_compared_are_named() -> None:
    unknown = [NotCompared(f"v{n}", "before") for n in range(12)] + [NotCompared("x", "neither")]
    first, second = asides(change(not_compared=unknown))
    assert first.startswith("Not compared: v0, v1, ")
    assert first.endswith(
        "v9, ... (12): some reports of after do not tell them from other values, or do not list "
        "them."
    )
    assert second == (
        "Not compared: x (1): some reports of either period do not tell them from other values, or "
        "do not list them."
    )


def test_bins_are_said_with_what_is_not_known_within_them() -> None:
    assert asides(distribution()) == [
        "3 bins of 100. In the first, 0 to 100, are 20 to 40% of reports, in the last, 200 or "
        "more, 20 to 40%. Where in a bin values lie is not known: a quantile is placed to within "
        "one bin at best."
    ]
    assert "Not placed: median: too few reports." in below(distribution())


def test_values_that_some_versions_do_not_know_make_up_the_whole_with_the_others() -> None:
    rest = Measured(measure="rest", value="a + b", estimate=0.3, low=0.29, high=0.31)
    assert below(shares(rest, CHROME, SIZE))[0] == (
        "a + b: with the values that all versions know, these make up the whole."
    )


def test_the_second_estimate_that_differs_most_is_said() -> None:
    fields = {"robust_error": 0.01, "robust_low": 0.40, "robust_high": 0.44}
    checked = replace(CHROME, robust=0.42, **fields)
    agreeing = replace(CHROME, value="safari", robust=0.44, **fields)
    line = below(shares(agreeing, checked))[-1]
    assert line == "Robust check of chrome: 40 to 44% (differs)."
    assert below(shares(agreeing))[-1] == "Robust check of safari: 40 to 44% (agrees)."


@pytest.mark.parametrize(
    ("number_", "line"),
    [
        (
            shape(),
            "Shape: changed, p <1e-06. Distance 3.1% of the range, 95% interval 2.0 to 4.3%; noise "
            "alone gives about 1.2%.",
        ),
        (
            shape(value="total-variation", told=False, low=0.0, p_value=0.25),
            "Shape: no clear change, p 0.25. Distance 3% (devices that would have to hold another "
            "value), 95% interval below 5%; noise alone gives about 1%.",
        ),
        (shape(value=None, estimate=None, low=None, high=None), "Shape: changed, p <1e-06."),
    ],
)
def test_a_change_of_the_shape_is_said_with_its_distance(number_: Measured, line: str) -> None:
    assert below(change(difference("dark", (0, 1, 2)), number_))[0] == line


def test_reports_without_which_the_shape_was_tested_are_counted() -> None:
    answer = change(shape(estimate=None), left_out_reports=1)
    assert "Without 1 report, whose version only one period has" in below(answer)[0]


def test_a_segment_is_as_large_before_and_after_as_it_is_said() -> None:
    later = replace(SIZE, period=1, low=0.22, high=0.24)
    assert below(change(SIZE, later, segment=BETA))[0] == (
        "channel=beta: 12 to 14% of all before, 22 to 24% after"
    )


def test_an_alarm_says_which_periods_differ() -> None:
    alarm = AlarmNote(raised=True, alpha=0.05, meaning="tested")
    tests = [
        Check(
            day=WEEKS[at][0], name="alarm", verdict=verdict, p=p, adjusted_p=p, period=at,
            before=at - 1,
        )
        for at, verdict, p in ((1, "suspicious", 1e-8), (2, "ok", 0.7))
    ]  # fmt: skip
    day = Annotation(day=date(2026, 1, 6), text="2.1\x1b is out")
    answer = replace(
        series([CHROME], [CHROME], [CHROME], alarm=alarm, annotations=[day]), checks=tests
    )
    assert below(answer)[:2] == [
        "2026-01-06: 2.1<U+001B> is out",
        "Alarm: 2026-01-12 to 2026-01-18 is unlike 2026-01-05 to 2026-01-11 as a whole, p <1e-06 "
        "of 2 tests.",
    ]
    quiet = replace(answer, head=replace(answer.head, alarm=replace(alarm, raised=False)))
    quiet.checks = tests[1:]
    assert "No alarm: no clear change of the whole distribution in 1 test." in below(quiet)
    quiet.checks = []
    assert any(line.startswith("No alarm yet: nothing was tested.") for line in below(quiet))


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (
            shares(CHROME, replace(CHROME, shift_if_fake=0.01234)),
            "Possible shift if 1% of reports are fake: a share by up to 1.3 points.",
        ),
        (
            shares(CHROME, replace(CHROME, shift_if_fake=None)),
            "Possible shift if 1% of reports are fake: a share anywhere.",
        ),
        (mean(1, 2, 3), "Possible shift if 1% of reports are fake: the mean by up to 0.1."),
        (
            change(difference("dark", (0.1, 0.2, 0.3))),
            "Possible shift if 1% of reports are fake: a change by up to 1 point.",
        ),
        (
            series([number(1, 2, 3), quantile(0.5, 1, 2, 3)], kind="distribution"),
            "Possible shift if 1% of reports are fake: an estimate of a period by up to 0.1.",
        ),
        (health(), ""),
    ],
)
def test_the_largest_possible_shift_is_rounded_up(answer: Answer, line: str) -> None:
    assert possible_shift(answer) == line


def test_strings_are_said_with_what_is_missing_hidden_and_too_rare() -> None:
    missing = Measured(
        measure="share",
        value="old",
        whole=True,
        told=False,
        before=0.0213,
        high=0.0044,
        seen="gone",
    )
    answer = strings(
        string("weather", 0.2, 0.21, 0.22),
        missing,
        replace(missing, value="older", seen="not_found"),
        earlier=True,
        hidden=HiddenStrings(minimum_devices=20, below_minimum=3, denied=1),
    )  # fmt: skip
    assert below(answer) == [
        "Gone since 2026-01-05 to 2026-01-11: old (2.1%, now below 0.5%).",
        "Found in 2026-01-05 to 2026-01-11 and not this time, perhaps by chance: older.",
        "3 more not shown: they may be of fewer than minimum_devices (20).",
        "1 more not shown: a deny list names them.",
        "Found in nine of ten cases: short ones from 0.35% (about 684 devices), long ones never.",
        "If 1% of reports are forged: they could have planted 2 chosen strings with a share of "
        "0.35%, the smallest that is seen here, and hundreds that nobody can choose. No test can "
        "tell these from true ones.",
    ]


def test_failed_checks_are_said_once_for_all_their_days() -> None:
    checks = [
        *looked(1, "suspicious"),
        *looked(1, "suspicious", key=PARTNER.key),
        *looked(2, "suspicious"),
    ]
    assert below(
        health(*checks, health=suspicious(PARTNER), days=replace(DAYS, not_checked=2))
    ) == [
        "2026-01-01 to 2026-01-02: too many or too few ones: 1,000 ones where 500 are expected.",
        "2026-01-01: too many or too few ones, key partner (0307..): 1,000 ones where 500 are "
        "expected.",
        "2 earlier days were not checked: ask about fewer days to see them.",
        "3 checks were made. No check can see devices that lie about their value.",
    ]


def closeness(**fields: Any) -> SegmentCloseness:
    given = {
        "name": "channel", "segment": "beta", "kind": "total-variation", "distance": 0.21,
        "low": 0.129, "threshold": 0.2, "far": False, "value": "dark", "value_low": 0.4,
        "nearly_one_value": False, "level": 0.95, "reports": 1_000, "meaning": "how far",
    }  # fmt: skip
    return SegmentCloseness(**{**given, **fields})


def test_a_segment_is_at_least_as_far_from_all_devices_as_its_lower_limit() -> None:
    answer = shares(SIZE, CHROME, segment=BETA, closeness=closeness())
    text = closeness_in_words(answer)
    assert text.startswith("channel=beta is at least 0.12 from all devices (total variation, ")
    assert text.endswith("is learnt of each of its devices.")
    assert text in asides(answer)
    alike = closeness(low=0.004, far=True)
    assert "can't be told from all devices" in closeness_in_words(shares(CHROME, closeness=alike))
    assert closeness_in_words(shares(CHROME)) == ""


def test_the_meaning_of_numbers_begins_with_what_a_report_is() -> None:
    answer = shares(CHROME, postprocess="norm-sub", meanings={"postprocess": "made to add up"})
    assert meaning(answer) == [
        "Reports, not people: a device reports once a day, week or month, as the metric says, and "
        "over several of them it counts several times.",
        "Shares: shares of the devices that reported. Intervals: each covers by itself.",
        "Above zero: one in twenty is false.",
        "Fake reports: the possible shift is how far fakes could move a number.",
        "Shares adjusted to add up to 100%: made to add up; no interval belongs to them.",
    ]


def test_every_meaning_of_an_answer_is_said() -> None:
    meanings = {
        "versions": "put together",
        "lift": "a ratio",
        "combined": "all of these",
        "robust check": "a median",
    }
    assert {
        "1 versions: put together.",
        "Lifts: a ratio.",
        "Values together: all of these.",
        "Robust check: a median.",
    } <= set(meaning(shares(CHROME, meanings=meanings)))


def test_the_meaning_of_a_number_says_how_its_histogram_was_made() -> None:
    answer = asked(
        "estimate",
        number(1, 2, 3),
        kind="distribution",
        meanings={"mean": "unbiased", "histogram": "the most likely"},
        versions=[replace(VERSION, repeated="the same noise", delta=1e-6, privacy="rarely more")],
    )
    lines = meaning(answer)
    assert lines[1:3] == ["The mean is unbiased.", "Histogram and quantiles: the most likely."]
    assert lines[-2:] == ["oue, delta 1e-06: rarely more.", "oue: the same noise."]


def test_the_meaning_of_a_change_says_what_is_assumed_of_its_devices() -> None:
    row = replace(difference("dark", (0.1, 0.2, 0.3)), same_devices_error=0.01)
    lines = meaning(change(row, meanings={"shape": "compared"}, left_out_reports=9))
    assert (
        "Test of the shape: compared. It is without 9 reports: only one of the periods has their "
        "version, or no test is known for it."
    ) in lines
    assert any("errors are down to 0.20 times as large" in line for line in lines)


@settings(deadline=None, max_examples=150)
@given(every_answer)
def test_all_lines_can_be_printed(answer: Answer) -> None:
    lines = [
        title(answer),
        counted_line(answer),
        *days_lines(answer),
        *asides(answer),
        *below(answer),
        *meaning(answer),
    ]
    assert all(visible_constraint(line) is None and line for line in lines)
    text = " ".join(lines).replace("(0307..)", "")
    assert not any(each in text for each in ("None", "nan", ".."))
