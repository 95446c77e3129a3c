"""Answers to draw, and what is in a drawing."""

from __future__ import annotations

from datetime import date, timedelta
from xml.etree import ElementTree as ET

import numpy as np
from msgspec.structs import replace

from deniable_aggregator.answers.answer import Answer, AskedQuestion, Head, Period
from deniable_aggregator.answers.common import (
    Days,
    IntegritySummary,
    IntervalNote,
    MetricVersion,
    Release,
    Run,
)
from deniable_aggregator.answers.measured import Measured

REPORTS, FIRST = 2_000, date(2026, 1, 31)
ERROR = 0.012
"""The standard error of a share of so many reports, about."""

SVG = "{http://www.w3.org/2000/svg}"


def days_of(first, count):
    """Days in a row of which nothing is special."""
    return Days(
        since=first, until=first + timedelta(count - 1), covered=count, reported=count,
        missing=[], incomplete=[], open_since=None, releases=[], suspicious=[], uneven=[],
        not_checked=0, keys_left_out=[],
    )  # fmt: skip


DAYS = days_of(date(2026, 1, 1), 31)
HEAD = Head(
    application="flightdeck",
    metric="theme",
    kind="shares",
    days=DAYS,
    health=IntegritySummary("ok", [], []),
    periods=[Period(since=DAYS.since, until=DAYS.until, reports=1_000)],
    reports=1_000,
    versions=[
        MetricVersion(
            version="a" * 64, title="oue", mechanism={"name": "oue"}, epsilon=1.0,
            epsilon_permanent=None, epsilon_total=None, reports=1_000,
        )
    ],
    interval=IntervalNote(kind="one", level=0.95, meaning=""),
)  # fmt: skip


def answer_of(*numbers, question="estimate", notices=(), checks=(), **head):
    """An answer with some numbers; what else is given belongs to its head."""
    return Answer(
        head=replace(HEAD, **head), question=AskedQuestion(name=question), numbers=list(numbers),
        notices=list(notices), checks=list(checks),
    )  # fmt: skip


def number(measure, estimate, low, high, **fields):
    """A number with its interval."""
    error = (high - low) / 4
    return Measured(
        measure=measure, estimate=estimate, low=low, high=high, standard_error=error, **fields
    )


def share(value, estimate, half, **fields):
    """The share of a value, told from zero if its interval is above that."""
    low, high = estimate - half, estimate + half
    told = fields.pop("told", low > 0)
    return number("share", estimate, low, high, value=value, told=told, **fields)


def shares(postprocess=None):
    """Three shares: red and green are told from zero, blue is not."""
    rows = [share("green", 0.391, 0.041), share("blue", -0.006, 0.032), share("red", 0.6131, 0.042)]
    if postprocess:
        rows = [replace(row, adjusted=max(0.0, row.estimate)) for row in rows]
    return answer_of(*rows, values_asked=3, postprocess=postprocess)


def mean(low, middle, high, limits=None):
    """A mean of a metric with this range."""
    version = replace(HEAD.versions[0], range=limits)
    return answer_of(number("mean", middle, low, high), kind="mean", versions=[version])


def series(items, periods, missing=()):
    """Shares of so many values over days, of which some have no reports."""
    generator = np.random.default_rng(3)
    numbers, all_periods = [], []
    for place in range(periods):
        reports = 0 if place in missing else REPORTS
        all_periods.append(Period(since=day(place), until=day(place), reports=reports))
        found = generator.dirichlet(np.full(items, 0.3)) + generator.normal(0, ERROR, items)
        if reports:
            rows = [share(f"v{n}", each, 2 * ERROR) for n, each in enumerate(found.tolist())]
            numbers += [replace(row, period=place) for row in rows]
    return answer_of(
        *numbers, question="series", by="day", days=days_of(FIRST, periods), periods=all_periods,
        reports=REPORTS * (periods - len(missing)), values_asked=items,
    )  # fmt: skip


def change(items):
    """The shares of so many values on one day against those of another; some changes are clear."""
    generator, numbers = np.random.default_rng(3), []
    for item, moved in enumerate(generator.normal(0, 4 * ERROR, items).tolist()):
        half, before = 2 * 1.4 * ERROR, 1 / items
        low, high = moved - half, moved + half
        numbers.append(
            number(
                "difference in share", moved, low, high, value=f"v{item}", period=1,
                told=not low <= 0 <= high, before=before, after=before + moved,
            )
        )  # fmt: skip
    periods = [
        Period(since=day(n), until=day(n), reports=REPORTS, days=days_of(day(n), 1)) for n in (0, 1)
    ]
    return answer_of(
        *numbers, question="change", days=None, periods=periods, reports=2 * REPORTS,
        values_asked=items,
    )  # fmt: skip


def marked(items, periods):
    """A series with one of each: days without reports, suspicious, uneven, of a release, today."""
    answer = series(items, periods, missing=(3, 4))
    days = replace(
        answer.head.days,
        reported=periods - 2,
        missing=[Run(day(3), day(4))],
        suspicious=[day(5)],
        uneven=[day(6)],
        releases=[Release(day(2), "0" * 64)],
        incomplete=[day(periods - 1)],
    )
    for period in answer.head.periods:
        period.marks = days.marks(period.since, period.until)
    answer.head.days = days
    answer.head.description = "Which colour is chosen"
    return answer


def day(place):
    return FIRST + timedelta(place)


def parsed(text):
    """The root of an SVG document, which fails unless that is well-formed."""
    return ET.fromstring(text)


def of_class(root, kind):
    """Elements of a class, in their order."""
    return [each for each in root.iter() if each.get("class") == kind]
