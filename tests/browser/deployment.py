"""Eight weeks of reports by the shipped randomizers, which the pages are looked at with."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from deniable.randomizers import randomizer_for
from deniable_aggregator import Settings
from deniable_aggregator.answering.estimate_table.writing import TableWriter
from deniable_aggregator.answers.dates import day_of
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.lists_and_annotations import SavedListKeeper
from deniable_shared import registry, wire
from tests.aggregator.service import APPLICATION, Clock, Service, bearer
from tests.privacy.conformance import secret_of, seeded
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_shared.spec import Spec

REGISTRY: Final = Path(__file__).with_name("registry.toml").read_text(encoding="utf-8")
TODAY: Final = 20_001
"""The 5th of October 2024, a Saturday; the clock of the server stands at noon."""

FIRST: Final = TODAY - 61
"""A Monday."""

RELEASE: Final = TODAY - 26
"""A Monday, on which a new version of `theme` knows one value more, and more devices are dark."""

FORGED: Final = range(TODAY - 12, TODAY - 9)
"""Days on which somebody sends made-up reports of `theme`."""

DEVICES: Final = 300
"""Reports of each metric and day."""

APPLICATIONS: Final = (APPLICATION, "empty")
EMOJI: Final = {"😂": 0.4, "❤️": 0.25, "👩🏽‍🚀": 0.2, "🇺🇦": 0.15}
HOSTILE: Final = "<img src=x onerror=\"document.title='owned'\"> עברית"
FORGER: Final = f"partner {HOSTILE}"
VIEW: Final = HOSTILE.replace("/", "").removeprefix("<")
OWN_DAYS: Final = "/metric/plugin?since=2024-09-02&until=2024-09-29"
MANY: Final = [*(f"value {number}" for number in range(99_999)), "😂"]
FOUND: Final = {
    "<b>x": 0.3,
    "שלום": 0.2,
    "a\u202eb\u0007": 0.2,
    "=1+1": 0.15,
    "weather today": 0.15,
}
"""Strings that devices report without a list: markup, another direction, control characters, a
formula, and one of which only the beginning is found."""

STORE: Final = "deniable.db"
DISCOVERIES: Final = "/v1/metrics/search_term/discoveries"


@dataclass(frozen=True)
class Deployment:
    """A store, and what opens it.

    Attributes:
        store: the SQLite file.
        tokens: by scope, and under ``empty`` of an application without metrics.
    """

    store: Path
    tokens: Mapping[str, str]


def build(folder: Path) -> Deployment:
    """Lets eight weeks pass in a folder."""
    path = folder / STORE
    clock = Clock(FIRST)
    settings = Settings(fold_seconds=1e6, estimate_periods="", accept_days=7)
    service = Service(path, settings, clock=clock)
    try:
        tokens = {"read": service.read, "admin": service.admin}
        tokens["empty"] = service.key("read", "empty")
        forger = create_key(
            service.store, scope="batch", application=APPLICATION, label=FORGER, today=FIRST
        )
        _let_days_pass(service, clock, forger)
        service.running.inbox_fold.fold(seconds=60)
        _write_beside(service, settings)
        number = service.ask(DISCOVERIES, method="POST").get_json()["id"]
        TableWriter(
            service.store,
            lengths=("week",),
            accept_days=settings.accept_days,
            retain_days=None,
            today=TODAY,
        ).write()
        # It was looked for in another process in the meantime.
        stored = service.store.discoveries
        run = partial(stored.find, APPLICATION, "search_term", number)
        wait_until(lambda: run().state in ("done", "failed"), seconds=600.0)
        assert run().state == "done"
    finally:
        service.close()
    return Deployment(path, tokens)


def _let_days_pass(service: Service, clock: Clock, forger: str) -> None:
    for day in range(FIRST, TODAY + 1):
        clock.epoch = day
        if day in (FIRST, RELEASE):
            assert service.register(_registry(day)).status_code == 200
        metrics = registry.parse(_registry(day)).metrics
        parts = []
        for name, metric in metrics.items():
            if values := _values(name, day):
                parts.append(_part(metric.spec, values, day))
        assert service.send(_upload(parts)).status_code == 204
        if day in FORGED:
            spec = metrics["theme"].spec
            report = randomizer_for(spec, seeded("forger")).report(spec.encode("system"), b"")
            body = _upload([wire.Part(spec.digest, day, report * DEVICES)])
            assert service.send(body, key=forger).status_code == 204


def _write_beside(service: Service, settings: Settings) -> None:
    """What people have written: annotations, lists of values, and names of views."""
    for day, text in ((RELEASE, "Version 2.0"), (RELEASE + 8, HOSTILE)):
        path = f"/v1/annotations/{day_of(day)}"
        headers = bearer(service.admin)
        assert service.http.put(path, json={"text": text}, headers=headers).status_code == 200
    for name, place in (("Themes by week", "/metric/theme?period=4-weeks"), (VIEW, OWN_DAYS)):
        path, body = f"/v1/views/{quote(name)}", {"place": place}
        assert service.ask(path, method="PUT", json=body).status_code == 200
    lists = SavedListKeeper(service.store, settings)
    for name, values in (("emoji-and-more", [*EMOJI, HOSTILE]), ("many", MANY)):
        lists.save(APPLICATION, name, values, today=TODAY, actor="test")


def _registry(day: int) -> str:
    if day < RELEASE:
        return REGISTRY
    return REGISTRY.replace('"dark", "system"]', '"dark", "system", "sepia"]')


def _values(name: str, day: int) -> Mapping[Any, float]:
    """What devices hold on a day, and the share that holds each; nothing if none reports."""
    late = day >= RELEASE
    weekly = day % 7 == FIRST % 7
    if name == "theme":
        after = {"light": 0.35, "dark": 0.5, "system": 0.1, "sepia": 0.05}
        return after if late else {"light": 0.6, "dark": 0.3, "system": 0.1}
    if name == "plugin":
        values = registry.parse(REGISTRY).metrics["plugin"].spec.segments.of.values[:8]
        return {(value, ("stable", "<i>beta")[at % 2]): 1 + at for at, value in enumerate(values)}
    if name == "startup_seconds":
        return {float(seconds): 1.0 for seconds in range(1, 4)}
    if name == "latency":
        return {milliseconds: 1.0 / milliseconds for milliseconds in range(50, 950, 60)}
    if name == "features":
        used = {"search": True, "comments": True, "export": False}
        return {
            tuple(used.items()): 0.5,
            tuple({**used, "comments": False}.items()): 0.2,
            tuple(dict.fromkeys(used, False).items()): 0.3,
        }
    if name == "few":
        return {"a": 0.5, "b": 0.5} if day == TODAY - 2 else {}
    if name == "crash":
        return {True: 0.05, False: 0.95}
    if name == "stopped":
        return {} if late else {True: 0.5, False: 0.5}
    if name == "emoji":
        return EMOJI if weekly else {}
    if name == "search_term":
        return FOUND if weekly else {}
    return {}


def _part(spec: Spec, values: Mapping[Any, float], day: int) -> wire.Part:
    weekly, few = spec.name in ("emoji", "search_term"), spec.name == "few"
    reports = 12 if few else DEVICES * (3 if weekly else 1)
    draw = np.random.default_rng([day, *spec.name.encode()])
    shares = np.array(list(values.values()))
    counts = draw.multinomial(reports, shares / shares.sum()).tolist()
    randomizer = randomizer_for(spec, seeded(f"{spec.name} {day} {reports}"))
    made, device = [], 0
    for value, count in zip(values, counts, strict=True):
        item = _encoded(spec, value)
        for _ in range(count):
            made.append(randomizer.report(item, secret_of(device)))
            device += 1
    return wire.Part(spec.digest, day, b"".join(made))


def _encoded(spec: Spec, value: Any) -> Any:
    if spec.type == "attributes":
        return spec.encode(dict(value))
    return spec.encode(*value) if isinstance(value, tuple) else spec.encode(value)


def _upload(parts: list[wire.Part]) -> bytes:
    return wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), tuple(parts)))
