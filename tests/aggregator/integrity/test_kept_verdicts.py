"""What is kept of slices says the same of their days and period as the slices did."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from deniable_aggregator.answering.estimation.inputs import MetricReports
from deniable_aggregator.answering.integrity import report
from deniable_aggregator.answering.integrity.contrasts import KeyComparison
from deniable_aggregator.answering.integrity.examiner import Examiner
from deniable_aggregator.answering.integrity.kept_verdicts import KeptVerdicts
from deniable_aggregator.answering.integrity.slice_medians import SliceMedians
from deniable_aggregator.answering.integrity.volumes import Volumes
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange
from deniable_aggregator.answers.measured import Measured
from deniable_aggregator.counting.tallies import tally_for
from tests.aggregator.fakes import bits_of_oue, padded_fakes
from tests.aggregator.simulated import spec_of
from tests.aggregator.sliced import slice_table

SPEC = spec_of("oue", 16, 1)
TALLY = tally_for(SPEC)
ENTRY = SimpleNamespace(spec=SPEC, tally=TALLY)
DAYS, KEYS, REPORTS = 7, 3, 1_500


@pytest.fixture(scope="module")
def table():
    """A week of three keys: one forges noise on the third day, one answers unlike the others."""
    generator = np.random.default_rng(71)
    counters = []
    for day in range(DAYS):
        for key in range(KEYS):
            held = generator.choice(16, REPORTS) if key < 2 else np.full(REPORTS, 5)
            bits = bits_of_oue(SPEC, held, generator)
            if (day, key) == (2, 1):
                bits[:400] = padded_fakes(SPEC, 400, [15], "mean", generator)
            counters.append(TALLY.fold(np.packbits(bits, axis=1).tobytes())[1])
    names = {f"key {key}": REPORTS for key in range(KEYS)}
    return slice_table(ENTRY, {20_000 + day: names for day in range(DAYS)}, counters)


def reported(table=None):
    found = {} if table is None else {SPEC.digest: table}
    return MetricReports([ENTRY], DayRange(FIRST_DAY, LAST_DAY), found, (), {}, frozenset())


@pytest.fixture(scope="module")
def kept(table):
    stored = msgspec.msgpack.encode(KeptVerdicts.from_table(table))
    return {SPEC.digest: [msgspec.msgpack.decode(stored, type=KeptVerdicts)]}


def test_verdicts_and_warnings_are_those_of_the_slices(table, kept):
    before = Examiner().examine(reported(table), most_cells=1 << 30)
    after = Examiner().examine(reported(), most_cells=1 << 30, kept=kept)
    assert (after.checks_made, after.limit) == (before.checks_made, before.limit)
    assert [day.epoch for day in before.failing_days] == [20_002]
    contrasts = KeyComparison().compare(reported(table))
    uneven = KeyComparison().compare(reported(), kept)
    assert [each.key for each in uneven] == ["key 2"]
    assert uneven == tuple(each for each in contrasts if each.uneven)
    said = [
        report.summary(found, of, Volumes(), {})
        for found, of in ((before, contrasts), (after, uneven))
    ]
    assert said[0] == said[1]
    assert said[0].verdict == "suspicious"
    warned = [list(report.of_checks("m", found, {})) for found in (before, after)]
    assert warned[0] == warned[1]
    days = [report.by_day(found, (), {}) for found in (before, after)]
    assert [each for each in days[0] if each.key is None] == days[1]
    assert [each.stand_out for each in days[1] if each.stand_out] == [("key 1",)]


def rows(items):
    return [Measured(measure="share", value=item, standard_error=0.001) for item in items]


def test_medians_of_a_period_are_those_of_its_slices(table, kept):
    asked = rows(SPEC.items)
    before = SliceMedians().robust_checks(reported(table), asked, 0.95)
    after = SliceMedians().robust_checks(reported(), asked, 0.95, kept)
    assert before is not None
    assert after == before
    some = SliceMedians().robust_checks(reported(), rows(SPEC.items[3:5]), 0.95, kept)
    assert some == before[3:5]


def test_medians_of_periods_and_of_later_days_are_weighted_by_reports(table):
    """Three days are kept, and four still have their slices."""
    days = table.days.tolist()
    early, late = table.between(days[0], days[2]), table.between(days[3], days[6])
    kept = {SPEC.digest: [KeptVerdicts.from_table(early)]}
    both = SliceMedians().robust_checks(reported(late), rows(SPEC.items), 0.95, kept)
    apart = [
        SliceMedians().robust_checks(reported(part), rows(SPEC.items), 0.95)
        for part in (early, late)
    ]
    assert [each.robust_slices for each in both] == [21] * 16
    for together, first, second in zip(both, *apart, strict=True):
        weighted = (3 * first.robust + 4 * second.robust) / 7
        assert together.robust == pytest.approx(weighted)
    examined = Examiner().examine(reported(late), most_cells=1 << 30, kept=kept)
    assert [day.epoch for day in examined.days] == days[::-1]
