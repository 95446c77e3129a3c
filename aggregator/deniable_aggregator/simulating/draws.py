"""Draws what devices hold, day by day, and keeps it: the truth that answers are compared with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_aggregator.simulating.population import Situation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.random import Generator
    from numpy.typing import NDArray

    from deniable_aggregator.simulating.population import Deployment, Reporting, Value

SECRET_BYTES: Final = 32


class Way(NamedTuple):
    """How reports go through a relay.

    Attributes:
        recorded: the day on which they were recorded.
        arrives: the day on which the relay has them.
    """

    recorded: int
    arrives: int


@dataclass(frozen=True)
class Batch:
    """What some devices with the same build recorded of one metric on one day.

    Attributes:
        metric: its name.
        day: to which its reports are dated, from 0.
        key: the name of the write key.
        version: of the application.
        values: different values; empty for numbers.
        counts: how many devices recorded each.
        numbers: float64, what each device holds, also outside of the metric's range.
        secrets: of devices that report again, each one's secret, value by value; otherwise empty.
        way: through a relay; None if the reports are sent at once, on their day.
    """

    metric: str
    day: int
    key: str
    version: int
    values: Sequence[Value] = ()
    counts: Sequence[int] = ()
    numbers: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    secrets: Sequence[bytes] = ()
    way: Way | None = None

    @property
    def reports(self) -> int:
        """How many reports it makes."""
        return sum(self.counts) + len(self.numbers)


class Selection(NamedTuple):
    """Which of a metric's recorded values are meant.

    Attributes:
        days: the first and the last day, or None for all.
        without: keys to leave out.
        versions: of the application, or None for all.
    """

    days: tuple[int, int] | None = None
    without: tuple[str, ...] = ()
    versions: tuple[int, ...] | None = None

    def includes(self, batch: Batch) -> bool:
        """Whether the values of a batch are meant."""
        return (
            (self.days is None or self.days[0] <= batch.day <= self.days[1])
            and batch.key not in self.without
            and (self.versions is None or batch.version in self.versions)
        )


ALL: Final = Selection()


class Recorded:
    """All recorded values, and how many reports were forged beside them."""

    def __init__(self) -> None:
        self._batches: dict[str, list[Batch]] = {}
        self._forged: list[Batch] = []

    def add(self, batches: Iterable[Batch]) -> None:
        """Adds what was recorded, once its reports have been accepted."""
        for batch in batches:
            self._batches.setdefault(batch.metric, []).append(batch)

    def add_forged(self, batch: Batch) -> None:
        """Adds forged reports: they count as reports, and have no true value."""
        self._forged.append(batch)

    def values(self, metric: str, selection: Selection = ALL) -> Counter[Value]:
        """How many devices recorded each value."""
        held: Counter[Value] = Counter()
        for batch in self._selected(metric, selection):
            for value, count in zip(batch.values, batch.counts, strict=True):
                held[value] += count
        return held

    def numbers(self, metric: str, selection: Selection = ALL) -> NDArray[np.float64]:
        """All numbers as devices hold them, float64."""
        held = [batch.numbers for batch in self._selected(metric, selection)]
        return np.concatenate(held) if held else np.empty(0)

    def reports(self, metric: str, selection: Selection = ALL) -> int:
        """How many reports there are, forged ones too."""
        return sum(batch.reports for batch in self._selected(metric, selection)) + self.forged(
            metric, selection
        )

    def forged(self, metric: str, selection: Selection = ALL) -> int:
        """How many of them are forged."""
        return sum(
            batch.reports
            for batch in self._forged
            if batch.metric == metric and selection.includes(batch)
        )

    def days(self, metric: str, selection: Selection = ALL) -> list[int]:
        """The days with reports, in order."""
        return sorted({b.day for b in self._selected(metric, selection) if b.reports})

    def versions(self, metric: str, selection: Selection = ALL) -> list[int]:
        """The versions of the application that reported, in order."""
        return sorted({b.version for b in self._selected(metric, selection) if b.reports})

    def _selected(self, metric: str, selection: Selection) -> list[Batch]:
        return [batch for batch in self._batches.get(metric, ()) if selection.includes(batch)]


class Population:
    """Draws what devices hold.

    Args:
        metrics: who reports what; a version of the application reports those that it declares.
    """

    def __init__(self, deployment: Deployment, metrics: Mapping[str, Reporting]) -> None:
        self._deployment, self._metrics = deployment, metrics
        self._panels = {
            name: Panel(deployment, name, reporting)
            for name, reporting in metrics.items()
            if reporting.devices
        }

    def day(self, day: int) -> list[Batch]:
        """What is recorded on a day; the same for the same seed."""
        drawn: list[Batch] = []
        for name, reporting in self._metrics.items():
            generator = self._deployment.generator("values", name, day)
            if name in self._panels:
                drawn += self._panels[name].day(day, generator)
            else:
                drawn += self._fresh(name, reporting, day, generator)
        return [batch for batch in drawn if batch.reports]

    def _fresh(
        self, name: str, reporting: Reporting, day: int, generator: Generator
    ) -> Iterator[Batch]:
        deployment = self._deployment
        volume = reporting.volume(deployment, day) * reporting.reports
        builds = np.outer(list(deployment.keys.values()), deployment.adoption(day))
        sizes = generator.multinomial(round(volume), builds.ravel()).reshape(builds.shape)
        for key, row in zip(deployment.keys, sizes, strict=True):
            for version, size in zip(deployment.versions, map(int, row), strict=True):
                if name in deployment.registry(version).metrics:
                    situation = Situation(deployment, day, version, key)
                    yield _drawn(reporting, name, situation, generator, size)


def _drawn(
    reporting: Reporting, name: str, at: Situation, generator: Generator, size: int
) -> Batch:
    if reporting.samples is not None:
        numbers = reporting.samples(at, generator, size)
        return Batch(name, at.day, at.key, at.version, numbers=numbers)
    law = _law(reporting, at)
    counts = generator.multinomial(size, list(law.values())).tolist()
    return Batch(name, at.day, at.key, at.version, tuple(law), counts)


def _law(reporting: Reporting, at: Situation) -> Mapping[Value, float]:
    assert reporting.holds is not None, "a metric that is no number holds values"
    return reporting.holds(at)


class Panel:
    """Devices that report again and again: each has a secret, and holds the same value for good.

    Args:
        name: of the metric.
        reporting: how often it is reported.
    """

    def __init__(self, deployment: Deployment, name: str, reporting: Reporting) -> None:
        self._deployment, self._name, self._reporting = deployment, name, reporting
        self._size = reporting.devices
        self._generator = deployment.generator("panel", name)
        self._secrets = [self._generator.bytes(SECRET_BYTES) for _ in range(self._size)]
        shares = list(deployment.keys.values())
        self._keys = self._generator.choice(len(shares), self._size, p=shares)
        self._upgrades = self._generator.random(self._size)

    @property
    def _first(self) -> Situation:
        return Situation(self._deployment, 0, 1, next(iter(self._deployment.keys)))

    @cached_property
    def _held(self) -> tuple[tuple[Value, ...], NDArray[np.int64]]:
        law = _law(self._reporting, self._first)
        return tuple(law), self._generator.choice(len(law), self._size, p=list(law.values()))

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        assert self._reporting.samples is not None, "this is a number"
        return self._reporting.samples(self._first, self._generator, self._size)

    def day(self, day: int, generator: Generator) -> Iterator[Batch]:
        """What the devices record that are at work on a day."""
        active = self._active(day, generator)
        # A device that has a release keeps it: the parts that are reached only grow.
        from_newest = np.cumsum(self._deployment.adoption(day)[::-1])
        newer = np.searchsorted(from_newest[:-1], self._upgrades, side="right")
        versions = len(from_newest) - newer
        for index, key in enumerate(self._deployment.keys):
            for version in self._deployment.versions:
                devices = np.flatnonzero(active & (self._keys == index) & (versions == version))
                if not len(devices):
                    continue
                if self._reporting.samples is not None:
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
