from __future__ import annotations

import math

import pytest

from deniable_shared.device_classes import CLASSES
from deniable_shared.planning.disclosure_figures import bits_revealed
from deniable_shared.review import review
from tests.shared.review.registries import FLAG, MEMOIZED, SINGLES_OUT, category, registry


def test_a_birthday_a_zip_and_a_sex_single_out_nearly_everybody_if_they_were_seen():
    told = review(registry(*SINGLES_OUT), devices=100_000).together
    assert told.total == pytest.approx(math.log2(365 * 1_024 * 2))
    assert told.largest == pytest.approx(10)
    assert told.needed == pytest.approx(math.log2(100_000))
    assert told.leading == ("zip", "birthday")
    assert told.alone == pytest.approx((1 - 1 / (365 * 1_024)) ** 99_999)
    assert review(registry(*SINGLES_OUT), devices=100).together.leading == ("zip",)


def test_what_is_enough_is_named_and_nothing_is_if_all_together_are_not():
    told = review(registry(("theme", category(4)), ("crashed", FLAG))).together
    assert (told.total, told.largest) == (3, 2)
    assert told.leading == told.leading_in_a_year == ()
    assert told.year <= 3
    assert told.alone < 1e-10


def test_a_metric_tells_at_most_its_value_and_its_reports():
    daily, monthly = review(
        registry(("daily", FLAG), ("monthly", f'{FLAG}every = "month"'))
    ).metrics
    assert daily.value == daily.rarest == 1
    assert daily.one_report == pytest.approx(bits_revealed(1), rel=1e-6)
    assert daily.average == monthly.average == pytest.approx(0.1601, abs=5e-5)
    assert (daily.reports, monthly.reports) == (365, 13)
    assert daily.year == 1
    large = review(registry(("large", category(1_000, 'every = "month"')))).metrics[0]
    assert large.year == pytest.approx(13 * large.average)
    assert large.year < large.value


def test_the_lifetime_of_a_device_limits_how_many_reports_it_sends():
    (bits,) = review(registry(("flag", FLAG), life=10)).metrics
    assert bits.reports == 10
    (bits,) = review(registry(("flag", f'{FLAG}{MEMOIZED}every = "day"\n'), life=10)).metrics
    assert bits.reports == 365


def test_memoised_reports_of_a_year_tell_no_more_than_the_permanent_answer():
    fresh, memoized = review(
        registry(("fresh", category(8)), ("memoized", category(8, MEMOIZED)))
    ).metrics
    assert fresh.year == fresh.value == 3
    assert 0.2 < memoized.year < 0.7


def test_many_bits_about_one_number_tell_no_more_than_their_sum():
    lines = 'type = "number"\nrange = [0, 30]\nepsilon = 1\nmechanism = "duchi"\n'
    (bits,) = review(registry(("seconds", lines))).metrics
    assert bits.value == pytest.approx(20, abs=0.01)
    assert bits.year == pytest.approx(math.log2(366))


def test_a_text_may_be_any_and_has_no_entropy():
    found = review(registry(("word", 'type = "string"\nepsilon = 1\n'), ("crashed", FLAG)))
    word, _ = found.metrics
    assert word.value is word.rarest is None
    assert found.together.total is None
    assert found.together.texts == ("word",)
    assert word.year == pytest.approx(365 * word.average)


def test_shares_lower_what_a_value_tells_and_raise_what_a_rare_one_does():
    lines = category(4)
    shares = {"theme": ((0.75, 0.25, 0.0, 0.0),)}
    (bits,) = review(registry(("theme", lines)), priors=shares).metrics
    assert bits.value == pytest.approx(0.811, abs=5e-4)
    assert bits.rarest == 2
    assert 0 < bits.average < review(registry(("theme", lines))).metrics[0].average


def test_a_record_would_single_out_devices_as_its_records_are_many():
    lines = (
        'type = "attributes"\nepsilon = 1\n[metrics.flight.attributes]\nlate = "boolean"\n'
        'carrier = { values = ["AA", "DL"], other = "another" }\n'
    )
    found = review(registry(("flight", lines)), devices=6)
    (record,) = found.records
    assert record.records == 6
    assert record.alone == pytest.approx((5 / 6) ** 5)
    assert record.alone_approximately == pytest.approx(math.exp(-1))
    assert record.in_pairs == pytest.approx(math.exp(-1))
    assert found.metrics[0].value == pytest.approx(math.log2(6))
    assert review(registry(("crashed", FLAG))).records == ()


@pytest.mark.parametrize("count", [1, 3, 12])
def test_however_many_metrics_show_a_row_a_cohort_or_a_group_it_is_six_bits_at_most(count):
    """One class of 64 for all metrics of a device: 64 devices of 4,000 share it, not 2."""
    word = f'type = "string"\nepsilon = 1\n{MEMOIZED}mechanism = "rappor"\n'
    found = review(registry(*((f"word_{number}", word) for number in range(count))), devices=4_000)
    assert found.together.constants == math.log2(CLASSES) == 6
    assert len(found.together.constant_metrics) == count
    assert found.together.year == pytest.approx(sum(bits.year for bits in found.metrics) + 6)


def test_without_devices_a_device_is_hidden_among_the_most_that_a_metric_expects():
    one, other = (f"{FLAG}expected_devices = {devices}\n" for devices in (10, 2_000))
    assert review(registry(("one", one), ("other", other))).together.devices == 2_000
    assert review(registry(("one", one)), devices=5).together.devices == 5


def test_few_devices_are_two_at_least():
    lone = registry(("one", f"{FLAG}expected_devices = 1\n"))
    assert review(lone).together.devices == 2
    assert review(lone).together.leading == ("one",)
