"""How many devices reported in a period: of all versions, and of those that know a value."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from deniable_aggregator.answers.common import PeriodCounts
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.answers.questions import EstimateQuery, ValueLists
from deniable_aggregator.telling.publication.publish import publish
from deniable_aggregator.telling.publication.selection import Periods, Policy, periods_of
from deniable_shared.mechanisms import ORACLES
from tests.aggregator.publication.estimated import TallySource
from tests.aggregator.simulated import drawn, spec_of
from tests.privacy.specs import category

MONDAY = epoch_of(date(2026, 1, 5))
BY_DAY = {MONDAY: 300, MONDAY + 1: 500, MONDAY + 7: 700, MONDAY + 8: 0, MONDAY + 30: 500}
SPEC = spec_of("grr", 2, 4)


def asked(specs, by_day):
    """The answer about versions with so many reports of each day."""
    generator = np.random.default_rng(3)
    tallies = []
    for spec, days in zip(specs, by_day, strict=True):
        reports = sum(days.values())
        held = np.full(spec.mechanism.size, reports // spec.mechanism.size)
        held[0] += reports - held.sum()
        tallies.append((spec, drawn(spec, held, generator)))
    return TallySource(tallies, by_day=by_day)


@pytest.mark.parametrize(
    ("every", "count", "busiest"),
    [("day", 4, 700), ("week", 3, 800), ("month", 2, 1_500), ("once", 1, 2_000)],
)
def test_the_periods_of_a_metric_are_those_with_reports(every, count, busiest):
    answer = asked([replace(SPEC, every=every)], [BY_DAY]).estimate(
        "m", EstimateQuery(), ValueLists()
    )
    found = periods_of(answer, [every])
    assert (found.every, found.together) == (every, PeriodCounts(count, busiest))
    (row, *_) = answer.of("share")
    assert found.devices(row) == (2_000 / count, busiest)


def test_of_versions_with_different_periods_all_together_have_the_shortest():
    specs = [replace(SPEC, every="week"), replace(SPEC, every="day")]
    answer = asked(specs, [BY_DAY, {MONDAY: 10}]).estimate("m", EstimateQuery(), ValueLists())
    found = periods_of(answer, ["week", "day"])
    assert (found.every, found.together) == ("day", PeriodCounts(4, 700))
    week, day = (spec.digest.hex() for spec in specs)
    assert found.by_version == {week: PeriodCounts(3, 800), day: PeriodCounts(1, 10)}


BY_VERSION = {
    "old": PeriodCounts(9, 150),
    "new": PeriodCounts(2, 400),
    "newest": PeriodCounts(1, 60),
}
PERIODS = Periods("day", 1_400, PeriodCounts(10, 420), BY_VERSION)


def of(reports, versions=None):
    """A share over so many reports, of these versions."""
    return Measured(
        measure="share", value="red", reports=None if versions is None else reports,
        versions=versions and tuple(versions),
    )  # fmt: skip


def test_a_value_that_all_versions_know_has_the_devices_of_all_periods():
    assert PERIODS.devices(of(1_400)) == (140, 420)


def test_a_value_that_one_version_knows_has_the_devices_of_its_own_periods():
    assert PERIODS.devices(of(900, ["old"])) == (100, 150)
    assert PERIODS.devices(of(500, ["new"])) == (250, 400)


def test_of_several_versions_the_average_is_not_too_large_and_the_busiest_period_not_too_small():
    assert PERIODS.devices(of(560, ["new", "newest"])) == (560 / 3, 420)
    assert PERIODS.devices(of(960, ["old", "newest"])) == (96, 210)
    assert PERIODS.devices(of(1_400, ["old", "new"])) == (140, 420)


def phased_in():
    """A version that 3,000 devices report on each of ten days, and one that knows a value more."""
    old, new = (
        replace(category(values, ORACLES["grr"].for_epsilon(size, 8)), other="other")
        for values, size in (("a other", 2), ("a b other", 3))
    )
    days = [{MONDAY + day: 3_000 for day in range(10)}, {MONDAY + 10: 1_000, MONDAY + 11: 3_000}]
    generator = np.random.default_rng(9)
    tallies = [
        (old, drawn(old, np.array([15_000, 15_000]), generator)),
        (new, drawn(new, np.array([2_000, 1_000, 1_000]), generator)),
    ]
    return TallySource(tallies, by_day=days)


def test_presence_of_a_new_value_is_of_the_busiest_day_of_the_version_that_knows_it():
    """A quarter of 3,000 devices hold it on that day; over all days it would be 83."""
    made = publish(phased_in(), "m", policy=Policy(100, population={"a": 10_000, "b": 1_000}))
    rows = {row.label: row for row in made.rows}
    assert rows["b"].of_reports == 4_000
    assert 0.75 < rows["b"].presence < 0.85
    assert 0.15 < rows["a"].presence < 0.17
    (caution,) = made.cautions
    assert (
        "among those who reported in the day with the most reports (over all 12 days it may be "
        in (caution)
    )
    assert any("2,833 on average and 3,000 in the busiest" in note for note in made.notes)


def test_the_minimum_is_of_the_average_day_of_the_version_that_knows_a_value():
    """On an average day of the new version 500 devices hold the value; over all days it were 83."""
    shown = [
        {row.label for row in publish(phased_in(), "m", policy=Policy(minimum)).rows}
        for minimum in (400, 600)
    ]
    assert ["b" in each for each in shown] == [True, False]
