"""A deployment as data: days, versions, keys and events; and who reports what, by which law."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from deniable_shared.errors import ParameterError
from deniable_shared.registry import Registry, parse

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from deniable_aggregator.simulating import ForgerKind
    from deniable_shared.registry import Relay

DAYS_PER_WEEK: Final = 7
SATURDAY: Final = 5
ADOPTION_DAYS: Final = 12
ADOPTED: Final = 0.9
"""The part of the devices that a release reaches, after `ADOPTION_DAYS`."""

TESTERS: Final = 0.03
"""The part of the devices that have a release from its first day: testers."""

_DAY_ZERO: Final = date(1970, 1, 1)

Record = tuple[tuple[str, bool | str], ...]
"""A value of attributes, as pairs of name and value."""

Value = bool | str | Record | tuple[bool | str, str | None] | tuple[str, ...]
"""A held value that is no number; with segments a value and its segment; of a set its items."""

Law = Mapping[Value, float]
"""How common each value is; all add up to 1."""


@dataclass(frozen=True)
class Forgery:
    """Reports of devices that do not exist.

    Attributes:
        metric: its name.
        value: which value they are made of.
        kind: in what manner.
        part: how many there are of a day, relative to the honest ones; all in one upload if that is
            their manner.
        days: on which they are sent.
        key: the name of the write key that they come with.
    """

    metric: str
    value: Value | float
    kind: ForgerKind
    part: float
    days: range
    key: str


@dataclass(frozen=True)
class Late:
    """Reports that arrive some days after their own.

    Attributes:
        part: of the reports of a day, in (0, 1]; rounded to one in so many.
        days: how many later.
        key: only those that come with this write key; None for all.
        every: only those of every so many days.
    """

    part: float
    days: int
    key: str | None = None
    every: int = 1

    def is_due(self, key: str, day: int, days: int) -> bool:
        """Whether reports of a key and day come late, and still before the last day is over."""
        chosen = self.key in (None, key) and day % self.every == 0
        return chosen and day + self.days < days


@dataclass(frozen=True)
class Deployment:
    """When things happen; days are counted from 0, versions of the application from 1.

    Attributes:
        registries: the text of the registry that each version ships.
        days: how many days there are.
        seed: of the population and of the noise.
        first_day: the date of day 0.
        keys: the share of the devices that have each build, and so send with each write key.
        releases: the day on which each version is released, the first on day 0.
        growth: by which part the number of devices grows in a week.
        weekend_volume: reports of a Saturday or Sunday, relative to another day.
        last_volume: reports of the last day, relative to a whole one.
        outage: a day on which the server is away and all reports are lost.
        change: a day from which devices hold something else than before.
        forgeries: forged reports, of different metrics.
        late: reports that arrive later.

    Raises:
        ParameterError: if there is no day, or no registry, or not one release of each.
    """

    registries: tuple[str, ...]
    days: int
    seed: int
    first_day: date
    keys: Mapping[str, float] = field(default_factory=lambda: {"release": 1.0})
    releases: tuple[int, ...] = (0,)
    growth: float = 0.0
    weekend_volume: float = 0.6
    last_volume: float = 1.0
    outage: int | None = None
    change: int | None = None
    forgeries: tuple[Forgery, ...] = ()
    late: Late | None = None

    def __post_init__(self) -> None:
        if not self.days >= 1:
            raise ParameterError("days", "at least 1", self.days)
        if not 1 <= len(self.registries) == len(self.releases):
            raise ParameterError("releases", "one day for each registry", self.releases)

    def generator(self, *purpose: object) -> Generator:
        """Random numbers for a purpose, always the same ones, whatever else is simulated."""
        words = hashlib.sha256(repr((self.seed, *purpose)).encode()).digest()
        return np.random.default_rng(np.frombuffer(words, np.uint32))

    def registry(self, version: int) -> Registry:
        """What a version of the application ships."""
        return _parsed(self.registries[version - 1])

    @property
    def application(self) -> str:
        """Its name, which is part of the hash families of sketches."""
        return self.registry(1).application

    @property
    def relay(self) -> Relay | None:
        """The relay of the newest version of the application."""
        return self.registry(self.versions[-1]).relay

    @property
    def versions(self) -> range:
        """The versions of the application, all that are ever released."""
        return range(1, len(self.registries) + 1)

    @property
    def last(self) -> int:
        """The last day."""
        return self.days - 1

    def forgery_of(self, metric: str) -> Forgery | None:
        """What is forged of a metric, if anything is."""
        return next((each for each in self.forgeries if each.metric == metric), None)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics that any version declares, in their order."""
        return tuple(
            dict.fromkeys(name for v in self.versions for name in self.registry(v).metrics)
        )

    def date_of(self, day: int) -> date:
        """The date of a day."""
        return self.first_day + timedelta(day)

    def epoch(self, day: int) -> int:
        """A day as reports name it: days since 1970."""
        return (self.first_day - _DAY_ZERO).days + day

    def day_of(self, text: str) -> int:
        """The number of a date, such as an answer names it."""
        return (date.fromisoformat(text) - self.first_day).days

    def is_weekend(self, day: int) -> bool:
        """Whether a day is a Saturday or Sunday."""
        return self.date_of(day).weekday() >= SATURDAY

    def volume(self, day: int) -> float:
        """How many reports a day brings, relative to a working day in the first week."""
        if day == self.outage:
            return 0.0
        volume = self.weekend_volume if self.is_weekend(day) else 1.0
        if self.growth:
            volume *= (1 + self.growth) ** (day / DAYS_PER_WEEK)
        return volume * (self.last_volume if day == self.last else 1.0)

    def adoption(self, day: int) -> NDArray[np.float64]:
        """The share of the devices that have each version on a day; float64, (versions,)."""
        reached = [1.0, *(_reached(day - released) for released in self.releases[1:])]
        newer = np.cumprod([1.0, *(1 - each for each in reached[:0:-1])])[::-1]
        shares: NDArray[np.float64] = np.array(reached) * newer
        return shares


