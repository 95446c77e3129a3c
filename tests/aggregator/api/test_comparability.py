"""What can be compared, and in which words an answer says what cannot, over HTTP."""

from __future__ import annotations

import random
import secrets

import pytest
from msgspec import convert

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answers.answer import Answer
from deniable_aggregator.telling.findings import finding
from deniable_aggregator.telling.lines import asides
from deniable_aggregator.telling.tables import tables_of
from deniable_shared import registry, wire
from tests import one_metric
from tests.aggregator.served import codes, number, numbers
from tests.aggregator.service import TODAY, problem
from tests.aggregator.trends.days import day

WEEK = 7
NUMBER = 'type = "number"\nrange = [0, {}]\nepsilon = 6\n'
HISTOGRAM = 'type = "distribution"\nrange = [0, {}]\nbins = {}\nepsilon = 6\n'
PATH = "/v1/metrics/m"
CHANGE = f"{PATH}/change"


class Devices:
    """Sends what devices with these values report; with segments, values are pairs."""

    def __init__(self, service):
        self.service = service
        self.drawn = random.Random(31)
        self.report_of = {}
        self.key = None

    def send(self, fields, values, *offsets):
        """Registers a version, and sends a report of each value on each of some days."""
        text = one_metric.HEAD + fields
        spec = registry.parse(text).metrics["m"].spec
        if fields not in self.report_of:
            assert self.service.register(text).status_code == 200
            self.report_of[fields] = randomizer_for(spec, Randomness(self.drawn.randbytes)).report
        report = self.report_of[fields]
        for offset in offsets:
            recorded = (each if isinstance(each, tuple) else (each,) for each in values)
            payload = b"".join(report(spec.encode(*each), b"") for each in recorded)
            part = wire.Part(spec.digest, TODAY + offset, payload)
            upload = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
            assert self.service.send(upload, key=self.key).status_code == 204
        return spec.digest.hex()


@pytest.fixture
def devices(service):
    return Devices(service)


def compared(service, before=(-14, -8), after=(-7, -1), **options):
    query = {f"{name}": f"{day(first)}..{day(last)}" for name, (first, last) in
             {"before": before, "after": after}.items()}  # fmt: skip
    return service.ask(CHANGE, query_string={**query, **options})


def holding(low, high, part, count=1_200):
    """So many values: most below 50, and a part far above."""
    drawn = random.Random(5)
    far = int(part * count)
    return [drawn.uniform(5, 40) for _ in range(count - far)] + [
        drawn.uniform(low, high) for _ in range(far)
    ]


SAME = holding(60, 95, 0.1)
"""Held before and after: what changes is what the metric asks."""


@pytest.mark.one_store
def test_means_of_unlike_ranges_are_not_compared_and_the_answer_says_what_to_ask(devices):
    old = devices.send(NUMBER.format(50), SAME, *range(-14, -7))
    new = devices.send(NUMBER.format(100), SAME, *range(-7, 0))
    detail = problem(compared(devices.service), 422, "estimate_refused")["detail"]
    for said in ("from 0 to 50 before", "from 0 to 100 after", "8,400 reports", old[:12], new[:12]):
        assert said in detail
    assert f"Compare days from {day(-7)} on" in detail
    assert "As a distribution" in detail


@pytest.mark.one_store
def test_bins_of_a_widened_range_are_combined_and_nothing_has_changed(devices):
    devices.send(HISTOGRAM.format(50, 10), SAME, *range(-14, -7))
    devices.send(HISTOGRAM.format(100, 20), SAME, *range(-7, 0))
    found = compared(devices.service).get_json()
    mean = number(found, "difference in mean")
    assert not mean["told"]
    assert abs(mean["estimate"]) < 1.5  # it is 3.7 between means of values that are cut elsewhere
    assert not any(row["told"] for row in numbers(found, "difference in quantile"))
    (notice,) = [each for each in found["notices"] if each["code"] == "compared_in_part"]
    assert "10 bins that both have" in notice["message"]
    assert "all from 45 on" in notice["message"]


@pytest.mark.one_store
def test_a_change_below_the_old_end_is_found_in_spite_of_a_wider_range(devices):
    devices.send(HISTOGRAM.format(50, 10), SAME, *range(-14, -7))
    devices.send(HISTOGRAM.format(100, 20), [value / 2 for value in SAME], *range(-7, 0))
    mean = number(compared(devices.service).get_json(), "difference in mean")
    assert mean["told"]
    assert mean["estimate"] < -5


