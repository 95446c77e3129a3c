"""The deployment passes: day by day devices report, days close, versions are released."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_shared import wire
from field.deployment import FORGED_METRIC, FORGER, VERSIONS
from field.devices import Devices
from field.population import Population
from field.recorded import Batch, Recorded
from field.registries import registry
from field.relay import Upload, upload, uploads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from field.deployment import Deployment
    from field.server import Server

FORGED_PART: Final = 0.15
"""Forged reports of a day, relative to the honest ones."""

OFFLINE_KEY: Final = "direct"
OFFLINE_DAYS: Final = 2
"""The relay of one key sends the reports of every third day so much later."""


def run(
    deployment: Deployment,
    server: Server,
    directory: Path,
    metrics: Collection[str],
    progress: Callable[[int], None],
) -> Recorded:
    """Lets all days pass; returns what was truly recorded.

    Args:
        deployment: the calendar.
        server: where everything is sent to; afterwards its clock stands at noon of the last day.
        directory: for whole clients.
        metrics: those that are reported.
        progress: called with each day that has passed.
    """
    recorded = Recorded()
    devices = Devices(deployment, server, directory, metrics)
    population = Population(deployment, metrics)
    days = [population.day(day) for day in range(deployment.days)]
    later: list[tuple[int, Upload]] = []
    for day, made in enumerate(uploads(deployment, days, os.cpu_count() or 1)):
        server.set_day(day)
        for version in VERSIONS:
            if deployment.releases[version] == day:
                server.register(version)
        if day in deployment.forged and FORGED_METRIC in metrics:
            batch, forged = forge(deployment, day, sum(
                each.reports for each in days[day] if each.metric == FORGED_METRIC
            ))  # fmt: skip
            server.send(forged)
            recorded.add_forged(batch)
        for each in made:
            if each.key == OFFLINE_KEY and day % 3 == 0 and day + OFFLINE_DAYS < deployment.days:
                later.append((day + OFFLINE_DAYS, each))
            else:
                server.send(each)
        for due, each in later:
            if due == day:
                server.send(each)
        recorded.add(days[day])
        recorded.add(devices.day(day))
        progress(day)
    return recorded


def forge(deployment: Deployment, day: int, honest: int) -> tuple[Batch, Upload]:
    """One valid report, sent again and again with one key: what a script with that key can do."""
    version = max(v for v in VERSIONS if deployment.releases[v] <= day)
    spec = registry(version, deployment.application).metrics[FORGED_METRIC].spec
    source = deployment.generator("forger").bytes
    report = randomizer_for(spec, Randomness(source)).report(spec.encode("Opera"), bytes(32))
    count = round(FORGED_PART * honest)
    batch = Batch(FORGED_METRIC, day, FORGER, version, ("forged",), (count,))
    part = wire.Part(spec.digest, deployment.epoch(day), report * count)
    return batch, upload(FORGER, [part])
