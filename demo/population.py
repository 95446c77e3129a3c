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
"""Asked for beside the real ones, to see whether something is found that is not there."""

Device = dict[str, bool | str]


@dataclass(frozen=True)
class Population:
    """The devices, and what may be asked about them.

    Attributes:
        devices: each device's true value by metric.
        candidates: what is asked for, by string metric.
    """

    devices: list[Device]
    candidates: dict[str, list[str]]

    def truth(self, metric: str) -> Counter[str]:
        """How many devices hold each value; the one item of a flag is ``true``."""
        values = (device[metric] for device in self.devices)
        return Counter("true" if value is True else str(value) for value in values)


def draw(size: int) -> Population:
    """Draws devices: a flight each by how often it was flown, a browser version by its share.

    The draw is seeded, so that every run has the same truth; the noise is not, and never repeats.

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
