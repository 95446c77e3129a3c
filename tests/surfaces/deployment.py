"""Four weeks of reports of every type of metric: a release, forged reports, and a change.

Every report is made by the client's own randomizers, with seeded randomness.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.discoveries import runs
from deniable_aggregator.answering.estimate_table.writing import TableWriter
from deniable_aggregator.answers.dates import epoch_of
from deniable_shared import registry, wire
from tests.aggregator.discovered import CalledRun
from tests.aggregator.service import APPLICATION, Service, serving
from tests.aggregator.stored import key_administrator
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FIRST: Final = date(2026, 8, 31)
"""A Monday."""

RELEASE: Final = FIRST + timedelta(14)
"""A new version knows one theme more, and more devices are dark."""

LAST: Final = FIRST + timedelta(27)
FORGED: Final = FIRST + timedelta(23)
FORGERY: Final = bytes([2]) * 1_500
"""Reports without noise, all of Firefox."""

A_DAY: Final = 150
"""Reports of each metric."""

ACCEPT_DAYS: Final = 7
PERIODS: Final = "week"
"""Of the table of estimates."""

REGISTRY: Final = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 16
epsilon_lifetime = 400
[metrics.browser]
type = "category"
description = "Which browser opened the report"
values = ["Chrome", "Safari", "Firefox", "Edge", "Konqueror"]
complete = true
epsilon = 4
[metrics.theme]
type = "category"
description = "Which colour theme is active"
values = ["light", "dark", "system"]
other = "another"
epsilon = 3
[metrics.crash]
type = "boolean"
description = "Whether it crashed today"
epsilon = 2
[metrics.mode]
type = "category"
description = "How documents are edited"
values = ["visual", "source"]
complete = true
segment = { name = "channel", values = ["stable", "beta"], complete = true }
epsilon = 4
[metrics.features]
type = "attributes"
description = "Features that were used today"
epsilon = 4
mechanism = "pairs"
[metrics.features.attributes]
search = "boolean"
comments = "boolean"
export = "boolean"
[metrics.battery]
type = "number"
description = "Charge of the battery at the start, in percent"
range = [0, 100]
epsilon = 4
[metrics.startup_seconds]
type = "distribution"
description = "Seconds until the first window"
range = [0, 10]
bins = 10
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
[metrics.plugins]
type = "set"
description = "Plug-ins that are installed"
values = ["git", "latex", "vim", "spell", "tree"]
most = 3
absent = "none"
epsilon = 4
"""
LATER: Final = REGISTRY.replace('"dark", "system"]', '"dark", "system", "sepia"]')
EMOJI: Final = {"😂": 0.35, "🐝": 0.25, "🌻": 0.2, "👍": 0.2}
DISCOVERIES: Final = "/v1/metrics/code/discoveries"


def held(metric: str, day: date) -> Mapping[Any, float]:
    """What devices hold, and which share holds each."""
    late = day >= RELEASE
    used = {"search": True, "comments": True, "export": False}
    return {
        "browser": {"Chrome": 0.55, "Safari": 0.3, "Firefox": 0.1, "Edge": 0.05},
        "theme": {"dark": 0.5, "light": 0.35, "system": 0.1, "sepia": 0.05}
        if late
        else {"light": 0.6, "dark": 0.3, "system": 0.1},
        "crash": {True: 0.07, False: 0.93},
        "mode": {
            ("visual", "stable"): 0.6,
            ("source", "stable"): 0.2,
            ("visual", "beta"): 0.15 if late else 0.05,
            ("source", "beta"): 0.05 if late else 0.15,
        },
        "features": {
            tuple(used.items()): 0.4,
            tuple({**used, "comments": False}.items()): 0.1,
            tuple(dict.fromkeys(used, False).items()): 0.5,
        },
        "emoji": EMOJI,
        "code": {"1234": 0.5, "42": 0.25, "77": 0.25},
        "plugins": {
            (): 0.2,
            ("git",): 0.2,
            ("git", "latex"): 0.4 if late else 0.2,
            ("git", "latex", "vim", "spell"): 0.1,
            ("tree",): 0.1 if late else 0.3,
        },
    }[metric]


def value_of(metric: str, day: date, drawn: random.Random) -> Any:
    """What one device records."""
    if metric == "startup_seconds":
        return min(9.9, drawn.lognormvariate(0.6 if day < RELEASE else 0.9, 0.5))
    if metric == "battery":
        return min(100.0, max(0.0, drawn.gauss(62, 20)))
    law = held(metric, day)
    return drawn.choices(list(law), list(law.values()))[0]


@contextmanager
def deployed(target: Path) -> Iterator[Service]:
    """A service with the reports of all days, whose clock stands at the day after the last.

    What the code of a start is has been looked for, and the table of estimates is written.

    Args:
        target: where the store is made.
    """
    settings = {"accept_days": ACCEPT_DAYS, "estimate_periods": PERIODS}
    with patch.object(runs, "_Run", CalledRun), serving(target, **settings) as service:
        partner = key_administrator(service.store).create(
            scope="batch", application=APPLICATION, label="partner"
        )
        drawn = random.Random(2026)
        for number in range((LAST - FIRST).days + 1):
            day = FIRST + timedelta(number)
            service.clock.epoch = epoch_of(day)
            text = REGISTRY if day < RELEASE else LATER
            if day in (FIRST, RELEASE):
                registered = service.register(text)
                assert registered.status_code == 200, registered.text
            specs = {name: metric.spec for name, metric in registry.parse(text).metrics.items()}
            parts = []
            for name, spec in specs.items():
                # Of its own, so that what devices hold of the others stays as it is.
                of_sets = random.Random(number) if spec.type == "set" else drawn
                report = randomizer_for(spec, Randomness(of_sets.randbytes)).report
                values = (value_of(name, day, of_sets) for _ in range(A_DAY))
                payload = b"".join(report(encoded(spec, value), b"") for value in values)
                parts.append(wire.Part(spec.digest, service.clock.epoch, payload))
            _send(service, parts, drawn)
            if day == FORGED:
                part = wire.Part(specs["browser"].digest, service.clock.epoch, FORGERY)
                _send(service, [part], drawn, partner.token)
        service.running.inbox_fold.fold(seconds=60)
        service.clock.epoch += 1
        TableWriter(
            service.store, lengths=(PERIODS,),
            accept_days=ACCEPT_DAYS, retain_days=None, today=service.clock.epoch,
        ).write()  # fmt: skip
        days = {"since": str(FIRST), "until": str(LAST)}
        number = service.ask(DISCOVERIES, query_string=days, method="POST").get_json()["id"]
        run = partial(service.store.discoveries.find, APPLICATION, "code", number)
        wait_until(lambda: run().state in ("done", "failed"))
        assert run().state == "done"
        yield service


def encoded(spec: Any, value: Any) -> Any:
    """A value as its mechanism takes it."""
    if spec.type == "set":
        return spec.encode(value)
    if spec.type == "attributes":
        return spec.encode(dict(value))
    return spec.encode(*value) if isinstance(value, tuple) else spec.encode(value)


def _send(
    service: Service, parts: list[wire.Part], drawn: random.Random, key: str | None = None
) -> None:
    upload = wire.Upload(drawn.randbytes(wire.ID_BYTES), tuple(parts))
    assert service.send(wire.encode(upload), key=key).status_code == 204
