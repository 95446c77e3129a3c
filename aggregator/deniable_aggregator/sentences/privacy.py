"""What devices give away, in sentences."""

from __future__ import annotations

import math

from deniable_aggregator.sentences.wording import counted
from deniable_shared.periods import most_periods
from deniable_shared.planning.budget import DAYS_OF_A_YEAR
from deniable_shared.planning.disclosure_figures import most_certain
from deniable_shared.planning.upper_bounds import upper_power


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
        epsilon_total: the loss of a device over its life, or None for no bound.
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
    year = min(reports * epsilon, epsilon_total or math.inf)
    count = counted(reports, "report")
    if epsilon_permanent is None:
        return f"{text} Each further report adds as much: epsilon {year:.4g} for {count} of a year."
    return (
        f"{text} The device remembers its answers: all reports about one value together make even "
        f"odds at most {most_certain(epsilon_permanent)} sure (epsilon "
        f"{epsilon_permanent:.4g}); if the value changes all the time, {count} of a year cost "
        f"epsilon {year:.4g} at most, and that it changes is not hidden."
    )


def every_in_words(every: str) -> str:
    """How often a device reports, such as "at most once a week".

    Args:
        every: as a registry says it.
    """
    return f"at most once a {every}" if every != "once" else "once ever"
