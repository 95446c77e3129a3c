"""Devices whose true values are drawn from real data; see DATA.md."""

from __future__ import annotations

import csv
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parent / "data"
REGISTRY: Final = Path(__file__).parent / "metrics.toml"
SEED: Final = 2013
ABSENT_AIRPORTS: Final = ("BIL", "FAI", "FAR", "FSD", "GUM", "ITO", "JNU", "KOA", "LIH", "OGG")
"""Airports without any flight, which are asked for to see whether they are wrongly detected."""

Device = dict[str, bool | str]


@dataclass(frozen=True)
class Population:
    """The devices, and the values that are asked for.

    Attributes:
        devices: each device's true values, by metric.
        candidates: the values to look for, by string metric.
    """

    devices: list[Device]
    candidates: dict[str, list[str]]

    def truth(self, metric: str) -> Counter[str]:
        """How many devices have each value; ``true`` for a flag that is set."""
        values = (device[metric] for device in self.devices)
        return Counter("true" if value is True else str(value) for value in values)


def draw(size: int) -> Population:
    """Draws devices: for each a flight, by how often it was flown, and a browser, by its share.

    The draw is seeded, so that every run has the same truth. The noise is not, so it never repeats.

    Args:
        size: how many devices.
    """
    generator = random.Random(SEED)
    flights = _rows("flights.csv")
    flight_weights = [int(row["flights"]) for row in flights]
    browsers = _rows("browser_share.csv")
    browser_weights = [float(row["percent"]) for row in browsers]
    chosen_flights = generator.choices(flights, flight_weights, k=size)
    chosen_browsers = generator.choices(browsers, browser_weights, k=size)
    devices: list[Device] = [
        {
            "late": flight["late"] == "1",
            "carrier": flight["carrier"],
            "destination": flight["dest"],
            "browser": browser["browser"],
            "browser_version": _version(browser),
            "unlisted_browser": _version(browser),
        }
        for flight, browser in zip(chosen_flights, chosen_browsers, strict=True)
    ]
    airports = sorted({row["dest"] for row in flights})
    candidates = {
        "destination": [*airports, *ABSENT_AIRPORTS],
        "browser_version": [_version(row) for row in browsers],
    }
    return Population(devices, candidates)


def _version(row: dict[str, str]) -> str:
    return f"{row['browser']} {row['version']}"


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
