"""Questions about comparisons: what has changed, or differs, and what only looks so."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from deniable_aggregator.simulating.population import DAYS_PER_WEEK
from field.asking import Question
from field.checks import quiet, reports, warned
from field.deployment import forged_days
from field.reading import clear_changes
from field.reading_compared import arms, different_arms, renamed_shares, values_compared
from field.reading_numbers import shape_changes
from field.reading_published import alarms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.simulating.population import Deployment

PAST_DAYS: Final = 28
"""Keys are compared with so many of their first days."""

Span = tuple[int, int]


def comparisons(deployment: Deployment, weeks: Sequence[Span]) -> Iterator[Question]:
    """All of them.

    Args:
        deployment: the calendar.
        weeks: whole weeks, without that of the outage.
    """
    yield from over_versions(deployment, weeks)
    yield from with_a_rhythm(weeks)
    yield from keys(deployment, weeks)
    yield from experiments(weeks)


def over_versions(deployment: Deployment, weeks: Sequence[Span]) -> Iterator[Question]:
    """A range was widened, and a value got another name; devices hold what they held."""
    before = 0, deployment.releases[1] // DAYS_PER_WEEK * DAYS_PER_WEEK - 1
    whole = weeks[0][0], weeks[-1][1]
    for after in weeks[3:]:
        yield Question(
            "a widened range", "memory", "change",
            [clear_changes("clear change over a widened range"),
             shape_changes("clear change over a widened range")],
            before=before, days=after,
        )  # fmt: skip
        yield Question(
            "a renamed value", "scheme", "change",
            [clear_changes("clear change over a renamed value"),
             values_compared("renamed values", {"light", "dark", "auto"})],
            before=before, days=after,
        )  # fmt: skip
    yield Question(
        "a renamed value, by week", "scheme", "series",
        [renamed_shares("shares of renamed values", {"auto": "system"}), reports()],
        {"by": "week"}, days=whole,
    )  # fmt: skip
    yield Question(
        "a renamed value, over all days", "scheme", "estimate",
        [renamed_shares("shares of renamed values", {"auto": "system"}), reports()], days=whole,
    )  # fmt: skip


def with_a_rhythm(weeks: Sequence[Span]) -> Iterator[Question]:
    """Weekends differ, and no week differs from another."""
    for by in ("day", "week"):
        yield Question(
            f"an alarm, by {by}", "focus", "series",
            [alarms("alarms with a weekly rhythm", truly=False)], {"by": by, "alarm": "true"},
            days=(weeks[0][0], weeks[-1][1]),
        )  # fmt: skip
    for before, after in itertools.pairwise(weeks):
        yield Question(
            "week by week", "focus", "change",
            [clear_changes("clear change with a weekly rhythm")], before=before, days=after,
        )  # fmt: skip


def keys(deployment: Deployment, weeks: Sequence[Span]) -> Iterator[Question]:
    """A key that always differed, two that began to, and one that sends too much at once."""
    later = [week for week in weeks if week[0] >= PAST_DAYS]
    for week in later:
        yield Question("a beta build", "layout", "estimate", [quiet()], days=week)
    patient = forged_days(deployment, "widget")
    forged = patient.start, patient.stop - 1
    for week in later:
        if week[1] < patient.start:
            yield Question("before a patient forger", "widget", "estimate", [quiet()], days=week)
    yield Question("a patient forger", "widget", "estimate", [warned("direct")], days=forged)
    yield Question(
        "before and during a patient forger", "widget", "change", [warned("direct")],
        before=(PAST_DAYS, patient.start - 1), days=forged,
    )  # fmt: skip
    yield Question(
        "without a patient forger's key", "widget", "estimate", [quiet(), reports()],
        {"without_key": "direct"}, days=forged, without=("direct",),
    )  # fmt: skip
    yield Question(
        "a ramp of a point a week", "zoom", "estimate", [warned("direct")],
        days=(deployment.last - 6, deployment.last - 1),
    )  # fmt: skip
    (day,) = forged_days(deployment, "badge")
    monday = day // DAYS_PER_WEEK * DAYS_PER_WEEK
    yield Question(
        "one huge upload", "badge", "estimate", [warned("in one upload"), warned("far more")],
        days=(monday, monday + 6),
    )  # fmt: skip
    yield Question(
        "before one huge upload", "badge", "estimate", [quiet()], days=(monday - 7, monday - 1)
    )


def experiments(weeks: Sequence[Span]) -> Iterator[Question]:
    """Two arms of an experiment: one without an effect, and one of two points."""
    whole = weeks[0][0], weeks[-1][1]
    for metric, effect in (("banner", False), ("checkout", True)):
        for days in (whole, *weeks):
            reads = [arms("differences of arms")]
            if days == whole or not effect:
                reads.append(different_arms("arms that differ", truly=effect))
            yield Question(
                "arms of an experiment", metric, "compare", reads, {"segment": ["a", "b"]},
                days=days,
            )  # fmt: skip
