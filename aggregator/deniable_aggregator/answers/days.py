"""Which days an answer covers, what is special about them, and the same in a short line."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from deniable_aggregator.answers.words import Count, VersionId

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Mark = Literal["missing", "incomplete", "suspicious", "uneven", "release"]
"""What is special about a period: one of its days has no reports, is not over, has reports that are
not all those of honest devices, has a key that answers differently from the others, or is the first
day of a version of the metric."""

MARK_WORDS: Final = {
    "missing": "days missing",
    "incomplete": "not over",
    "suspicious": "suspicious",
    "uneven": "keys differ",
    "release": "new version",
}
"""What marks are called in a table."""

MOST_NAMED: Final = 4
"""Of days in a line; the JSON has all of them."""

SHOWN_OF_IDS: Final = 4


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
    found: list[Run] = []
    for day in days:
        if found and found[-1].until + timedelta(1) == day:
            found[-1] = Run(found[-1].since, day)
        else:
            found.append(Run(day, day))
    return found


def days_in_words(days: Days) -> str:
    """The days in one line, such as "2026-09-01 to 2026-09-30, 29 of 30 days".

    Args:
        days: those of an answer.
    """
    span = f"{days.since} to {days.until}" if days.covered > 1 else str(days.since)
    if days.reported < days.covered or days.covered > 1:
        span += f", {days.reported:,} of {_counted(days.covered, 'day')}"
    parts = [span]
    if days.missing:
        count = sum(run.length for run in days.missing)
        parts.append(f"{count:,} without reports: {_runs(days.missing, days)}")
    if days.incomplete:
        parts.append(f"{', '.join(_short(day, days) for day in days.incomplete)} is incomplete")
    if days.open_since is not None and days.open_since not in days.incomplete:
        parts.append(f"open for late reports since {_short(days.open_since, days)}")
    if days.releases:
        named = [_short(each.day, days) for each in days.releases]
        what = "a new version" if len(named) == 1 else "new versions"
        parts.append(f"{what} since {_some(named)}")
    if days.suspicious:
        parts.append(f"suspicious: {_runs(runs(days.suspicious), days)}")
    if days.uneven:
        parts.append(f"keys differ: {_runs(runs(days.uneven), days)}")
    for each in days.keys_left_out:
        why = "excluded" if each.why == "excluded" else "as asked"
        name = key_in_words(each.key, each.label)
        parts.append(f"without {_counted(each.reports, 'report')} of key {name} ({why})")
    return "; ".join(parts)


def days_shortly(days: Sequence[date]) -> str:
    """Some days for a sentence, such as "2026-09-01 to 2026-09-07, 2026-09-12".

    Args:
        days: in their order.
    """
    return _some(
        [str(run.since) if run.length == 1 else f"{run.since} to {run.until}" for run in runs(days)]
    )


def key_in_words(key: str, label: str) -> str:
    """A key as people know it: its label, and the first letters of its id.

    Args:
        key: its id; empty for reports that were stored before reports were kept by key.
        label: its label, which may be empty.
    """
    if not key:
        return "of an earlier version"
    return f"{label} ({key[:SHOWN_OF_IDS]}..)" if label else key


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _runs(found: Sequence[Run], days: Days) -> str:
    return _some(
        [
            _short(run.since, days)
            if run.length == 1
            else f"{_short(run.since, days)} to {_short(run.until, days)}"
            for run in found
        ]
    )


def _short(day: date, days: Days) -> str:
    """A day without its year, where all days have the same."""
    return f"{day:%m-%d}" if days.since.year == days.until.year else str(day)


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
