"""When things happen in the simulated deployment: days, releases, keys, an outage, a forger."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Final

import numpy as np

FIRST_DAY: Final = date(2026, 1, 5)
"""A Monday. The server's clock is set to the days of the deployment, so that it never changes."""

_FIRST_EPOCH: Final = (FIRST_DAY - date(1970, 1, 1)).days
DAYS_PER_WEEK: Final = 7
WEEKEND_VOLUME: Final = 0.6
TODAY_VOLUME: Final = 0.3
"""Today is not over: so much of its reports has come."""

KEYS: Final = {"store": 0.80, "direct": 0.17, "beta": 0.025, "partner": 0.005}
"""The share of the devices that have each build, and so send with each write key."""

FORGER: Final = "partner"
FORGED_METRIC: Final = "browser"
VERSIONS: Final = (1, 2, 3)
ADOPTION_DAYS: Final = 12
ADOPTED: Final = 0.9
"""The part of the devices that a release reaches, after `ADOPTION_DAYS`."""

TESTERS: Final = 0.03
"""The part of the devices that have a release from its first day: testers."""


@dataclass(frozen=True)
class Deployment:
    """The calendar of a deployment; days are counted from 0.

    Attributes:
        days: how many days there are, today included; at least 42.
        seed: of the population, of the noise, and of the hash families of sketches.
        scale: the number of reports, relative to the small form.
    """

    days: int  # six weeks have room for all events
    seed: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.days >= 42:
            raise ValueError(f"days must be at least 42, got {self.days!r}")

    @property
    def application(self) -> str:
        """Its name, which decides the hash families of sketches."""
        return f"field{self.seed}"

    def generator(self, *purpose: object) -> np.random.Generator:
        """Random numbers for a purpose, always the same ones, whatever else is simulated."""
        words = hashlib.sha256(repr((self.seed, *purpose)).encode()).digest()
        return np.random.default_rng(np.frombuffer(words, np.uint32))

    @property
    def today(self) -> int:
        """The last day, which is not over."""
        return self.days - 1

    @cached_property
    def releases(self) -> dict[int, int]:
        """The day on which each version of the application is released."""
        return {1: 0, 2: round(self.days * 0.3), 3: round(self.days * 0.6)}

    @cached_property
    def outage(self) -> int:
        """A Wednesday on which the server is away and all reports are lost."""
        return self.monday(0.45) + 2

    @cached_property
    def forged(self) -> range:
        """The days on which somebody sends forged reports with the key `FORGER`."""
        return range(start := self.monday(0.55), start + DAYS_PER_WEEK)

    @cached_property
    def change(self) -> int:
        """A Monday from which some metrics differ from before."""
        return self.monday(0.7)

    @cached_property
    def late(self) -> int:
        """A Monday on which a value appears that nobody held before."""
        return self.monday(0.6)

    def monday(self, part: float) -> int:
        """The Monday after a part of all days."""
        return round(self.days * part) // DAYS_PER_WEEK * DAYS_PER_WEEK

    def date_of(self, day: int) -> date:
        """The date of a day."""
        return FIRST_DAY + timedelta(day)

    def epoch(self, day: int) -> int:
        """A day as reports name it: days since 1970."""
        return _FIRST_EPOCH + day

    def day_of(self, text: str) -> int:
        """The number of a date, such as an answer names it."""
        return (date.fromisoformat(text) - FIRST_DAY).days

    def is_weekend(self, day: int) -> bool:
        """Whether a day is a Saturday or Sunday."""
        return day % DAYS_PER_WEEK >= 5  # Monday is 0

    def volume(self, day: int) -> float:
        """How many reports a day brings, relative to a full working day."""
        if day == self.outage:
            return 0.0
        volume = WEEKEND_VOLUME if self.is_weekend(day) else 1.0
        return volume * (TODAY_VOLUME if day == self.today else 1.0)

    def versions(self, day: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The share of the devices that have each of `VERSIONS` on a day; float64, (3,)."""
        second, third = (self._reached(day - self.releases[version]) for version in VERSIONS[1:])
        return np.array([(1 - second) * (1 - third), second * (1 - third), third])

    @staticmethod
    def _reached(since: int) -> float:
        """The part of the devices that a release has reached so many days after it."""
        return min(1.0, TESTERS + since / ADOPTION_DAYS) * ADOPTED if since >= 0 else 0.0
