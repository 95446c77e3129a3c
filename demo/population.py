"""Devices whose true values are drawn from real data, their colour theme apart; see DATA.md."""

from __future__ import annotations

import csv
import random
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from demo.calendar import Calendar

DATA: Final = Path(__file__).parent / "data"
REGISTRY: Final = Path(__file__).parent / "metrics.toml"
SEED: Final = 2013
ABSENT_AIRPORTS: Final = ("BIL", "FAI", "FAR", "FSD", "GUM", "ITO", "JNU", "KOA", "LIH", "OGG")
"""Airports without any flight, which are asked for to see whether they are wrongly detected."""

THEMES: Final = ("light", "dark", "system")
THEMES_BEFORE: Final = (0.58, 0.31, 0.11)
THEMES_AFTER: Final = (0.46, 0.43, 0.11)
"""How many devices have each theme, before the release that offers the dark one and after it."""

Device = dict[str, bool | str]


@dataclass(frozen=True)
class Population:
    """The devices, and the values that are asked for.

    Attributes:
        days: the true values of each device, by metric; in lists by the day on which it reports.
        candidates: the values to look for, by string metric.
    """

    days: dict[int, list[Device]]
    candidates: dict[str, list[str]]

    @cached_property
    def size(self) -> int:
        """How many devices there are."""
        return sum(map(len, self.days.values()))

    def truth(self, metric: str) -> Counter[str]:
        """How many devices have each value; ``true`` for a flag that is set."""
        values = (device[metric] for device in chain.from_iterable(self.days.values()))
        return Counter("true" if value is True else str(value) for value in values)


def draw(size: int, clients: int, calendar: Calendar) -> Population:
    """Draws devices: for each a flight, by how often it was flown, and a browser, by its share.

    The draw is seeded, so that every run has the same truth. The noise is not, so it never repeats.

    Args:
        size: how many devices report on the days of the calendar, each on one of them.
        clients: how many further devices report today.
        calendar: the days.
    """
    generator = random.Random(SEED)
    flights = _rows("flights.csv")
    flight_weights = [int(row["flights"]) for row in flights]
    browsers = _rows("browser_share.csv")
    browser_weights = [float(row["percent"]) for row in browsers]
    days: dict[int, list[Device]] = {}
    for day, count in [*_spread(size, calendar), (calendar.today, clients)]:
        themes = THEMES_BEFORE if day < calendar.release else THEMES_AFTER
        days[day] = [
            {
                "theme": theme,
                "late": flight["late"] == "1",
                "carrier": flight["carrier"],
                "destination": flight["dest"],
                "browser": browser["browser"],
                "browser_version": _version(browser),
                "unlisted_browser": _version(browser),
            }
            for theme, flight, browser in zip(
                generator.choices(THEMES, themes, k=count),
                generator.choices(flights, flight_weights, k=count),
                generator.choices(browsers, browser_weights, k=count),
                strict=True,
            )
        ]
    airports = sorted({row["dest"] for row in flights})
    candidates = {
        "destination": [*airports, *ABSENT_AIRPORTS],
        "browser_version": [_version(row) for row in browsers],
    }
    return Population(days, candidates)


def _spread(size: int, calendar: Calendar) -> Sequence[tuple[int, int]]:
    """How many devices report on each day."""
    whole = sum(map(calendar.volume, calendar.days))
    reached = 0.0
    counts = []
    for day in calendar.days:
        before, reached = reached, reached + calendar.volume(day)
        counts.append((day, round(size * reached / whole) - round(size * before / whole)))
    return counts


def _version(row: dict[str, str]) -> str:
    return f"{row['browser']} {row['version']}"


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
