"""Answers to draw, and what is in a drawing."""

from __future__ import annotations

from datetime import date, timedelta
from xml.etree import ElementTree as ET

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answers.days import Release, Run
from deniable_aggregator.answers.questions import ChangeQuery, EstimateOptions, SeriesQuery
from deniable_aggregator.dates import DayRange
from deniable_aggregator.estimation.inputs import ChangeRequest, CollectedTallies
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from deniable_aggregator.trends.change import change
from deniable_aggregator.trends.series import series
from tests.aggregator.answered import answer, change_answer
from tests.aggregator.estimation.test_shares import counted, grr
from tests.aggregator.simulated import spec_of

REPORTS, FIRST = 2_000, date(2026, 1, 31)
SVG = "{http://www.w3.org/2000/svg}"


def shares(options=None):
    """Three shares: red and green are told from zero, blue is not."""
    tally = counted(grr("2"), ["red"] * 600 + ["green"] * 400)
    return answer(estimate_shares([tally], None, options or EstimateOptions()))


def answers(items, periods, missing=()):
    """A series over days with some missing, and the change from the first to the last."""
    spec, generator = spec_of("grr", items, 1), np.random.default_rng(3)
    days = [DayRange(day(number), day(number)) for number in range(periods)]
    found = {
        each: CollectedTallies([], {}) if number in missing else _gathered(spec, generator, number)
        for number, each in enumerate(days)
    }
    going = answer(series(found.__getitem__, [spec], days, SeriesQuery()))
    two = [found[days[0]], _gathered(spec, generator, periods)]
    request = ChangeRequest(ChangeQuery(before="2026-01-01", after="2026-01-02"))
    return going, change_answer(change(*two, request), days[0], days[-1])


def marked(items, periods):
    """A series with one of each: days without reports, suspicious, uneven, of a release, today."""
    found = answers(items, periods, missing=(3, 4))[0]
    found.description = "Which colour is chosen"
    found.days = replace(
        found.days,
        since=day(0),
        until=day(periods - 1),
        covered=periods,
        reported=periods - 2,
        missing=[Run(day(3), day(4))],
        suspicious=[day(5)],
        uneven=[day(6)],
        releases=[Release(day(2), "0" * 64)],
        incomplete=[day(periods - 1)],
    )
    for period in found.periods:
        period.marks = found.days.marks(period.since, period.until)
    return found


def day(number):
    return FIRST + timedelta(number)


def parsed(text):
    """The root of an SVG document, which fails unless that is well-formed."""
    return ET.fromstring(text)


def of_class(root, kind):
    """Elements of a class, in their order."""
    return [each for each in root.iter() if each.get("class") == kind]


def _gathered(spec, generator, number):
    support, size = spec.mechanism.support, spec.mechanism.size
    chances = support.q + generator.dirichlet(np.full(size, 0.3)) * (support.p - support.q)
    counts = generator.multinomial(REPORTS, chances / chances.sum())
    return CollectedTallies([(spec, counts)], {spec.digest: {number: REPORTS}})
