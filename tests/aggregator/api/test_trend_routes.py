"""Series and changes over HTTP, on both stores."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.estimation.inputs import CollectedTallies
from deniable_aggregator.answering.series import calendar_periods, series
from deniable_aggregator.answers.dates import DayRange
from deniable_aggregator.answers.questions import SeriesQuery, ValueLists
from deniable_aggregator.counting.tallies import tally_for
from deniable_shared import registry, wire
from tests import one_metric
from tests.aggregator.answered import answer
from tests.aggregator.served import number, numbers, shares
from tests.aggregator.service import REGISTRY, TODAY, problem, upload

REPORTS = {
    -9: b"\x00" * 30 + b"\x01" * 20 + b"\x02" * 10,
    -2: b"\x00" * 25 + b"\x01" * 15 + b"\x02" * 20,
    0: b"\x01" * 60,
}
SERIES = "/v1/metrics/theme/series"
CHANGE = "/v1/metrics/theme/change"


def day(offset):
    return (datetime.fromtimestamp(TODAY * 86_400, UTC).date() + timedelta(offset)).isoformat()


@pytest.fixture
def filled(service):
    for offset, payload in REPORTS.items():
        assert service.send(upload(payload, epoch=TODAY + offset)).status_code == 204
    return service


def test_every_day_is_estimated_by_itself_and_days_without_reports_are_there(filled):
    found = filled.ask(f"{SERIES}?value=light").get_json()
    head, periods = found["head"], found["head"]["periods"]
    assert [period["since"] for period in periods] == [day(offset) for offset in range(-9, 1)]
    assert [period["reports"] for period in periods] == [60, *[0] * 6, 60, 0, 60]
    assert not numbers(found, "share", period=1)
    assert (head["by"], head["reports"]) == ("day", 180)
    for place, offset in ((0, -9), (7, -2), (9, 0)):
        query = f"since={day(offset)}&until={day(offset)}&postprocess=none"
        alone = filled.ask(f"/v1/metrics/theme/estimate?{query}").get_json()
        row = number(found, "share", period=place)
        wanted = number(alone, "share", value="light")
        del wanted["rank_first"], wanted["rank_last"]  # a series is about this value alone
        del wanted["step"], row["step"]  # columns of other numbers
        assert {**row, "period": 0} == {**wanted, "period": 0}


@pytest.mark.one_store
def test_months_and_weeks_put_days_together(filled):
    weeks = filled.ask(f"{SERIES}?by=week").get_json()["head"]["periods"]
    assert sum(period["reports"] for period in weeks) == 180
    assert all(date.fromisoformat(period["since"]).weekday() == 0 for period in weeks[1:])
    months = filled.ask(f"{SERIES}?by=month&since={day(-60)}").get_json()["head"]["periods"]
    assert [period["reports"] for period in months][-1] > 0
    assert months[0]["since"] == day(-60)


@pytest.mark.one_store
def test_simultaneous_intervals_are_wider_by_items_and_periods(filled):
    narrow, wide = (filled.ask(f"{SERIES}?interval={kind}").get_json() for kind in ("one", "all"))
    widths = [[row["high"] - row["low"] for row in found["numbers"]] for found in (narrow, wide)]
    assert len(widths[0]) == 9
    assert (np.array(widths[1]) > 1.3 * np.array(widths[0])).all()
    assert wide["head"]["interval"]["level"] == 0.95


@pytest.mark.one_store
def test_candidates_are_sent_in_the_body(filled):
    found = filled.ask(SERIES, method="POST", json={"candidates": ["dark", "light"]}).get_json()
    assert list(shares(found, period=0)) == ["dark", "light"]


@pytest.mark.one_store
def test_an_estimate_over_days_is_about_no_more_devices_than_reported_on_one(filled):
    rows = [
        filled.ask(f"/v1/metrics/theme/estimate?margin={margin}").get_json()["numbers"]
        for margin in ("noise", "noise-and-sampling")
    ]
    for these, population in zip(*rows, strict=True):
        held = min(max(these["estimate"], 0.0), 1.0)
        added = population["standard_error"] ** 2 - these["standard_error"] ** 2
        assert added == pytest.approx(held * (1 - held) / 60)  # 60 reports on each of three days


@pytest.fixture
def later(filled):
    """A week after the second of its days, on which all are dark."""
    filled.clock.epoch = TODAY + 5
    assert filled.send(upload(b"\x01" * 60, epoch=TODAY + 5)).status_code == 204
    return filled


def test_a_change_is_found(later):
    filled = later
    path = f"{CHANGE}?before={day(-9)}..{day(-2)}&after={day(4)}..{day(5)}"
    found = filled.ask(path).get_json()
    rows = {row["value"]: row for row in numbers(found, "difference in share", period=1)}
    assert rows["light"]["told"]
    assert rows["light"]["estimate"] < -0.5
    assert rows["dark"]["high"] > rows["dark"]["low"] > 0.5
    assert [period["reports"] for period in found["head"]["periods"]] == [120, 60]
    path = f"{CHANGE}?before={day(-9)}&after={day(-2)}&value=light"
    row = number(filled.ask(f"{path}&interval=all").get_json(), "difference in share")
    assert not row["told"]
    assert row["standard_error"] > row["same_devices_error"] > 0


@pytest.mark.one_store
@pytest.mark.parametrize(
    ("path", "code", "status"),
    [
        (f"{SERIES}?by=hour", "malformed_question", 400),
        (f"{SERIES}?since=2026-02-01&until=2026-01-01", "malformed_question", 400),
        (f"{SERIES}?since=1990-01-01", "malformed_question", 400),
        (f"{SERIES}?since=1990-01-01&until=1990-01-02", "no_reports", 404),
        (f"{SERIES}?until=1990-01-02", "no_reports", 404),
        (f"{SERIES}?value=nothing", "estimate_refused", 422),
        (f"{SERIES}?interval=picked", "estimate_refused", 422),
        (f"{SERIES}?top=0", "malformed_question", 400),
        ("/v1/metrics/emoji/series", "candidates_needed", 422),
        ("/v1/metrics/nothing/series", "unknown_metric", 404),
        (CHANGE, "malformed_question", 400),
        (f"{CHANGE}?before=2026-01-02..2026-01-01&after=2026-02-01", "malformed_question", 400),
        (f"{CHANGE}?before=2026-01-01..2026-01-05&after=2026-01-05", "malformed_question", 400),
        (f"{CHANGE}?before=2020-01-01&after=2020-01-02", "no_reports", 404),
        (
            f"{CHANGE}?before=2020-01-01&after=2020-01-02&false_finds=many",
            "malformed_question",
            400,
        ),
    ],
)
def test_bad_questions_are_refused(filled, path, code, status):
    problem(filled.ask(path), status, code)


@pytest.mark.one_store
def test_a_body_and_items_in_the_query_are_refused_together(filled):
    path = f"{CHANGE}?before={day(-9)}&after={day(0)}&value=light"
    problem(
        filled.ask(path, method="POST", json={"combined": ["light"]}), 400, "malformed_question"
    )


@pytest.mark.one_store
def test_the_change_of_a_sum_is_that_of_its_estimates(later):
    filled = later
    path, body = f"before={day(-9)}&after={day(5)}", {"combined": ["light", "system"]}
    found = filled.ask(f"{CHANGE}?{path}", method="POST", json=body).get_json()
    alone = [
        filled.ask(f"/v1/metrics/theme/estimate?since={at}&until={at}", method="POST", json=body)
        for at in (day(-9), day(5))
    ]
    before, after = (number(answer.get_json(), "combined")["estimate"] for answer in alone)
    together = number(found, "difference in combined")
    assert (together["before"], together["after"]) == (before, after)
    assert together["told"]
    assert together["low"] < together["estimate"] < together["high"] < 0
    singly = numbers(found, "difference in share")
    assert [row["value"] for row in singly] == ["light", "system"]


@pytest.mark.one_store
def test_a_sum_goes_on_like_its_items(filled):
    for body in ({"combined": ["light", "dark"]}, {"range": ["light", "dark"]}):
        found = filled.ask(SERIES, method="POST", json=body).get_json()
        followed = [bool(numbers(found, "combined", period=place)) for place in range(10)]
        assert followed == [bool(each["reports"]) for each in found["head"]["periods"]]
        days = f"since={day(-9)}&until={day(-9)}"
        alone = filled.ask(f"/v1/metrics/theme/estimate?{days}", method="POST", json=body)
        assert found["head"]["meanings"] == {"combined": meaning_of(alone)}
        names = ("value", "estimate", "standard_error", "low", "high", "shift_if_fake")
        row, wanted = number(found, "combined", period=0), number(alone.get_json(), "combined")
        assert [row[name] for name in names] == [wanted[name] for name in names]


def meaning_of(answer):
    return answer.get_json()["head"]["meanings"]["combined"]


@pytest.mark.one_store
def test_a_series_of_the_largest_is_of_those_over_all_of_the_days(filled):
    """Its intervals allow for the choice of 1 out of 3: each may miss once in 60 times."""
    found = filled.ask(f"{SERIES}?top=1").get_json()
    assert [row["value"] for row in found["numbers"]] == ["dark"] * 3
    head = found["head"]
    assert (head["values_asked"], head["interval"]["kind"]) == (3, "picked")
    assert "picked out of 3" in head["interval"]["meaning"]
    single = filled.ask(f"{SERIES}?top=1&interval=one").get_json()
    narrow, wide = (number(each, "share", period=0) for each in (single, found))
    assert wide["high"] - wide["low"] == pytest.approx(
        (narrow["high"] - narrow["low"]) * 2.394 / 1.96, rel=0.03
    )


@pytest.mark.one_store
def test_the_largest_changes_come_first(later):
    filled = later
    path = f"{CHANGE}?before={day(-9)}..{day(-2)}&after={day(4)}..{day(5)}"
    whole, found = (filled.ask(f"{path}{more}").get_json() for more in ("", "&top=2"))
    rows, shown = (numbers(each, "difference in share") for each in (whole, found))
    ordered = sorted(rows, key=lambda row: -abs(row["estimate"]))[:2]
    assert [row["value"] for row in shown] == [row["value"] for row in ordered]
    assert found["head"]["values_asked"] == 3
    for row, before in zip(shown, ordered, strict=True):
        assert row["adjusted_p_value"] == before["adjusted_p_value"]  # of all, not of those shown
        assert row["low"] < before["low"]
    assert "largest" in found["head"]["interval"]["meaning"]


def test_spans_are_calendar_periods_cut_to_the_days():
    first, last = date(2025, 12, 30), date(2026, 2, 2)
    months = list(calendar_periods("month", first, last))
    assert months[0] == DayRange(first, date(2025, 12, 31))
    assert months[1] == DayRange(date(2026, 1, 1), date(2026, 1, 31))
    assert months[-1] == DayRange(date(2026, 2, 1), last)
    for by in ("day", "week", "month"):
        found = list(calendar_periods(by, first, last))
        assert (found[0].since, found[-1].until) == (first, last)
        assert all(
            one.until + timedelta(1) == other.since for one, other in itertools.pairwise(found)
        )


def reports_of(service, text, value, epoch, number=40):
    """Registers a registry, and sends reports of one value of its theme."""
    assert service.register(text).status_code == 200
    spec = registry.parse(text).metrics["theme"].spec
    part = wire.Part(spec.digest, epoch, bytes([spec.items.index(value)]) * number)
    assert service.send(wire.encode(wire.Upload(part.digest[:16], (part,)))).status_code == 204


def test_a_value_of_a_later_registration_was_0_before_if_there_was_none(filled):
    wider = REGISTRY.replace('"system"]', '"system", "sepia"]', 1)
    filled.clock.epoch = TODAY + 7
    reports_of(filled, wider, "sepia", TODAY + 7)
    series = filled.ask(f"{SERIES}?value=sepia&since={day(0)}").get_json()
    without, later = (number(series, "share", period=place) for place in (0, 7))
    assert (without["low"], without["estimate"], without["high"]) == (0, 0, 0)
    assert later["low"] > 0.5
    days = f"before={day(0)}&after={day(7)}"
    found = filled.ask(f"{CHANGE}?{days}&value=sepia").get_json()
    assert "not_compared" not in found["head"]
    row = number(found, "difference in share")
    assert (row["before"], row["told"]) == (0, True)


def test_a_value_that_was_counted_as_other_before_is_unknown_there_and_is_not_compared(filled):
    older = REGISTRY.replace('"system"]\ncomplete = true', '"system"]\nother = "another"', 1)
    reports_of(filled, older, "another", TODAY - 11)
    reports_of(filled, older.replace('"system"]', '"system", "sepia"]', 1), "sepia", TODAY - 4)
    series = filled.ask(f"{SERIES}?since={day(-11)}&until={day(-4)}").get_json()
    before, after = (shares(series, period=place) for place in (0, 7))
    assert list(before) == ["light", "dark", "system"]
    assert list(after) == ["light", "dark", "system", "another", "sepia"]
    rest = number(series, "rest", period=0)
    assert "covariances of the values" in series["head"]["meanings"]["rest"]
    assert rest["values"] == ["another", "sepia"]
    assert rest["estimate"] + sum(before.values()) == pytest.approx(1)
    days = f"before={day(-11)}&after={day(-4)}"
    found = filled.ask(f"{CHANGE}?{days}").get_json()
    assert found["head"]["not_compared"] == [
        {"value": "another", "known": "after"},
        {"value": "sepia", "known": "after"},
    ]
    assert compared(found) == ["light", "dark", "system"]
    named = filled.ask(f"{CHANGE}?{days}&value=sepia&value=light").get_json()
    assert named["head"]["not_compared"] == [{"value": "sepia", "known": "after"}]
    assert compared(named) == ["light"]
    problem(filled.ask(f"{CHANGE}?{days}&value=sepia"), 422, "estimate_refused")
    both = {"combined": ["sepia", "another"]}
    together = filled.ask(f"{CHANGE}?{days}", method="POST", json=both).get_json()
    assert compared(together) == []
    assert number(together, "difference in combined")["before"] == rest["estimate"]


def compared(change):
    return [row["value"] for row in numbers(change, "difference in share")]


@pytest.mark.one_store
def test_both_answers_of_a_flag_have_series_as_they_have_estimates(service):
    assert service.send(upload(b"\x00\x01\x01", metric="late")).status_code == 204
    path, body = "/v1/metrics/late", {"candidates": ["false"], "combined": ["true", "false"]}
    wanted = service.ask(f"{path}/estimate?postprocess=none", method="POST", json=body).get_json()
    found = service.ask(f"{path}/series", method="POST", json=body).get_json()
    assert list(shares(found)) == ["false"]
    assert shares(found) == shares(wanted)
    together = [number(each, "combined")["estimate"] for each in (found, wanted)]
    assert together[0] == together[1] == pytest.approx(1)


def test_single_attributes_have_series():
    metric = 'type = "attributes"\nepsilon = 2\n[metrics.m.attributes]\nlate = "boolean"\n'
    metric += 'size = { values = ["s", "m", "l"], complete = true }\n'
    spec = one_metric.spec_of(metric)
    randomizer, values = randomizer_for(spec, Randomness()), {"late": True, "size": "m"}
    payload = b"".join(randomizer.report(spec.encode(values), bytes(32)) for _ in range(200))
    gathered = CollectedTallies(
        [(spec, tally_for(spec).count(payload))], {spec.digest: {TODAY: 200}}
    )
    span = DayRange(date(2026, 1, 1), date(2026, 1, 1))
    lists = ValueLists(("size=m",))
    found = series(lambda _: gathered, gathered.specs, [span], SeriesQuery(), lists)
    assert [row.value for row in answer(found).numbers] == ["size=m"]
