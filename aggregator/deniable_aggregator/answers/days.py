"""Which days an answer covers, and what is special about them."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count, VersionId

if TYPE_CHECKING:
    from collections.abc import Iterable

Mark = Literal["missing", "incomplete", "suspicious", "uneven", "release"]
"""What is special about a period: one of its days has no reports, is not over, has reports that are
not all those of honest devices, has a key that answers differently from the others, or is the first
day of a version of the metric."""


class Run(Struct, frozen=True):
    """Days in a row.

    Attributes:
        since: the first.
        until: the last, inclusive.
    """

    since: date
    until: date

    @property
    def length(self) -> int:
        """How many days these are."""
        return (self.until - self.since).days + 1


class Release(Struct, frozen=True):
    """The first day with reports of a version, after the first version of the metric.

    Attributes:
        day: the day.
        version: the id of the version.
    """

    day: date
    version: VersionId


class KeyLeftOut(Struct, frozen=True):
    """A key whose reports are not counted.

    Attributes:
        key: its id.
        label: the note that whoever made the key gave it.
        reports: how many of its reports are left out.
        why: excluded from all answers by an administrator, or asked by without_key.
    """

    key: str
    label: str
    reports: Count
    why: Literal["excluded", "without_key"]


class Days(Struct, kw_only=True):
    """The days that an answer covers.

    Attributes:
        since: the first: as asked, but not before the first report of the metric.
        until: the last: as asked, but not after today; left out, the last with reports.
        covered: how many days these are.
        reported: how many of them have reports.
        missing: those that have none.
        incomplete: those that are not over: today.
        open_since: from this day on reports may still arrive, of devices that were offline; null
            if none of the days accepts any.
        releases: first days of versions of the metric.
        suspicious: days on which a check of the reports fails.
        uneven: days on which a key is seen to answer differently from the others.
        not_checked: how many days with reports were not checked, to bound the work.
        keys_left_out: keys whose reports are not counted.
    """

    since: date
    until: date
    covered: Count
    reported: Count
    missing: list[Run]
    incomplete: list[date]
    open_since: date | None
    releases: list[Release]
    suspicious: list[date]
    uneven: list[date]
    not_checked: Count
    keys_left_out: list[KeyLeftOut]

    def marks(self, since: date, until: date) -> list[Mark]:
        """What is special about some of the days.

        Args:
            since: the first of them.
            until: the last.
        """
        marks: list[Mark] = []
        if any(run.since <= until and since <= run.until for run in self.missing):
            marks.append("missing")
        if any(since <= day <= until for day in self.incomplete):
            marks.append("incomplete")
        if any(since <= day <= until for day in self.suspicious):
            marks.append("suspicious")
        if any(since <= day <= until for day in self.uneven):
            marks.append("uneven")
        if any(since <= release.day <= until for release in self.releases):
            marks.append("release")
        return marks


def runs(days: Iterable[date]) -> list[Run]:
    """The same days as runs.

    Args:
        days: in their order.
    """
    in_a_row: list[Run] = []
    for day in days:
        if in_a_row and in_a_row[-1].until + timedelta(1) == day:
            in_a_row[-1] = Run(in_a_row[-1].since, day)
        else:
            in_a_row.append(Run(day, day))
    return in_a_row
