"""What an address of a metric's page asks, and what is said of choices that cannot be."""

from __future__ import annotations

from datetime import date

import pytest
from msgspec import UNSET
from werkzeug.datastructures import MultiDict

from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.metrics import Domain, KeyReports, MetricDetails, VersionDetails
from deniable_aggregator.doors.pages.metric.answering import questions
from deniable_aggregator.doors.pages.metric.choices import controls, read_choices

TODAY = date(2026, 3, 8)


def version(first=date(2026, 1, 5), letter="a", **fields):
    whole = {
        "version": letter * 64, "type": "category", "registered": first, "first_day": first,
        "last_day": date(2026, 3, 7), "reports": 1_000, "every": "day", "report_bytes": 1,
        "values": ["light", "dark"], "other": None, "absent": None, "pick": "first",
        "mechanism": "grr", "epsilon": 1.0, "epsilon_permanent": None, "epsilon_total": None,
        "delta": 0.0,
        "privacy": "", "segments": UNSET, "canonical": "",
    }  # fmt: skip
    return VersionDetails(**{**whole, **fields})


def metric(*versions, **fields):
    whole = {
        "application": "flightdeck", "name": "theme", "description": "", "owners": [],
        "expires": None, "retention_days": None, "candidates": False, "discovers": False,
        "excluded_reports": 0, "versions": list(versions) or [version()],
        "keys": [KeyReports(key="0307bb", label="partner", reports=5, excluded=False),
                 KeyReports(key="11aa22", label="", reports=9, excluded=False)],
    }  # fmt: skip
    return MetricDetails(**{**whole, **fields})


def read(details=None, **form):
    return read_choices(MultiDict(form), details or metric(), TODAY)


def days(choices):
    both = choices.both
    before = None if both is None else (both.before.since, both.before.until)
    return (choices.days.since, choices.days.until), before


def march(first, last, month=3):
    return date(2026, month, first), date(2026, month, last)


def test_without_choices_the_last_28_full_days_are_compared_with_the_28_before():
    shown, before = days(read())
    assert shown == (date(2026, 2, 8), date(2026, 3, 7))
    assert before == (date(2026, 1, 11), date(2026, 2, 7))


@pytest.mark.parametrize(
    ("form", "shown", "before"),
    [
        ({"period": "7d"}, march(1, 7), march(22, 28, 2)),
        ({"period": "7d", "compare": "week"}, march(1, 7), march(22, 28, 2)),
        ({"period": "this-month"}, march(1, 7), march(22, 28, 2)),
        ({"period": "this-month", "compare": "month"}, march(1, 7), march(1, 7, 2)),
        ({"period": "last-month", "compare": "none"}, march(1, 28, 2), None),
        ({"period": "last-week"}, (date(2026, 2, 23), date(2026, 3, 1)), march(16, 22, 2)),
        (
            {"period": "4-weeks", "compare": "year"},
            (date(2026, 2, 2), date(2026, 3, 1)), (date(2025, 2, 3), date(2025, 3, 2)),
        ),
        ({"period": "this-quarter", "compare": "none"}, (date(2026, 1, 1), date(2026, 3, 7)), None),
        (
            {"period": "last-quarter", "compare": "none"},
            (date(2025, 10, 1), date(2025, 12, 31)), None,
        ),
        ({"period": "all"}, (date(2026, 1, 5), date(2026, 3, 7)), None),
        ({"since": "-3d"}, march(5, 7), march(26, 28, 2)),
        (
            {"since": "-3d", "until": "9999-12-31"},
            march(5, 8), (date(2026, 2, 26), date(2026, 3, 1)),
        ),
        ({"since": "2026-02-04", "until": "2026-02-05"}, march(4, 5, 2), march(28, 29, 1)),
        ({"since": "-3d", "before": "2026-02-01..2026-02-10"}, march(5, 7), march(1, 10, 2)),
        ({"compare": "since:2026-03-01"}, march(1, 7), march(22, 28, 2)),
        ({"period": "7d", "compare": "since:2026-02-01"}, march(1, 7, 2), march(25, 31, 1)),
    ],
)  # fmt: skip
def test_days_are_those_that_were_chosen(form, shown, before):
    choices = read(**form)
    assert not choices.problems
    assert days(choices) == (shown, before)


