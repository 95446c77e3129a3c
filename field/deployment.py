"""When things happen in the simulated deployment: days, releases, keys, an outage, a forger."""

from __future__ import annotations

from datetime import date
from typing import Final

from deniable_aggregator.simulating.population import DAYS_PER_WEEK, Deployment, Forgery, Late
from field.registries import registry_text

FIRST_DAY: Final = date(2026, 1, 5)
"""A Monday. The server's clock is set to the days of the deployment, so that it never changes."""

FEWEST_DAYS: Final = 42
"""Six weeks have room for all events."""

TODAY_VOLUME: Final = 0.3
"""Today is not over: so much of its reports has come."""

KEYS: Final = {"store": 0.80, "direct": 0.17, "beta": 0.025, "partner": 0.005}
"""The share of the devices that have each build, and so send with each write key."""

FORGER: Final = "partner"
FORGED_METRIC: Final = "browser"
FORGED_PART: Final = 0.15
"""Forged reports of a day, relative to the honest ones."""

PATIENT_PART: Final = 0.03
PATIENT_DAYS: Final = 20
"""A patient forger draws reports as devices do, a few a day."""

UPLOAD_PART: Final = 3.0
"""One upload has as many times the honest reports of its day."""

OFFLINE: Final = Late(part=1.0, days=2, key="direct", every=3)
"""The relay of one key sends the reports of every third day so much later."""

VERSIONS: Final = (1, 2, 3)


def deployment(days: int, seed: int) -> Deployment:
    """The calendar of the field trial.

    Args:
        days: how many days there are, today included; at least `FEWEST_DAYS`.
        seed: of the population, of the noise, and of the hash families of sketches, which the
            name of the application decides.
    """
    if not days >= FEWEST_DAYS:
        raise ValueError(f"days must be at least {FEWEST_DAYS}, got {days!r}")
    forged = monday(days, 0.55)
    return Deployment(
        registries=tuple(registry_text(version, f"field{seed}") for version in VERSIONS),
        days=days,
        seed=seed,
        first_day=FIRST_DAY,
        keys=KEYS,
        releases=(0, round(days * 0.3), round(days * 0.6)),
        last_volume=TODAY_VOLUME,
        outage=monday(days, 0.45) + 2,
        change=monday(days, 0.7),
        forgeries=(
            Forgery(
                metric=FORGED_METRIC,
                value="Opera",
                kind="naive",
                part=FORGED_PART,
                days=range(forged, forged + DAYS_PER_WEEK),
                key=FORGER,
            ),
            Forgery(
                metric="widget",
                value=True,
                kind="patient",
                part=PATIENT_PART,
                days=range(days - 1 - PATIENT_DAYS, days - 1),
                key="direct",
            ),
            Forgery(
                metric="badge",
                value=True,
                kind="upload",
                part=UPLOAD_PART,
                days=range(monday(days, 0.75) + 1, monday(days, 0.75) + 2),
                key="store",
            ),
        ),
        late=OFFLINE,
    )


def forged_days(calendar: Deployment, metric: str = FORGED_METRIC) -> range:
    """The days on which somebody forges reports of a metric."""
    forgery = calendar.forgery_of(metric)
    assert forgery is not None, "somebody forges it"
    return forgery.days


def monday(days: int, part: float) -> int:
    """The Monday after a part of all days."""
    return round(days * part) // DAYS_PER_WEEK * DAYS_PER_WEEK


def appears(calendar: Deployment) -> int:
    """A Monday on which a value appears that nobody held before."""
    return monday(calendar.days, 0.6)


def outage_of(calendar: Deployment) -> int:
    """The day on which the server is away: a Wednesday."""
    assert calendar.outage is not None, "this deployment has one"
    return calendar.outage


def change_of(calendar: Deployment) -> int:
    """The Monday from which some metrics differ from before."""
    assert calendar.change is not None, "this deployment has one"
    return calendar.change
