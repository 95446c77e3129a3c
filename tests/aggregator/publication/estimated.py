"""A source of estimates from tallies, without a server, and publications of made-up numbers."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from deniable_aggregator.answering.estimation.estimator import estimate
from deniable_aggregator.answering.estimation.inputs import (
    CollectedTallies,
    EstimateRequest,
    say_periods,
)
from deniable_aggregator.answers.answer import Answer, AskedQuestion
from deniable_aggregator.answers.common import Notice, ordered_notices
from deniable_aggregator.answers.dates import epoch_of
from deniable_aggregator.answers.metrics import MetricDetails, VersionDetails
from deniable_aggregator.answers.relayed import Relayed, RelayedVersion
from deniable_aggregator.asking.questions import NO_LISTS
from deniable_aggregator.counting.statistics.intervals import reports_by_period
from deniable_aggregator.counting.tallies import tally_for
from tests.aggregator.answered import DAYS, HEAD
from tests.aggregator.asking.by_method import ByMethod

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_aggregator.answers.questions import ValueLists
    from deniable_shared.spec import Spec

ONE_DAY = replace(DAYS, since=date(2026, 1, 5), until=date(2026, 1, 5), covered=1, reported=1)
"""A Monday."""


class TallySource(ByMethod):
    """Answers from tallies, as a server does.

    Args:
        tallies: one entry per version: the spec, and its counts.
        days: that the reports are of.
        verdict: whether they look honest.
        by_day: how many reports each version has of each day, in the order of the versions; left
            out for as many on each day.
    """

    def __init__(
        self,
        tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
        days: Any = ONE_DAY,
        verdict: str = "ok",
        by_day: Sequence[dict[int, int]] | None = None,
    ) -> None:
        self.tallies = list(tallies)
        self.by_day = by_day or [_evenly(*each, days) for each in tallies]
        health = replace(HEAD.health, verdict=verdict)
        self.head = replace(HEAD, days=days, health=health, application="flightdeck")
        self.notices: list[Notice] = []
        self.asked: list[ValueLists] = []

    def ask(self, question: Any, query: Any = None, lists: ValueLists = NO_LISTS) -> Any:
        (metric,) = question.place
        if question.name == "metric":
            return self.metric(metric)
        if question.name == "relayed":
            return self.relayed(metric)
        return self.estimate(metric, query, lists)

    def metric(self, metric: str) -> MetricDetails:
        return details(metric, [spec for spec, _ in self.tallies])

    def relayed(self, metric: str) -> Relayed:
        """None of these reports came through a relay."""
        spec, _ = self.tallies[0]
        version = RelayedVersion(
            version=spec.digest.hex(),
            every=spec.every,
            epsilon=spec.mechanism.epsilon,
            reports=0,
            not_counted=0,
            reason="not_relayed",
        )
        return Relayed(
            application="flightdeck",
            metric=metric,
            since=None,
            until=None,
            delta=1e-8,
            versions=[version],
        )

    def estimate(self, _metric: str, query: Any, lists: ValueLists) -> Any:
        self.asked.append(lists)
        specs = [spec for spec, _ in self.tallies]
        by_day = dict(zip((spec.digest for spec in specs), self.by_day, strict=True))
        periods = {spec.digest: reports_by_period(spec, by_day[spec.digest]) for spec in specs}
        tallies = CollectedTallies(self.tallies, periods)
        estimated = estimate(tallies, EstimateRequest(query, lists))
        head = estimated.head(self.head)
        head.periods = [replace(head.periods[0], reports=head.reports)]
        say_periods(head, specs, by_day)
        return Answer(
            head=head,
            question=AskedQuestion(name="estimate"),
            numbers=list(estimated.numbers()),
            notices=ordered_notices(self.notices, estimated.notices),
        )


def _evenly(spec: Spec, counts: NDArray[np.int64], days: Any) -> dict[int, int]:
    """Reports by day, as many on each."""
    reports = tally_for(spec).reports(counts)
    first, number = epoch_of(days.since), days.covered
    return {first + day: reports * (day + 1) // number - reports * day // number
            for day in range(number)}  # fmt: skip


def details(metric: str, specs: Sequence[Spec]) -> MetricDetails:
    """What a server says of a metric."""
    return MetricDetails(
        application=specs[0].application,
        name=metric,
        description="",
        owners=["who@example.org"],
        expires=None,
        retention_days=None,
        candidates=specs[0].type == "string",
        discovers=False,
        excluded_reports=0,
        keys=[],
        versions=[
            VersionDetails(
                version=spec.digest.hex(),
                canonical=spec.canonical_text(),
                type=spec.type,
                registered=date(2026, 1, 1),
                first_day=None,
                last_day=None,
                reports=0,
                every=spec.every,
                report_bytes=spec.mechanism.report_bytes,
                values=list(spec.values),
                other=spec.other,
                absent=spec.absent,
                pick=spec.pick,
                mechanism=spec.mechanism.name,
                epsilon=spec.mechanism.epsilon,
                epsilon_permanent=None,
                epsilon_total=None,
                delta=0.0,
                privacy="",
            )
            for spec in specs
        ],
    )
