"""When devices date and send what goes through a relay, by the rules of the client.

A report is dated to the last day of its period and leaves in the hours after it, by the clock of
its device, which of some devices is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from deniable._randomness import Randomness
from deniable._recording.metric_plan import RELAY_SPREAD_SECONDS, MetricPlan
from deniable_aggregator.simulating.draws import Way
from deniable_shared.periods import SECONDS_PER_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from deniable_aggregator.simulating.draws import Batch
    from deniable_aggregator.simulating.population import Deployment

WRONG_CLOCKS: Final = 0.05
"""The part of the devices whose clock is wrong."""

WRONG_HOURS: Final = 24.0
"""By at most so many hours it is wrong, ahead or behind; uniformly."""


def by_arrival(deployment: Deployment, days: Iterable[Iterable[Batch]]) -> list[list[Batch]]:
    """What arrives on each day: what goes through a relay is dated, and divided by its arrival.

    What is sent at once arrives on its day. Where there is a relay, there may be more days.

    Args:
        deployment: the calendar.
        days: what is recorded on each of its days.
    """
    arriving: defaultdict[int, list[Batch]] = defaultdict(list)
    for batches in days:
        for batch in batches:
            if deployment.registry(batch.version).relay is None:
                arriving[batch.day].append(batch)
            else:
                for part in _parts(deployment, batch):
                    assert part.way is not None, "it goes through a relay"
                    arriving[part.way.arrives].append(part)
    last = max([deployment.last, *arriving])
    return [arriving[day] for day in range(last + 1)]


def _parts(deployment: Deployment, batch: Batch) -> Iterator[Batch]:
    """What is dated and arrives alike, in the order of the values."""
    drawn = deployment.generator("relay", batch.metric, batch.day, batch.key, batch.version)
    metric = deployment.registry(batch.version).metrics[batch.metric]
    plan = MetricPlan(metric, Randomness(), RELAY_SPREAD_SECONDS, relayed=True)
    ahead = drawn.uniform(-WRONG_HOURS, WRONG_HOURS, batch.reports) * 3_600
    ahead[drawn.random(batch.reports) >= WRONG_CLOCKS] = 0.0
    midnight = deployment.epoch(batch.day) * SECONDS_PER_EPOCH
    recorded = midnight + drawn.random(batch.reports) * SECONDS_PER_EPOCH + ahead
    leaves = drawn.random(batch.reports) * RELAY_SPREAD_SECONDS - ahead
    dated = np.empty(batch.reports, np.int64)
    own_days = np.floor(recorded / SECONDS_PER_EPOCH).astype(np.int64)
    for own_day in np.unique(own_days):
        same = own_days == own_day
        dated[same], since = plan.period_end(int(own_day))
        leaves[same] += since
    arrives = np.floor(leaves / SECONDS_PER_EPOCH).astype(np.int64)
    late = deployment.late
    if late is not None and late.is_due(batch.key, batch.day, deployment.days):
        arrives[:: round(1 / late.part)] += late.days
    first = deployment.epoch(0)
    for day, arrival in np.unique(np.stack([dated, arrives]), axis=1).T.tolist():
        chosen = np.flatnonzero((dated == day) & (arrives == arrival))
        yield _part(batch, chosen, day - first, Way(batch.day, arrival - first))


def _part(batch: Batch, chosen: NDArray[np.int64], day: int, way: Way) -> Batch:
    """Some reports of a batch, by their places."""
    held = np.repeat(np.arange(len(batch.values)), batch.counts)
    counts = np.bincount(held[chosen[chosen < len(held)]], minlength=len(batch.values))
    return replace(
        batch,
        day=day,
        way=way,
        counts=counts.tolist(),
        numbers=batch.numbers[chosen[chosen >= len(held)] - len(held)],
        secrets=[batch.secrets[place] for place in chosen.tolist()] if batch.secrets else (),
    )