@pytest.mark.one_store
def test_a_number_that_became_a_distribution_is_compared_by_its_mean(devices):
    devices.send(NUMBER.format(100), SAME, *range(-14, -7))
    devices.send(HISTOGRAM.format(100, 50), SAME, *range(-7, 0))
    found = compared(devices.service).get_json()
    mean = number(found, "difference in mean")
    assert not mean["told"]
    assert mean["low"] < -1  # half of a bin to either side
    assert found["head"]["kind"] == "mean"
    (notice,) = [each for each in found["notices"] if each["code"] == "compared_in_part"]
    assert "Only the means are compared" in notice["message"]
    devices.send(HISTOGRAM.format(100, 50), [value / 3 for value in SAME], *range(-7, 0))
    mean = number(compared(devices.service).get_json(), "difference in mean")
    assert mean["told"]


@pytest.mark.one_store
def test_what_both_periods_have_is_compared_and_the_rest_is_left_out(devices):
    old = devices.send(NUMBER.format(50), SAME, *range(-14, 0))
    devices.send(NUMBER.format(100), SAME, *range(-7, 0))
    found = compared(devices.service).get_json()
    assert not number(found, "difference in mean")["told"]
    assert [each["version"] for each in found["head"]["versions"]] == [old]
    (notice,) = [each for each in found["notices"] if each["code"] == "other_version_left_out"]
    assert "8,400 reports are left out" in notice["message"]
    assert "a number from 0 to 100" in notice["message"]


@pytest.mark.one_store
def test_of_unlike_versions_the_newest_is_answered_once_it_is_nearly_as_precise(devices):
    devices.send(HISTOGRAM.format(50, 10), SAME, -3, -2)
    devices.send(HISTOGRAM.format(100, 20), SAME[::100], -1)
    found = devices.service.ask(f"{PATH}/estimate").get_json()
    assert (found["head"]["reports"], found["head"]["left_out_reports"]) == (2_400, 12)
    devices.send(HISTOGRAM.format(100, 20), SAME, -1)
    found = devices.service.ask(f"{PATH}/estimate").get_json()
    assert (found["head"]["reports"], found["head"]["left_out_reports"]) == (1_212, 2_400)
    assert numbers(found, "bin")[-1]["bin_to"] == 100


CATEGORY = 'type = "category"\nvalues = ["few", "many"]\ncomplete = true\nepsilon = 6\n'


@pytest.mark.one_store
def test_a_change_of_type_is_explained_and_not_called_no_reports(devices):
    devices.send(CATEGORY, ["few", "many"] * 300, *range(-14, -7))
    devices.send(NUMBER.format(50), SAME, *range(-7, 0))
    detail = problem(compared(devices.service), 422, "estimate_refused")["detail"]
    assert "a category before (4,200 reports) and is a number" in detail
    assert "no number in common" in detail


@pytest.mark.one_store
def test_a_series_says_that_reports_of_another_type_are_left_out_not_that_there_are_none(devices):
    devices.send(CATEGORY, ["few", "many"] * 300, -6, -5)
    devices.send(NUMBER.format(50), SAME, -3, -2)
    found = devices.service.ask(f"{PATH}/series").get_json()
    periods = found["head"]["periods"]
    assert [each.get("left_out_reports", 0) for each in periods] == [600, 600, 0, 0, 0]
    assert [each.get("marks", []) for each in periods][:3] == [
        ["left_out"], ["left_out"], ["missing"],
    ]  # fmt: skip
    assert "other_version_left_out" in codes(found)
    days = found["head"]["days"]
    assert days["left_out"] == [{"since": day(-6), "until": day(-5)}]
    assert days["missing"] == [{"since": day(-4), "until": day(-4)}]


@pytest.mark.one_store
def test_a_series_goes_on_by_its_mean_where_a_number_became_a_distribution(devices):
    devices.send(NUMBER.format(100), SAME, -4, -3)
    devices.send(HISTOGRAM.format(100, 20), SAME, -2, -1)
    found = devices.service.ask(f"{PATH}/series").get_json()
    means = {row.get("period", 0): row["estimate"] for row in numbers(found, "mean")}
    assert list(means) == [0, 1, 2, 3]
    assert len(numbers(found, "quantile")) == 2
    assert [each.get("marks", []) for each in found["head"]["periods"]][1:] == [
        [], ["release", "unlike"], [],
    ]  # fmt: skip


