"""Which days an answer covers: gaps, today, releases, and keys that are left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from deniable_aggregator.answering.estimation.inputs import LeftOut, MetricReports
from deniable_aggregator.answering.integrity.examiner import Examination
from deniable_aggregator.answering.integrity.volumes import Volumes
from deniable_aggregator.answering.review import covered_days
from deniable_aggregator.answers.common import Release, Run
from deniable_aggregator.answers.dates import FIRST_DAY, LAST_DAY, DayRange, epoch_of
from deniable_aggregator.keeping.store import StoredKey
from deniable_aggregator.telling.cautions import days_in_words
from tests.aggregator.sliced import slice_table

ONE, TWO = b"\x01" * 32, b"\x02" * 32
PARTNER = StoredKey("0307bb3eac2d", bytes(32), "write", "flightdeck", "partner", 0, None)


def day(text: str) -> date:
    return date.fromisoformat(text)


def epochs(first: str, last: str) -> range:
    return range(epoch_of(day(first)), epoch_of(day(last)) + 1)


@dataclass
class Field:
    """Days with ten reports of one key each, of one version after another."""

    versions: dict[bytes, list[int]]
    asked: DayRange = field(default_factory=lambda: DayRange(FIRST_DAY, LAST_DAY))
    left_out: tuple[LeftOut, ...] = ()

    def days(self, today: str, accept_days: int = 0):
        since, until = epoch_of(self.asked.since), epoch_of(self.asked.until)
        tables = {
            digest: slice_table(
                None, {epoch: {"app": 10} for epoch in found if since <= epoch <= until}
            )
            for digest, found in self.versions.items()
        }
        without = frozenset(each.key for each in self.left_out)
        reported = MetricReports(
            [], self.asked, tables, self.left_out, {PARTNER.id: PARTNER}, without
        )
        return covered_days(
            reported,
            Examination((), 0),
            (),
            Volumes(),
            {digest: min(found) for digest, found in self.versions.items()},
            today=day(today),
            accept_days=accept_days,
        )


def test_an_outage_and_an_unfinished_day_are_said_in_a_line():
    gone = {*epochs("2026-10-04", "2026-10-05")}
    counted = [each for each in epochs("2026-09-01", "2026-10-30") if each not in gone]
    days = Field({ONE: counted}).days(today="2026-10-30")
    assert days.missing == [Run(day("2026-10-04"), day("2026-10-05"))]
    assert days.incomplete == [day("2026-10-30")]
    assert days_in_words(days) == (
        "2026-09-01 to 2026-10-30, 58 of 60 days; 2 without reports: 10-04 to 10-05; "
        "10-30 is incomplete"
    )


def test_days_that_still_accept_reports_are_said():
    days = Field({ONE: [*epochs("2026-10-01", "2026-10-29")]}).days("2026-10-30", accept_days=14)
    assert days.open_since == day("2026-10-16")
    assert "open for late reports since 10-16" in days_in_words(days)
    closed = Field({ONE: [*epochs("2026-09-01", "2026-09-29")]}).days("2026-10-30", accept_days=14)
    assert closed.open_since is None


def test_days_before_the_metric_and_after_today_are_no_gaps():
    """Whoever asks for all of time is not told of twenty thousand missing days."""
    asked = DayRange(day("1970-01-02"), day("9999-12-30"))
    days = Field({ONE: [*epochs("2026-10-01", "2026-10-20")]}, asked).days("2026-10-22")
    assert (days.since, days.until) == (day("2026-10-01"), day("2026-10-22"))
    assert days.missing == [Run(day("2026-10-21"), day("2026-10-22"))]
    assert (days.covered, days.reported) == (22, 20)


def test_a_version_is_released_on_its_first_day_and_the_first_version_is_no_release():
    versions = {
        ONE: [*epochs("2026-09-01", "2026-09-30")],
        TWO: [*epochs("2026-09-20", "2026-09-30")],
    }
    days = Field(versions).days("2026-10-01")
    assert days.releases == [Release(day("2026-09-20"), TWO.hex())]
    assert "a new version since 09-20" in days_in_words(days)
    later = DayRange(day("2026-09-25"), day("2026-09-30"))
    assert Field(versions, later).days("2026-10-01").releases == []


def test_a_period_is_marked_by_the_days_in_it():
    counted = [*epochs("2026-09-01", "2026-09-10"), *epochs("2026-09-12", "2026-09-20")]
    days = Field({ONE: counted, TWO: [counted[-1]]}).days("2026-09-20")
    days.suspicious = [day("2026-09-03")]
    assert days.marks(day("2026-09-01"), day("2026-09-07")) == ["suspicious"]
    assert days.marks(day("2026-09-08"), day("2026-09-14")) == ["missing"]
    assert days.marks(day("2026-09-15"), day("2026-09-21")) == ["incomplete", "release"]


def test_a_key_that_is_left_out_is_named_with_its_label():
    left_out = (LeftOut(20_000, PARTNER.id, 2_000), LeftOut(20_001, PARTNER.id, 500))
    days = Field({ONE: [20_000]}, left_out=left_out).days("2026-10-01")
    assert days_in_words(days).endswith("without 2,500 reports of key partner (0307..) (as asked)")