@pytest.mark.parametrize(
    ("form", "field", "said"),
    [
        ({"since": "yesterdy"}, "since", "since must be a day such as 2026-01-31"),
        ({"since": "-3d", "until": "-9d"}, "until", "not before 2026-03-05"),
        ({"since": "2026-03-09"}, "since", "not after 2026-03-08"),
        ({"since": "1970-01-01", "compare": "before"}, "compare", "from 1970-01-01 on"),
        ({"since": "1970-01-01", "until": "1970-01-03", "compare": "week"}, "compare", "1970"),
        ({"since": "1970-01-01", "until": "1970-01-03", "compare": "month"}, "compare", "1970"),
        ({"compare": "since:1970-01-05"}, "compare", "from 1970-01-01 on"),
        ({"period": "fortnight"}, "period", "one of 7d, 28d"),
        ({"compare": "week"}, "compare", "do not overlap"),
        ({"compare": "since:2026-09-09"}, "compare", "not after those shown"),
        ({"before": "-7d..-1d"}, "before", "do not overlap"),
        ({"by": "weak"}, "by", "Did you mean 'week'"),
        ({"segment": "beta"}, "segment", "there is none"),
        ({"version": "bbbb"}, "version", "aaaa since 2026-01-05"),
        ({"without_key": "nobody"}, "without_key", "partner (0307..)"),
        ({"top": "12"}, "top", "one of 10, 25, 100, all"),
        ({"sort": "colour"}, "sort", "one of share"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_the_rest_is_kept(form, field, said):
    choices = read(period_kept="", **{"top": "10", **form})
    assert list(choices.problems) == [field]
    assert said in choices.problems[field]
    shown = controls(metric(), choices)
    assert shown.typed["top"] == form.get("top", "10")
    assert shown.typed.get(field, form[field]) == form[field]
    assert choices.days.since < choices.days.until


def test_keys_are_named_by_label_by_id_or_by_its_first_letters():
    details = metric()
    for name in ("partner", "0307bb", "03"):
        assert read(details, without_key=name).passed["without_key"] == ("0307bb",)
    (keys,) = (each for each in controls(details, read(without_key="03")).more if each.several)
    assert [word for word, _ in keys.options] == ["0307bb", "11aa22"]
    assert keys.chosen == ("0307bb",)


def compared_with(details):
    (field,) = (each for each in controls(details, read(details)).fields if each.name == "compare")
    return dict(field.options)


def test_a_release_can_be_compared_with_the_days_before_it():
    details = metric(version(date(2026, 2, 20), "b"), version())
    offered = compared_with(details)
    assert offered["since:2026-02-20"] == "Since version bbbb, 2026-02-20"
    assert "since:2026-01-05" not in offered
    both = metric(version(letter="b"), version())
    assert not [each for each in compared_with(both) if "since:" in each]


def test_a_series_begins_with_a_whole_period_of_what_is_compared():
    choices = read()
    assert choices.by == "week"
    assert choices.followed == DayRange(date(2026, 1, 5), date(2026, 3, 7))
    assert read(period="7d").by == "day"
    assert read(by="month").followed.since == date(2026, 1, 1)


def test_values_that_are_picked_for_their_size_are_asked_for_as_such():
    many = metric(version(values=[f"v{number}" for number in range(40)]))
    assert questions(many, read(many)).estimate.top == 25
    assert questions(many, read(many, top="all")).estimate.top is None
    by_change = questions(many, read(many, sort="-change"))
    assert (by_change.estimate.top, by_change.change.top) == (None, 25)
    assert by_change.estimate.interval == "all"
    assert questions(metric(), read(sort="-change")).estimate.interval is None
    few = questions(metric(), read())
    assert (few.estimate.top, few.series.top) == (None, None)


def test_one_of_many_values_is_followed_by_itself():
    many = metric(version(values=[f"v{number}" for number in range(40)]))
    series = questions(many, read(many, follow="v7")).series
    assert (series.value, series.top) == (("v7",), None)
    assert questions(many, read(many)).series.top == 4
    assert not questions(metric(), read(follow="dark")).series.value


def test_a_segment_is_asked_of_all_questions():
    domain = Domain(name="channel", type="category", values=["beta", "stable"], other=None)
    details = metric(version(segments=domain))
    asked = questions(details, read(details, segment="beta"))
    assert {each.segment for each in (asked.estimate, asked.change, asked.series)} == {"beta"}


def test_what_is_chosen_and_not_seen_at_first_is_said_and_stays_closed():
    plain, chosen = controls(metric(), read()), controls(metric(), read(by="day"))
    assert (plain.chosen, plain.opened) == ("", False)
    assert (chosen.chosen, chosen.opened) == ("Over time by day", False)
    assert controls(metric(), read(by="hour")).opened
    assert not controls(metric(), read(period="hour")).opened
