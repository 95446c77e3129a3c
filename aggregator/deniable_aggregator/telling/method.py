"""How to read reports of many answers, and what devices give away: texts that need no answer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from deniable_aggregator.telling.document import Table, text_table
from deniable_aggregator.telling.wording import SHOWN_OF_IDS, counted
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.disclosure_figures import most_certain
from deniable_shared.planning.upper_bounds import upper_power

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.answers.metrics import MetricDetails


class Passage(NamedTuple):
    """A few paragraphs that stand in every report.

    Attributes:
        title: what they are about.
        paragraphs: of text.
    """

    title: str
    paragraphs: tuple[str, ...]


RANGES: Final = Passage(
    "What the ranges mean",
    (
        "A range such as 44 to 46% covers the true number with a probability of 95%, each "
        "range by itself: of twenty ranges one misses on average. It is rounded outward, so "
        "what is printed is never surer than what was computed. “For noise only” means that "
        "it is about the devices that reported; “for noise and sampling” means that it is "
        "about all devices that these are a random sample of.",
        "A value that can't be told from zero may be rare or may not exist; its upper end is "
        "what is known. Ranks, and what is too close to call, hold for all values at once.",
    ),
)

CLEAR_CHANGES: Final = Passage(
    "What a clear change is",
    (
        "A change is clear if a test finds it that allows for all values and for all metrics "
        "of this report: of the changes called clear, at most 5% on average are chance. This "
        "is stricter than asking about one metric alone, and allows for the devices of both "
        "periods being random samples: that by chance others reported is no change. No clear "
        "change means that the reports do not tell: “less than 2 points either way” says what "
        "can be excluded.",
        "The numbers do not say why something has changed. The devices that report may have "
        "become others, too.",
    ),
)

REPORTS_NOT_PEOPLE: Final = Passage(
    "Reports are not people",
    (
        "A report is what one device sent for one period. A device that is used daily sends "
        "more of them than one that is not, and a person may have several devices or share "
        "one. Nobody can tell which reports came from the same device.",
    ),
)

FAKE_REPORTS: Final = Passage(
    "Fake reports",
    (
        "Whoever can send reports can send false ones. Checks find reports whose noise is not "
        "that of devices; a forger who adds honest noise to a chosen value passes them all. "
        "The table says how far estimates could have been moved if 1% of the reports were such "
        "fakes. No range allows for that.",
    ),
)

GIVEN_AWAY: Final = Passage(
    "What devices gave away",
    (
        "Every report was made random on the device before it was sent. Whatever a device "
        "holds, its report is at most e^epsilon times as likely as if it held something else: "
        f"{math.e:.1f} times at epsilon 1, {math.e**2:.1f} times at epsilon 2. The server "
        "keeps sums of such reports and cannot say what any device holds.",
    ),
)


def what_reports_reveal(epsilon: float, epsilon_permanent: float | None, delta: float) -> str:
    """What one report gives away, and all of them about the same value.

    Args:
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or None.
        delta: of (epsilon, delta): by how much an event may be more probable than epsilon allows.
    """
    text = (
        "Whoever reads one report, and thought two values equally likely before, is at most "
        f"{most_certain(epsilon)} sure of one of them afterwards."
    )
    if epsilon_permanent is not None:
        most = most_certain(epsilon_permanent)
        text += f" From all reports of a device about the same value it is at most {most}."
    if delta:
        text += f" A delta of {upper_power(delta)} comes on top: rarely, a report reveals more."
    return text


def what_devices_give_away(
    every: str,
    epsilon: float,
    epsilon_permanent: float | None,
    epsilon_total: float | None,
    delta: float,
) -> str:
    """What one report gives away, and what reporting again and again costs, in short.

    Args:
        every: how often a device may report.
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or None.
        epsilon_total: the loss of all permanent answers of a device, or None for no bound.
        delta: of (epsilon, delta): by how much an event may be more probable than epsilon allows.
    """
    text = (
        f"One report has epsilon {epsilon:.4g}: it makes even odds at most "
        f"{most_certain(epsilon)} sure."
    )
    if delta:
        text += f" A delta of {upper_power(delta)} comes on top: rarely, it reveals more."
    if every == "once":
        return text
    reports = most_periods(every, DAYS_OF_A_YEAR)
    count = counted(reports, "report")
    if epsilon_permanent is None:
        year = reports * epsilon
        return f"{text} Each further report adds as much: epsilon {year:.4g} for {count} of a year."
    alike = min(reports * epsilon, epsilon_total or math.inf)
    return (
        f"{text} The device remembers its answers: all reports about one value together make even "
        f"odds at most {most_certain(epsilon_permanent)} sure (epsilon "
        f"{epsilon_permanent:.4g}). {count[0].upper()}{count[1:]} of a year cost epsilon "
        f"{alike:.4g} at most for histories in which the same reports share such answers; "
        "when a value changes is not hidden, and no such bound holds for it."
    )


def every_in_words(every: str) -> str:
    """How often a device reports, such as "at most once a week".

    Args:
        every: as a registry says it.
    """
    return f"at most once a {every}" if every != "once" else "once ever"


def given_away(details: MetricDetails) -> list[str]:
    """What devices give away for a metric, as its newest version asks, a line each.

    Args:
        details: of the metric.
    """
    newest = details.versions[0]
    which = ", of one random value of that time" if newest.pick == "random" else ""
    return [
        f"A device reports {every_in_words(newest.every)}, in "
        f"{counted(newest.report_bytes, 'byte')}{which}.",
        what_devices_give_away(
            newest.every,
            newest.epsilon,
            newest.epsilon_permanent,
            newest.epsilon_total,
            newest.delta,
        ),
        "The server keeps sums of reports. It cannot say what any device or person holds; "
        "deniable show, on the device, shows what was sent.",
    ]


def versions_table(details: MetricDetails, reports: Mapping[str, int]) -> Table:
    """The versions of a metric.

    Args:
        details: of the metric.
        reports: how many of the days that are shown were counted, by the id of the version.
    """
    return text_table(
        "versions",
        "Versions of the metric",
        ("version", "mechanism", "epsilon", "first day", "last day", "reports of these days"),
        [
            (
                each.version[:SHOWN_OF_IDS],
                each.mechanism,
                f"{each.epsilon:.4g}",
                str(each.first_day or ""),
                str(each.last_day or ""),
                f"{reports.get(each.version, 0):,}",
            )
            for each in details.versions
        ],
    )
