"""What the devices hold: for each metric who reports, and which values, day by day."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from field.deployment import DAYS_PER_WEEK, KEYS, VERSIONS, Deployment
from field.laws import LAWS, SAMPLERS, Situation
from field.recorded import Batch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    from field.recorded import Value

REPORTING_DAY: Final = 0
"""Metrics of a week are reported on Mondays, when the application is first used."""


@dataclass(frozen=True)
class Reporting:
    """How often a metric is reported.

    Attributes:
        reports: on a full day, or in a week if it is weekly, in the small form.
        weekly: whether a device reports it once a week.
        devices: of a memoised metric, how many devices there are, who report again and again.
    """

    reports: int
    weekly: bool = False
    devices: int = 0

    def volume(self, deployment: Deployment, day: int) -> float:
        """How many reports a day brings, relative to `reports`."""
        volume = deployment.volume(day)
        return volume * (day % DAYS_PER_WEEK == REPORTING_DAY) if self.weekly else volume


METRICS: Final = {
    "dark_mode": Reporting(3_000),
    "sync": Reporting(1_200, devices=3_000),
    "browser": Reporting(4_000),
    "theme": Reporting(3_000),
    "crash": Reporting(4_000),
    "language": Reporting(1_200, devices=3_000),
    "mode": Reporting(3_000),
    "country": Reporting(30_000, weekly=True),
    "keyboard": Reporting(30_000, weekly=True),
    "carrier": Reporting(30_000, weekly=True),
    "time_zone": Reporting(30_000, weekly=True),
    "emoji": Reporting(12_000, weekly=True),
    "font": Reporting(20_000, weekly=True),
    "plugin": Reporting(20_000, weekly=True),
    "template": Reporting(12_000, weekly=True),
    "printer": Reporting(4_000, weekly=True, devices=4_000),
    "site": Reporting(10_000, weekly=True, devices=10_000),
    "search_term": Reporting(20_000, weekly=True),
    "startup_seconds": Reporting(2_000),
    "battery": Reporting(800, devices=2_000),
    "latency": Reporting(10_000),
    "pages": Reporting(2_000),
    "typing": Reporting(2_000),
    "documents": Reporting(2_000),
    "settings": Reporting(3_000),
    "features": Reporting(3_000),
    "few_numbers": Reporting(8),
    "few_flags": Reporting(30),
    "few_values": Reporting(30),
}


class Population:
    """Draws what devices hold.

    Args:
        deployment: the calendar.
        metrics: those that are reported.
    """

    def __init__(self, deployment: Deployment, metrics: Collection[str] = tuple(METRICS)) -> None:
        self._deployment, self._metrics = deployment, metrics
        self._panels = {
            name: Panel(deployment, name, each) for name, each in METRICS.items() if each.devices
        }

    def day(self, day: int) -> list[Batch]:
        """What is recorded on a day; the same for the same seed."""
        found: list[Batch] = []
        for name in self._metrics:
            generator = self._deployment.generator("values", name, day)
            if name in self._panels:
                found += self._panels[name].day(day, generator)
            else:
                found += self._fresh(name, METRICS[name], day, generator)
        return [batch for batch in found if batch.reports]

    def _fresh(
        self, name: str, reporting: Reporting, day: int, generator: Generator
    ) -> Iterator[Batch]:
        deployment = self._deployment
        volume = reporting.volume(deployment, day) * reporting.reports * deployment.scale
        builds = np.outer(list(KEYS.values()), deployment.versions(day))
        sizes = generator.multinomial(round(volume), builds.ravel()).reshape(builds.shape)
        for key, row in zip(KEYS, sizes, strict=True):
            for version, size in zip(VERSIONS, map(int, row), strict=True):
                situation = Situation(deployment, day, version, key)
                if name in SAMPLERS:
                    numbers = SAMPLERS[name](situation, generator, size)
                    yield Batch(name, day, key, version, numbers=numbers)
                else:
                    law = LAWS[name](situation)
                    counts = generator.multinomial(size, list(law.values())).tolist()
                    yield Batch(name, day, key, version, tuple(law), counts)


class Panel:
    """The devices of a memoised metric: each has a secret, and holds the same value for good.

    Args:
        deployment: the calendar.
        name: of the metric.
        reporting: how often it is reported.
    """

    def __init__(self, deployment: Deployment, name: str, reporting: Reporting) -> None:
        self._deployment, self._name, self._reporting = deployment, name, reporting
        self._size = round(reporting.devices * deployment.scale)
        self._generator = deployment.generator("panel", name)
        self._secrets = [self._generator.bytes(32) for _ in range(self._size)]
        self._keys = self._generator.choice(len(KEYS), self._size, p=list(KEYS.values()))
        self._upgrades = self._generator.random(self._size)

    @cached_property
    def _held(self) -> tuple[tuple[Value, ...], NDArray[np.int64]]:
        law = LAWS[self._name](Situation(self._deployment, 0, VERSIONS[0], next(iter(KEYS))))
        return tuple(law), self._generator.choice(len(law), self._size, p=list(law.values()))

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        situation = Situation(self._deployment, 0, VERSIONS[0], next(iter(KEYS)))
        return SAMPLERS[self._name](situation, self._generator, self._size)

    def day(self, day: int, generator: Generator) -> Iterator[Batch]:
        """What the devices record that are at work on a day."""
        active = self._active(day, generator)
        second, third = self._deployment.versions(day)[1:]
        # A device that has a release keeps it: the parts that are reached only grow.
        versions = np.where(
            self._upgrades < third, 3, np.where(self._upgrades < second + third, 2, 1)
        )
        for index, key in enumerate(KEYS):
            for version in VERSIONS:
                devices = np.flatnonzero(active & (self._keys == index) & (versions == version))
                if not len(devices):
                    continue
                if self._name in SAMPLERS:
                    secrets = [self._secrets[device] for device in devices]
                    numbers = self._numbers[devices]
                    yield Batch(self._name, day, key, version, numbers=numbers, secrets=secrets)
                else:
                    values, held = self._held
                    ordered = devices[np.argsort(held[devices], kind="stable")]
                    counts = np.bincount(held[devices], minlength=len(values)).tolist()
                    secrets = [self._secrets[device] for device in ordered]
                    yield Batch(self._name, day, key, version, values, counts, secrets=secrets)

    def _active(self, day: int, generator: Generator) -> NDArray[np.bool_]:
        volume = self._reporting.volume(self._deployment, day)
        rate = self._reporting.reports / self._reporting.devices
        return generator.random(self._size) < volume * rate
