"""Who reports what in the field trial, and how often."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from deniable_aggregator.simulating.draws import Population
from deniable_aggregator.simulating.population import Reporting
from field.laws import LAWS, SAMPLERS

if TYPE_CHECKING:
    from collections.abc import Collection

    from deniable_aggregator.simulating.population import Deployment

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
    "memory": Reporting(2_000),
    "scheme": Reporting(1_500),
    "focus": Reporting(2_000),
    "layout": Reporting(1_500),
    "widget": Reporting(2_000),
    "zoom": Reporting(6_000),
    "badge": Reporting(600),
    "banner": Reporting(1_500),
    "checkout": Reporting(1_500),
    "few_numbers": Reporting(8),
    "few_flags": Reporting(30),
    "few_values": Reporting(30),
}
"""In the small form, without what devices hold."""


def population(calendar: Deployment, scale: float, metrics: Collection[str]) -> Population:
    """Draws what the devices hold.

    Args:
        calendar: of the deployment.
        scale: the number of reports, relative to the small form.
        metrics: those that are reported.
    """
    return Population(
        calendar,
        {
            name: replace(
                METRICS[name],
                reports=METRICS[name].reports * scale,
                devices=round(METRICS[name].devices * scale),
                holds=LAWS.get(name),
                samples=SAMPLERS.get(name),
            )
            for name in metrics
        },
    )
