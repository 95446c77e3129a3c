"""What brings far more than it usually does is named; weekdays and releases are not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from deniable_aggregator.answering.integrity.volumes import (
    FAMILY_P,
    PAST_DAYS,
    Brought,
    _one_day,
    surges,
)

pytestmark = pytest.mark.audit

OLD, NEW = b"old", b"new"
RHYTHM = np.array([1.0, 1.05, 1.0, 0.95, 1.1, 0.5, 0.4])
SPREAD = 0.15
"""Of the logarithm of a day's reports, beside its weekday: most days are within 15%."""

SIZES = {"ios": 20_000, "android": 60_000, "web": 3_000, "beta": 150}
DAYS = 84
FIRST = DAYS - 28


class Cell(NamedTuple):
    """What one key brought of one version for one day."""

    digest: bytes
    epoch: int
    key: str
    reports: int
    largest: int


def brought(cells):
    cells = list(cells)
    return [
        Brought.of(digest, [cell[1:] for cell in cells if cell.digest == digest])
        for digest in (OLD, NEW)
    ]


def usual_days(generator, days=DAYS, sizes=SIZES):
    """Four keys with a weekly rhythm, and a version that takes over from another."""
    for epoch in range(days):
        for key, size in sizes.items():
            mean = size * RHYTHM[epoch % 7] * np.exp(generator.normal(0, SPREAD))
            reports = int(generator.poisson(mean))
            new = generator.binomial(reports, np.clip((epoch - 50) / 7, 0, 1))
            for digest, count in ((OLD, reports - new), (NEW, new)):
                if count:
                    yield Cell(digest, epoch, key, int(count), 1)


def found(cells, first=FIRST, last=DAYS - 1):
    return [(each.kind, each.epoch, each.key) for each in surges(brought(cells), 0, first, last)]


@pytest.mark.statistics
@pytest.mark.parametrize("days", [10, 21, PAST_DAYS])
def test_usual_days_stand_out_as_often_as_the_level_says(days):
    """Of 200,000 days with a weekly rhythm; with few days of past the rhythm is part of the spread,
    so fewer stand out."""
    generator = np.random.default_rng(5)
    columns, alpha = 200_000, 0.01
    logs = np.log(20_000 * RHYTHM[:, None]) + generator.normal(0, SPREAD, (4, 7, columns))
    logs.reshape(28, -1)[: 28 - days] = np.nan
    for weekday in (0, 5):
        turned = np.roll(logs.reshape(28, -1), -weekday, axis=0) if days == PAST_DAYS else logs
        centre = np.log(20_000 * RHYTHM[weekday if days == PAST_DAYS else 0])
        p, _ = _one_day(centre + generator.normal(0, SPREAD, columns), turned.reshape(4, 7, -1))
        rate, error = (p < alpha).mean(), (alpha * (1 - alpha) / columns) ** 0.5
        assert rate < alpha + 4 * error
        if days == PAST_DAYS:
            assert rate > alpha - 4 * error  # the test is no weaker than it says


@pytest.mark.statistics
def test_answers_about_usual_days_name_none():
    """100 answers about four keys and two versions; at a thousandth each, none is expected."""
    assert FAMILY_P == 1e-3
    for seed in range(100):
        assert found(usual_days(np.random.default_rng(seed))) == []


def test_a_day_with_four_times_its_usual_reports_is_named():
    for seed in range(20):
        cells = [
            *usual_days(np.random.default_rng(seed)),
            Cell(NEW, 78, "web", 9_000, 1),  # in uploads of single reports
        ]
        assert found(cells) == [("volume", 78, "web")]


def test_one_upload_of_four_million_is_named_by_its_day_and_by_itself():
    cells = [*usual_days(np.random.default_rng(1)), Cell(NEW, 80, "android", 4_000_000, 4_000_000)]
    assert found(cells) == [("volume", 80, "android"), ("upload", 80, "android")]
    (volume, upload) = surges(brought(cells), 0, FIRST, DAYS - 1)
    assert volume.usual == pytest.approx(60_000, rel=0.3)
    assert (upload.reports, upload.usual, volume.digest) == (4_000_000, 1.0, NEW)


def test_a_large_upload_is_named_though_the_day_has_no_more_reports_than_usual():
    """Devices send one report each; a forger sends its share of the key's day at once."""
    cells = list(usual_days(np.random.default_rng(2)))
    (place,) = (n for n, cell in enumerate(cells) if cell[:3] == (NEW, 80, "ios"))
    cells[place] = cells[place]._replace(largest=3_000)
    assert found(cells) == [("upload", 80, "ios")]


def test_a_flood_that_is_no_news_is_named_for_as_long_as_the_past_is_another():
    cells = [Cell(OLD, epoch, "key", 1_000 * (5 if epoch >= 28 else 1), 1) for epoch in range(100)]
    named = [epoch for kind, epoch, _ in found(cells, 0, 99) if kind == "volume"]
    assert named == list(range(49, 27, -1))  # three weeks; then five thousand are usual


def test_a_new_key_is_named_by_the_days_of_all():
    cells = [*usual_days(np.random.default_rng(3)), Cell(NEW, 80, "partner", 2_000_000, 1)]
    assert found(cells) == [("volume", 80, None)]


def test_growth_and_days_with_few_reports_are_not_named():
    growing = [Cell(OLD, epoch, "key", int(1_000 * 1.04**epoch), 1) for epoch in range(60)]
    assert found(growing, 0, 59) == []
    few = [Cell(OLD, epoch, "key", 3 if epoch != 50 else 90, 1) for epoch in range(60)]
    assert found(few, 0, 59) == []


def test_whether_a_day_is_named_does_not_depend_on_the_days_that_are_asked_about():
    cells = [*usual_days(np.random.default_rng(4)), Cell(NEW, 70, "ios", 400_000, 1)]
    for first in (40, 60, 70):
        late = [cell for cell in cells if cell.epoch >= first - 56]
        assert ("volume", 70, "ios") in found(late, first, 83)