@pytest.mark.one_store
def test_a_series_over_unlike_ranges_is_marked_where_it_cannot_be_compared(devices):
    devices.send(NUMBER.format(50), SAME, -4, -3)
    devices.send(NUMBER.format(100), SAME, -2, -1)
    found = devices.service.ask(f"{PATH}/series").get_json()
    marks = [each.get("marks", []) for each in found["head"]["periods"]]
    assert ["unlike" in some for some in marks] == [False, False, True, False]


@pytest.mark.one_store
def test_clipping_is_visible_in_what_is_said_of_numbers_and_quantiles(devices):
    """A tenth of the devices hold 60 to 95, which a range to 50 counts as 50."""
    devices.send(HISTOGRAM.format(50, 10), SAME, *range(-14, 0))
    answer = convert(devices.service.ask(f"{PATH}/estimate?quantile=0.95").get_json(), Answer)
    (row,) = [row for row in tables_of(answer)[1].rows if row.cells[0] == "95th percentile"]
    assert "45 or more" in row.cells
    said = finding(answer)
    assert "The 95th percentile is 45 or more" in said
    assert "the mean of values, those outside 0 to 50 counted as 0 or 50, is" in said
    assert any("in the last, 45 or more, " in line for line in asides(answer))
    low, high = answer.of("bin")[-1].ends
    assert low < 0.1 < high
    change = convert(compared(devices.service, quantile="0.95").get_json(), Answer)
    assert not change.of("difference in quantile")
    assert "beyond_range" in [notice.code for notice in change.notices]


THEMES = 'type = "category"\nvalues = ["light", "dark", {}]\ncomplete = true\nepsilon = 6\n'


@pytest.mark.one_store
def test_a_value_with_another_name_is_no_revolution(devices):
    held = ["light", "dark", "auto"] * 200
    devices.send(THEMES.format('"auto"'), held, *range(-14, -7))
    devices.send(
        THEMES.format('"system"'), [v.replace("auto", "system") for v in held], *range(-7, 0)
    )
    found = compared(devices.service).get_json()
    assert [row["value"] for row in numbers(found, "difference in share")] == ["light", "dark"]
    assert not any(row["told"] for row in numbers(found, "difference in share"))
    assert found["head"]["not_compared"] == [
        {"value": "system", "known": "after"},
        {"value": "auto", "known": "before"},
    ]
    (notice,) = [each for each in found["notices"] if each["code"] == "values_renamed"]
    assert "lists system, it does not list auto" in notice["message"]


@pytest.mark.one_store
def test_a_value_that_is_only_added_was_zero_before(devices):
    devices.send(THEMES.format('"auto"'), ["light", "dark", "auto"] * 200, *range(-14, -7))
    wider = THEMES.format('"auto", "sepia"')
    devices.send(wider, ["light", "dark", "auto", "sepia"] * 150, *range(-7, 0))
    found = compared(devices.service).get_json()
    assert number(found, "difference in share", value="sepia")["told"]
    assert "values_renamed" not in codes(found)


@pytest.mark.one_store
def test_a_key_that_brought_reports_of_one_period_only_is_named(devices):
    devices.send(CATEGORY, ["few", "many"] * 100, *range(-14, 0))
    devices.key = devices.service.key("batch")
    devices.send(CATEGORY, ["few"] * 200, *range(-7, 0))
    found = compared(devices.service).get_json()
    (notice,) = [each for each in found["notices"] if each["code"] == "key_on_one_side"]
    assert "brought 50% of the reports after and none before" in notice["message"]
    assert f"without_key={devices.key.split('_')[2]}" in notice["message"]


@pytest.mark.one_store
def test_days_that_are_other_weekdays_are_matched_and_the_raw_difference_stands_beside(devices):
    """Nobody changes, but weekends differ: Monday to Sunday against the nine days after."""
    monday = -11  # TODAY is a Friday
    for offset in range(monday, -1):
        rest = (offset - monday) % 7 >= 5
        devices.send(
            CATEGORY, ["few"] * (450 if rest else 150) + ["many"] * (150 if rest else 450), offset
        )
    found = compared(devices.service, (monday, monday + 4), (monday + 5, -2)).get_json()
    row = number(found, "difference in share", value="few")
    assert not row["told"]
    assert row["all_days"] > 0.1
    (notice,) = [each for each in found["notices"] if each["code"] == "weekdays_matched"]
    assert "compared are Monday to Wednesday, each weighted alike" in notice["message"]
    weekend = compared(devices.service, (monday, monday + 4), (monday + 5, monday + 6))
    assert "Saturday and Sunday" in problem(weekend, 422, "estimate_refused")["detail"]
