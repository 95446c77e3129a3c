"""A whole simulation: the deployment passes, and the ordinary questions are asked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deniable_aggregator.simulating.randomizing import let_pass
from deniable_aggregator.simulating.scenario import LATE_DAYS
from deniable_aggregator.simulating.summary import Shown, covered, summaries
from deniable_aggregator.simulating.truth import Truth
from deniable_aggregator.telling.figures import figure_of
from deniable_aggregator.telling.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.simulating import ForgerKind
    from deniable_aggregator.simulating.population import Deployment
    from deniable_aggregator.simulating.randomizing import Answering
    from deniable_aggregator.simulating.scenario import Prepared, Scenario
    from deniable_aggregator.telling.figure import Figure

_MANNERS: Final[Mapping[ForgerKind, str]] = {
    "naive": "one report again and again",
    "patient": "fresh ones on all days",
    "upload": "fresh ones in one upload",
}

WORTH_PROCESSES: Final = 100_000
"""So many reports are made by several processes, each of which takes a second to start."""


@dataclass(frozen=True)
class Simulated:
    """What a simulation has shown.

    Attributes:
        deployment: the calendar.
        truth: what devices recorded.
        shown: of each metric.
    """

    deployment: Deployment
    truth: Truth
    shown: list[Shown]

    def introduction(self, scenario: Scenario) -> list[str]:
        """What was simulated, in a few lines.

        Args:
            scenario: as it was asked for.
        """
        deployment, date = self.deployment, self.deployment.date_of
        lines = [
            f"Simulated: {counted(scenario.devices, 'device')} of {deployment.application} from "
            f"{date(0)} to {date(deployment.last)}, seed {deployment.seed}. Nothing below is about "
            "real devices.",
        ]
        if deployment.versions[1:]:
            days = ", ".join(str(date(day)) for day in deployment.releases[1:])
            lines.append(f"New versions on {days}.")
        if deployment.change is not None:
            lines.append(
                f"On {date(deployment.change)} the second most common value of each metric gains "
                f"{scenario.change_points:g} points, and numbers grow by as many percent."
            )
        if deployment.outage is not None:
            lines.append(f"All reports of {date(deployment.outage)} are lost.")
        if deployment.late is not None:
            lines.append(f"{scenario.late:.0%} of the reports come {LATE_DAYS} days late.")
        for forgery in deployment.forgeries:
            count = self.truth.recorded.forged(forgery.metric)
            lines.append(
                f"{count:,} reports of {scenario.forged} are forged, {_MANNERS[scenario.forger]}, "
                f"with the key {forgery.key}."
            )
        return lines

    def conclusion(self) -> list[str]:
        """How often intervals cover the truth."""
        covering, intervals = covered(self.shown)
        if not intervals:
            return []
        part = f"{covering / intervals:.1%}"
        return [f"{covering:,} of {intervals:,} intervals ({part}) cover the truth; 95% should."]

    def figures(self, most: int) -> list[Figure]:
        """A picture of each metric, with true shares where there are any.

        Args:
            most: so many values of each.
        """
        figures = []
        for shown in self.shown:
            if shown.answer is not None:
                truth = {row.number.value or "": row.truth for row in shown.placed}
                shares = shown.answer.head.kind == "shares"
                figures.append(figure_of(shown.answer, truth if shares else None, most=most))
        return figures

    def data(self) -> dict[str, Any]:
        """What was shown, for programs."""
        deployment = self.deployment
        return {
            "simulated": True,
            "application": deployment.application,
            "seed": deployment.seed,
            "since": deployment.date_of(0).isoformat(),
            "until": deployment.date_of(deployment.last).isoformat(),
            "change_on": None
            if deployment.change is None
            else deployment.date_of(deployment.change).isoformat(),
            "metrics": [shown.data() for shown in self.shown],
        }


def simulated(
    scenario: Scenario,
    plan: Prepared,
    destination: Answering,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Simulated:
    """Lets the days of a scenario pass, and asks what an analyst asks first.

    Args:
        scenario: what is simulated.
        plan: the same, prepared.
        destination: where all reports go.
        progress: told how much is done, and of how much.

    Raises:
        DeniableError: if reports cannot be stored or sent.
    """
    deployment = plan.deployment
    total = deployment.days + len(deployment.metrics)
    recorded = let_pass(
        deployment,
        plan.population,
        destination,
        processes=processes_for(scenario.devices * len(deployment.metrics)),
        progress=lambda day: progress(day + 1, total),
    )
    truth = Truth(deployment, recorded)
    shown = []
    for one in summaries(destination.source(), deployment, truth, plan.priors):
        shown.append(one)
        progress(deployment.days + len(shown), total)
    return Simulated(deployment, truth, shown)


def processes_for(reports: int) -> int:
    """How many processes make reports.

    Args:
        reports: how many are made.
    """
    return (os.cpu_count() or 1) if reports >= WORTH_PROCESSES else 1