def _reached(since: int) -> float:
    """The part of the devices that a release has reached so many days after it."""
    return min(1.0, TESTERS + since / ADOPTION_DAYS) * ADOPTED if since >= 0 else 0.0


@cache
def _parsed(text: str) -> Registry:
    return parse(text)


class Situation(NamedTuple):
    """Whose values are drawn, and when."""

    deployment: Deployment
    day: int
    version: int
    key: str

    @property
    def weekend(self) -> bool:
        """Whether the day is a Saturday or Sunday."""
        return self.deployment.is_weekend(self.day)

    @property
    def changed(self) -> bool:
        """Whether the change has happened."""
        return self.deployment.change is not None and self.day >= self.deployment.change


Holds = Callable[[Situation], Law]
"""Which values are how common."""

Samples = Callable[[Situation, "Generator", int], "NDArray[np.float64]"]
"""Numbers: draws so many, as devices hold them; some may be outside of the metric's range."""


@dataclass(frozen=True)
class Reporting:
    """How often a metric is reported, and what devices hold.

    Attributes:
        reports: on a full day; or in a week if it is weekly.
        holds: which values; None of numbers.
        samples: which numbers; None of all others.
        weekly: whether a device reports it once a week, on a Monday, when it is first used.
        devices: how many devices there are, who report again and again what they hold for good; 0
            if each report comes from a device of its own.
    """

    reports: float
    holds: Holds | None = None
    samples: Samples | None = None
    weekly: bool = False
    devices: int = 0

    def volume(self, deployment: Deployment, day: int) -> float:
        """How many reports a day brings, relative to `reports`."""
        volume = deployment.volume(day)
        return volume * (deployment.date_of(day).weekday() == 0) if self.weekly else volume


def zipf(names: Iterable[str], exponent: float, total: float = 1.0) -> dict[Value, float]:
    """Shares that fall with the rank to the power of an exponent, and add up to a total."""
    listed = list(names)
    weights = np.arange(1, len(listed) + 1) ** -exponent
    return dict(zip(listed, (weights / weights.sum() * total).tolist(), strict=True))


def numbered(name: str, count: int) -> list[str]:
    """Different strings."""
    return [f"{name} {number}" for number in range(count)]
