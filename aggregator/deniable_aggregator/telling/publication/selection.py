"""Which values of a metric are shown: those that enough devices of one period surely hold.

Several days together hold reports and not devices, so that devices are counted by period. All of
this is policy, not privacy: reports are randomized before they are sent.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_shared.errors import ParameterError
from deniable_shared.periods import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.answers.answer import Answer
    from deniable_aggregator.answers.common import PeriodCounts
    from deniable_aggregator.answers.measured import Measured
    from deniable_aggregator.answers.words import VersionId
    from deniable_shared.periods import Every

MINIMUM: Final = 100
REPORTS_MINIMUM: Final = 1_000

MOST_PEOPLE: Final = 10**12
"""That a value could be true of."""

NEAR: Final = 1.0
"""In standard errors. If a value's lower end is this near the minimum, chance decided its side."""

FOR_CHANCE: Final = 0.6
"""Standard errors that the upper end of the others together allows for each such value."""

_PEOPLE: Final = re.compile(r"[0-9]{1,13}")
_CELLS: Final = 2


@dataclass(frozen=True)
class Policy:
    """What is shown.

    Attributes:
        minimum: a value is shown if so many devices of a period surely hold it; at least 1.
        reports_minimum: with fewer reports nothing is published; at least 1.
        population: how many people each value could be true of.
    """

    minimum: int = MINIMUM
    reports_minimum: int = REPORTS_MINIMUM
    population: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("minimum", "reports_minimum"):
            if not getattr(self, name) >= 1:
                raise ParameterError(name, "at least 1", getattr(self, name))


def read_population(path: Path) -> Mapping[str, int]:
    """The people of each value.

    Args:
        path: a CSV file with two columns: a value of the metric, and how many people it could be
            true of. A first line whose second cell is a word is taken for a header.

    Raises:
        ParameterError: naming the line that is not so.
        OSError: if the file cannot be read.
    """
    people: dict[str, int] = {}
    try:
        lines = list(csv.reader(path.read_text("utf-8-sig").splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise ParameterError("population", "CSV in UTF-8", str(path)) from None
    for number, cells in enumerate(lines, 1):
        if not cells:
            continue
        if len(cells) != _CELLS:
            raise ParameterError(f"line {number} of {path}", "a value and a number", cells)
        value, count = cells[0], cells[1].strip()
        if number == 1 and _is_word(count):
            continue
        if not (_PEOPLE.fullmatch(count) and 0 < int(count) <= MOST_PEOPLE):
            wanted = f"a number of people in [1, {MOST_PEOPLE:,}]"
            raise ParameterError(f"line {number} of {path}", wanted, count[:60])
        if value in people:
            raise ParameterError(f"line {number} of {path}", "a value of its own", value)
        people[value] = int(count)
    if not people:
        raise ParameterError("population", "a file with at least one value", str(path))
    return people


def _is_word(text: str) -> bool:
    """Whether a text begins with a letter and is no number, such as nan."""
    try:
        float(text)
    except ValueError:
        return text[:1].isalpha()
    return False


class Devices(NamedTuple):
    """How many devices reported in a period.

    Attributes:
        average: over the periods with reports of these devices, or less.
        busiest: in the period with the most reports, or more.
    """

    average: float
    busiest: float


@dataclass(frozen=True)
class Periods:
    """The periods of a metric in which there are reports.

    Attributes:
        every: how often a device reports; of several versions, the shortest period.
        reports: how many reports there are, of all versions.
        together: how many of these periods have reports, and how many the busiest has; of all
            versions.
        by_version: the same of each version by itself.
    """

    every: Every
    reports: int
    together: PeriodCounts
    by_version: Mapping[VersionId, PeriodCounts]

    def devices(self, share: Measured) -> Devices:
        """How many devices of the versions that know a value reported in one period.

        A device sends one report in a period, so that these are different devices. How many there
        were in all periods together nobody knows: reports have no sender.

        Args:
            share: of the value. Where it is of several versions but not of all, and these reported
                at the same time, the average may be too small; where they did not, the busiest
                period may be too large. Never the other way round.
        """
        together = self.together
        reports = self.reports if share.reports is None else share.reports
        if share.versions is None:
            return Devices(reports / together.count, together.busiest)
        known = [self.by_version[version] for version in share.versions]
        count = min(together.count, sum(periods.count for periods in known))
        busiest = min(together.busiest, sum(periods.busiest for periods in known))
        return Devices(reports / count, busiest)


def periods_of(answer: Answer, every: Iterable[Every]) -> Periods:
    """The periods in which there are reports.

    Args:
        answer: of a server; with at least one report.
        every: how often devices report, of each version with reports.
    """
    head = answer.head
    if head.period_counts is None:
        raise ValueError("period_counts must be in the answer")
    by_version = {
        version.version: version.period_counts
        for version in head.versions
        if version.period_counts is not None
    }
    shortest = min(every, key=EVERY.index)
    return Periods(shortest, head.reports, head.period_counts, by_version)


@dataclass(frozen=True)
class Selection:
    """The values of an answer, as they are published.

    Attributes:
        shown: each surely held by the minimum of devices; the largest shares first.
        merged: all others, as the answer has them.
        near: values whose lower ends are within a standard error of the minimum, on either side.
        values: how many values the answer's intervals cover at once.
        level: with which probability.
    """

    shown: Sequence[Measured]
    merged: Sequence[Measured]
    near: Sequence[Measured]
    values: int
    level: float

    def together(self, combined: Measured) -> tuple[float, float]:
        """The interval of the share of the merged values, as wide as those beside it.

        The values were merged because their estimates are small, so the estimate of their sum is
        too small on average: a value with a standard error s that is merged by chance takes at most
        s times the density of the normal distribution at 0, 0.4, from the sum. How many these are
        shows in how many lie near the minimum, on both sides of it: the upper end allows 0.6 s for
        each of these. Without it intervals of others may miss nearly always.

        Args:
            combined: the share of the merged values together, with an interval of its own.

        Returns:
            The lower and the upper end.
        """
        alone = NormalDist().inv_cdf((1 + self.level) / 2)
        among = NormalDist().inv_cdf(1 - (1 - self.level) / (2 * self.values))
        wider, share = among / alone, combined.estimate or 0.0
        low, high = (share + wider * (end - share) for end in combined.ends)
        return low, high + FOR_CHANCE * sum(number.standard_error or 0.0 for number in self.near)


def select(answer: Answer, periods: Periods, minimum: int) -> Selection:
    """Chooses the values that at least so many devices of a period surely hold.

    Args:
        answer: shares, with intervals that cover all values at once; within a segment, of which
            the devices are at least so many as the lower end of its size says.
        periods: in how many periods the reports were sent.
        minimum: a value is shown if its lower end times the devices of a period is at least this.
    """
    size = answer.one("segment size") if answer.head.segment is not None else None
    part = 1.0 if size is None else max(0.0, size.ends[0])
    shown: list[Measured] = []
    merged: list[Measured] = []
    near: list[Measured] = []
    for share in answer.of("share"):
        low, devices = share.ends[0], part * periods.devices(share).average
        (shown if low * devices >= minimum else merged).append(share)
        if devices and abs(low - minimum / devices) < NEAR * (share.standard_error or 0.0):
            near.append(share)
    shown.sort(key=lambda share: (-(share.estimate or 0.0), share.value or ""))
    return Selection(shown, merged, near, max(1, answer.head.values_asked or 0), answer.head.level)
