"""A service with reports about short strings of digits that nobody listed.

A run is a process that imports for a second, so here it is a call, except where a test says so.
"""

from __future__ import annotations

import random
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec

from deniable._randomness import Randomness
from deniable.randomizers import randomizer_for
from deniable_aggregator.answering.discoveries import process, runs
from deniable_aggregator.answering.discoveries.runs import Job, Progress
from deniable_aggregator.answers.dates import day_of
from deniable_shared import registry, wire
from tests.aggregator.served import numbers
from tests.aggregator.service import TODAY, Service, serving
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from werkzeug.test import TestResponse

    from tests.aggregator.served import Number

PATH = "/v1/metrics/code/discoveries"
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 8.0
epsilon_lifetime = 80.0
[metrics.code]
type = "string"
discover = true
alphabet = "digits"
longest = 4
minimum_devices = 20
epsilon = 6.0
[metrics.search]
type = "string"
epsilon = 1.0
"""
SPEC = registry.parse(REGISTRY).metrics["code"].spec
FIRST_WINDOW, SECOND_WINDOW = TODAY - 10, TODAY - 1
FIRST, SECOND = f"until={day_of(TODAY - 5)}", f"since={day_of(TODAY - 4)}"
SHARES = {
    FIRST_WINDOW: {"1234": 0.5, "42": 0.25, "77": 0.25},
    SECOND_WINDOW: {"1234": 0.5, "42": 0.25, "90210": 0.25},
}
"""Where "90210" is longer than the metric's strings: only its first letters are found."""


def send(
    service: Service,
    epoch: int,
    shares: Mapping[str, float],
    *,
    devices: int,
    key: str | None = None,
) -> None:
    """Sends the report of each of some devices."""
    drawn = random.Random(f"{epoch} {key is None}")
    randomizer = randomizer_for(SPEC, Randomness(drawn.randbytes))
    pieces = {value: SPEC.encode(value) for value in shares}
    values = drawn.choices(list(shares), list(shares.values()), k=devices)
    payload = b"".join(randomizer.report(pieces[value], b"") for value in values)
    part = wire.Part(SPEC.digest, epoch, payload)
    upload = wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))
    assert service.send(upload, key=key).status_code == 204


class CalledRun:
    """Stands in for the process of a run: what it would do is done in this one."""

    at = Progress("starting", 0.0)

    def __init__(self, _: object, job: bytes) -> None:
        self._outcome = process.outcome_of(msgspec.json.decode(job, type=Job), lambda *_: None)

    def has_ended(self, _: float) -> bool:
        return True

    def end(self) -> process.Failed | process.Finished:
        return self._outcome


@contextmanager
def discovering(
    target: str | Path, *, processes: bool = False, **settings: Any
) -> Iterator[Service]:
    """A service with two windows of reports.

    Args:
        target: where its store is.
        processes: whether runs are processes, as they are outside of tests.
        settings: of the service.
    """
    kind = runs._Run if processes else CalledRun
    with patch.object(runs, "_Run", kind), serving(target, **settings) as service:
        assert service.register(REGISTRY).status_code == 200
        for epoch, shares in SHARES.items():
            send(service, epoch, shares, devices=800)
        yield service


def ask(service: Service, query: str = "", **lists: list[str]) -> TestResponse:
    """The first answer to a question, which may be that a run was started."""
    return service.ask(f"{PATH}?{query}", method="POST", **({"json": lists} if lists else {}))


def found(service: Service, query: str = "", **lists: list[str]) -> dict[str, Any]:
    """The result of a question, once its run has ended."""
    number = ask(service, query, **lists).get_json()["id"]
    stored = service.store.discoveries
    wait_until(lambda: stored.find("flightdeck", "code", number).state in ("done", "failed"))
    ended = service.ask(f"{PATH}/{number}").get_json()
    assert ended["state"] == "done", ended
    return ended["result"]


def strings(result: dict[str, Any], *, whole: bool = True) -> list[Number]:
    """The strings that were found, or the first letters of longer ones."""
    return numbers(result, "share", whole=whole, told=True)


def missing(result: dict[str, Any]) -> list[Number]:
    """What the earlier window had found, and this one has not."""
    return numbers(result, "share", told=False)


def texts(found: list[Number]) -> list[str]:
    return [each["value"] for each in found]
