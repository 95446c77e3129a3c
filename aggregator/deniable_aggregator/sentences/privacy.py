"""What devices give away, in sentences."""

from __future__ import annotations

from deniable_aggregator.sentences.wording import counted
from deniable_shared.planning.budget import DAYS_OF_A_YEAR, PERIOD_DAYS, reports_of
from deniable_shared.planning.disclosure_figures import posterior_from_even_odds


def what_reports_reveal(epsilon: float, epsilon_permanent: float | None, delta: float) -> str:
    """What one report gives away, and all of them about the same value.

    Args:
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or None.
        delta: the probability that a report may reveal more than epsilon.
    """
    text = (
        "Whoever reads one report, and thought two values equally likely before, is at most "
        f"{posterior_from_even_odds(epsilon):.1%} sure of one of them afterwards."
    )
    if epsilon_permanent is not None:
        most = f"{posterior_from_even_odds(epsilon_permanent):.1%}"
        text += f" From all reports of a device about the same value it is at most {most}."
    if delta:
        text += f" A report may reveal more with a probability of at most {delta:.3g}."
    return text


def what_repeats_cost(
    every: str, epsilon: float, epsilon_permanent: float | None, epsilon_total: float | None
) -> str:
    """What it costs a device to report again and again.

    Args:
        every: how often it may report.
        epsilon: the privacy loss of one report.
        epsilon_permanent: the loss of all reports of a device about the same value, or None.
        epsilon_total: the loss of a device over its life, or None for no bound.
    """
    if every == "once":
        return f"A device reports once: epsilon {epsilon:.4g} in all."
    reports = reports_of(every, DAYS_OF_A_YEAR)
    year = reports * epsilon if epsilon_total is None else min(reports * epsilon, epsilon_total)
    text = f"{counted(reports, 'report')} of a year cost epsilon {year:.4g} at most."
    if epsilon_permanent is None:
        return f"Noise is drawn anew for each report, so epsilons add up: {text}"
    return (
        f"The device remembers its answers: all reports about a value that stays cost epsilon "
        f"{epsilon_permanent:.4g} together, however many there are. {text} That a value has "
        "changed is not hidden from whoever can link a device's reports."
    )


def every_in_words(every: str) -> str:
    """How often a device reports, such as "at most once a week".

    Args:
        every: as a registry says it.
    """
    return f"at most once a {every}" if every in PERIOD_DAYS else "once ever"
