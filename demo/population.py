"""Devices whose true values are drawn from real data, their colour theme apart; see DATA.md.

They report over weeks, up to yesterday. The last full week has a release and a forger.
"""

from __future__ import annotations

import csv
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from deniable_aggregator.simulating.draws import Batch, Population
from deniable_aggregator.simulating.population import (
    DAYS_PER_WEEK,
    Deployment,
    Forgery,
    Reporting,
    Situation,
)
from deniable_shared.registry import with_models

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from deniable_aggregator.simulating.population import Law, Value

DATA: Final = Path(__file__).parent / "data"
REGISTRY: Final = Path(__file__).parent / "metrics.toml"
SEED: Final = 2013
WEEKS: Final = 8
ABSENT_AIRPORTS: Final = ("BIL", "FAI", "FAR", "FSD", "GUM", "ITO", "JNU", "KOA", "LIH", "OGG")
"""Airports without any flight, which are asked for to see whether they are wrongly detected."""

THEMES_BEFORE: Final = {"light": 0.58, "dark": 0.31, "system": 0.11}
THEMES_AFTER: Final = {"light": 0.46, "dark": 0.43, "system": 0.11}
"""How many devices have each theme, before the release that offers the dark one and after it."""

KINDS: Final = 2_000
"""So many sets of plug-ins are drawn, and are as common as each other."""

USERS: Final = (
    (0.3, {"weather": 0.1}),
    (0.5, {"weather": 0.9, "charts": 0.5, "notes": 0.2, "checklists": 0.15, "translate": 0.03}),
    (
        0.2,
        {
            "weather": 0.95, "charts": 0.8, "fuel": 0.7, "logbook": 0.7, "terrain": 0.3,
            "radio": 0.25, "checklists": 0.2,
        },
    ),
)  # fmt: skip
"""Kinds of users: their part of all, and with which probability they have each plug-in."""

RELEASE_KEY: Final = "release build"
PARTNER_KEY: Final = "partner build"
KEYS: Final = {RELEASE_KEY: 0.96, PARTNER_KEY: 0.04}
"""The parts of the devices that have each build; the partner's write key is the forger's too."""

FORGED_METRIC: Final = "browser"
FORGED_PART: Final = 0.12
FORGED_DAYS: Final = 3


def deployment(today: date) -> Deployment:
    """The calendar: from a Monday up to yesterday, at least eight weeks.

    Args:
        today: the day on which the demo runs.
    """
    monday = today - timedelta(today.weekday())
    release = monday - timedelta(DAYS_PER_WEEK)
    first = release - timedelta((WEEKS - 1) * DAYS_PER_WEEK)
    change = (release - first).days
    return Deployment(
        registries=(with_models(REGISTRY.read_bytes(), REGISTRY.parent).decode(),),
        days=(today - first).days,
        seed=SEED,
        first_day=first,
        keys=KEYS,
        change=change,
        forgeries=(
            Forgery(
                metric=FORGED_METRIC,
                value="Firefox",
                kind="naive",
                part=FORGED_PART,
                days=range(change + 1, change + 1 + FORGED_DAYS),
                key=PARTNER_KEY,
            ),
        ),
    )


def population(calendar: Deployment, devices: int) -> Population:
    """Devices that each report all metrics once, on one of the days.

    Args:
        calendar: of the demo.
        devices: how many.
    """
    reports = devices / sum(map(calendar.volume, range(calendar.days)))
    return Population(
        calendar, {name: Reporting(reports, holds=holds) for name, holds in _laws().items()}
    )


def held_today(calendar: Deployment, devices: int) -> tuple[list[dict[str, Any]], list[Batch]]:
    """What further devices hold that report today.

    Args:
        calendar: of the demo.
        devices: how many.

    Returns:
        Of each device its values by metric; and the same as batches.
    """
    at = Situation(calendar, calendar.days, 1, RELEASE_KEY)
    columns: dict[str, list[Any]] = {}
    for name, holds in _laws().items():
        law = holds(at)
        generator = calendar.generator("today", name)
        places = generator.choice(len(law), devices, p=list(law.values()))
        columns[name] = [list(law)[place] for place in places]
    batches = []
    for name, values in columns.items():
        counts = Counter(values)
        counted = tuple(counts), tuple(counts.values())
        batches.append(Batch(name, calendar.days, RELEASE_KEY, 1, *counted))
    return [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ], batches


def candidates() -> dict[str, list[str]]:
    """The values to look for, by string metric."""
    airports = sorted({row["dest"] for row in _rows("flights.csv")})
    versions = [_version(row) for row in _rows("browser_share.csv")]
    return {
        "destination": [*airports, *ABSENT_AIRPORTS],
        "browser_version": versions,
    }


class _Always:
    """A law that never changes."""

    def __init__(self, weighted: Iterable[tuple[Value, float]]) -> None:
        weights: Counter[Value] = Counter()
        for value, weight in weighted:
            weights[value] += weight
        self._law = {value: weight / weights.total() for value, weight in weights.items()}

    def __call__(self, _: Situation) -> Law:
        return self._law


def _sets() -> list[tuple[tuple[str, ...], float]]:
    """Plug-ins that are installed together: those of three kinds of users."""
    drawn = np.random.default_rng(SEED)
    sets: Counter[tuple[str, ...]] = Counter()
    for users, shares in USERS:
        held = drawn.random((round(KINDS * users), len(shares))) < np.array(list(shares.values()))
        sets.update(tuple(np.array(list(shares))[row].tolist()) for row in held)
    return list(sets.items())


def _theme(at: Situation) -> Law:
    return THEMES_AFTER if at.changed else THEMES_BEFORE


def _laws() -> dict[str, Any]:
    """How common each value is: flights by how often they were flown, browsers by their share."""
    flights = [(row, int(row["flights"])) for row in _rows("flights.csv")]
    browsers = [(row, float(row["percent"])) for row in _rows("browser_share.csv")]
    versions = _Always((_version(row), weight) for row, weight in browsers)
    return {
        "theme": _theme,
        "late": _Always((row["late"] == "1", weight) for row, weight in flights),
        "carrier": _Always((row["carrier"], weight) for row, weight in flights),
        "plugins": _Always(_sets()),
        "destination": _Always((row["dest"], weight) for row, weight in flights),
        "browser": _Always((row["browser"], weight) for row, weight in browsers),
        "browser_version": versions,
        "unlisted_browser": versions,
    }


def _version(row: dict[str, str]) -> str:
    return f"{row['browser']} {row['version']}"


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
