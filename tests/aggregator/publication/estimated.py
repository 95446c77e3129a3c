"""A source of estimates from tallies, without a server, and publications of made-up numbers."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.answers.metrics import MetricDetails, VersionDetails
from deniable_aggregator.answers.questions import EstimateOptions, ValueLists
from deniable_aggregator.estimation.shares.estimate import estimate_shares
from tests.aggregator.answered import DAYS, HEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deniable_shared.spec import Spec

ONE_DAY = replace(DAYS, since=date(2026, 1, 5), until=date(2026, 1, 5), covered=1, reported=1)
"""A Monday."""


class TallySource:
    """Answers from tallies, as a server does.

    Args:
        tallies: one entry per version: the spec, and its counts.
        days: that the reports are of.
        verdict: whether they look honest.
    """

    def __init__(
        self,
        tallies: Sequence[tuple[Spec, NDArray[np.int64]]],
        days: Any = ONE_DAY,
        verdict: str = "ok",
    ) -> None:
        self.tallies = list(tallies)
        health = replace(HEAD.health, verdict=verdict)
        self.head = replace(HEAD, days=days, health=health, application="flightdeck")
        self.asked: list[ValueLists] = []

    def metric(self, metric: str) -> MetricDetails:
        return details(metric, [spec for spec, _ in self.tallies])

    def estimate(self, _metric: str, query: Any, lists: ValueLists) -> Any:
        self.asked.append(lists)
        found = estimate_shares(
            self.tallies,
            None if lists.candidates is UNSET else lists.candidates,
            EstimateOptions(interval=query.interval),
            add=None if lists.combined is UNSET else lists.combined,
        )
        return found.answer(self.head)


def details(metric: str, specs: Sequence[Spec]) -> MetricDetails:
    """What a server says of a metric."""
    return MetricDetails(
        application=specs[0].application,
        name=metric,
        description="",
        owners=["who@example.org"],
        expires=None,
        retention_days=None,
        candidates=False,
        discovers=False,
        pending_reports=0,
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
