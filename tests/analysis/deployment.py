"""A small deployment that looks real: nine weeks, a release, an outage and forged reports.

Every report is made by the client's own randomizers, with seeded randomness.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answers.dates import epoch_of
from deniable_shared import registry, wire
from tests.aggregator.service import APPLICATION, Service, serving
from tests.aggregator.stored import key_administrator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FIRST: Final = date(2026, 8, 24)
LAST: Final = date(2026, 10, 25)
RELEASE: Final = date(2026, 9, 21)
OUTAGE: Final = date(2026, 10, 2)
FORGED: Final = date(2026, 10, 14)
FORGERY: Final = bytes([2]) * 1_500
"""Reports without noise, all of Firefox."""

A_DAY: Final = 120
"""Reports of each metric."""

REGISTRY: Final = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.browser]
type = "category"
description = "Which browser opened the report"
values = ["Chrome", "Safari", "Firefox", "Edge", "other"]
complete = true
epsilon = 4
[metrics.theme]
type = "category"
description = "Which colour theme is active"
values = ["light", "dark", "system"]
complete = true
segment = { name = "channel", values = ["stable", "beta"], complete = true }
epsilon = 5
[metrics.startup_seconds]
type = "distribution"
description = "Seconds until the first window"
range = [0, 10]
bins = 20
epsilon = 4
[metrics.battery]
type = "number"
description = "Charge of the battery at the start, in percent"
range = [0, 100]
epsilon = 4
[metrics.emoji]
type = "string"
description = "The emoji that was sent most often"
epsilon = 5
mechanism = { name = "cms", rows = 64, buckets = 256 }
[metrics.code]
type = "string"
description = "The code that was typed to start"
discover = true
alphabet = "digits"
longest = 4
minimum_devices = 20
epsilon = 6
"""
SEGMENT: Final = {"stable": 0.8, "beta": 0.2}


def shares(metric: str, day: date) -> Mapping[str, float]:
    """What devices hold."""
    dark = 0.44 if day < RELEASE else 0.76
    return {
        "browser": {"Chrome": 0.45, "Safari": 0.3, "Firefox": 0.15, "Edge": 0.08, "other": 0.02},
        "theme": {"dark": dark, "light": 0.86 - dark, "system": 0.14},
        "emoji": {"😂": 0.35, "🐝": 0.25, "🌻": 0.2, "👍": 0.2},
        "code": {"1234": 0.5, "42": 0.25, "77": 0.25},
    }[metric]


def value_of(metric: str, day: date, drawn: random.Random) -> object:
    """What one device records."""
    if metric == "startup_seconds":
        return min(9.9, drawn.lognormvariate(0.6, 0.5))
    if metric == "battery":
        return min(100.0, max(0.0, drawn.gauss(62, 20)))
    law = shares(metric, day)
    return drawn.choices(list(law), list(law.values()))[0]


@contextmanager
def deployed(target: str | Path, *, days: int | None = None) -> Iterator[Service]:
    """A service with the reports of all days, whose clock stands at the day after the last.

    Args:
        target: where the store is made.
        days: only so many, from the first.
    """
    count = (LAST - FIRST).days + 1 if days is None else days
    with serving(target) as service:
        assert service.register(REGISTRY).status_code == 200
        administrator = key_administrator(service.store)
        partner = administrator.create(
            scope="batch", application=APPLICATION, label="partner"
        ).token
        metrics = registry.parse(REGISTRY).metrics
        drawn = random.Random(2026)
        senders = {
            name: randomizer_for(metric.spec, Randomness(drawn.randbytes))
            for name, metric in metrics.items()
        }
        for day in (FIRST + timedelta(number) for number in range(count)):
            if day == OUTAGE:
                continue
            service.clock.epoch = epoch_of(day)
            parts = []
            for name, metric in metrics.items():
                in_segments = metric.spec.segments is not None
                payload = b"".join(
                    senders[name].report(
                        metric.spec.encode(
                            value_of(name, day, drawn),
                            drawn.choices(list(SEGMENT), list(SEGMENT.values()))[0]
                            if in_segments
                            else None,
                        ),
                        b"",
                    )
                    for _ in range(A_DAY)
                )
                parts.append(wire.Part(metric.spec.digest, service.clock.epoch, payload))
            _send(service, parts, drawn)
            if day == FORGED:
                part = wire.Part(metrics["browser"].spec.digest, service.clock.epoch, FORGERY)
                _send(service, [part], drawn, partner)
        service.running.inbox_fold.fold(seconds=60)
        service.clock.epoch += 1
        yield service


def _send(
    service: Service, parts: list[wire.Part], drawn: random.Random, key: str | None = None
) -> None:
    upload = wire.Upload(drawn.randbytes(wire.ID_BYTES), tuple(parts))
    assert service.send(wire.encode(upload), key=key).status_code == 204
