"""A few whole clients: each records for a week, and sends by itself."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import deniable
from deniable_aggregator.simulating.draws import Batch
from deniable_aggregator.simulating.population import Situation
from field.laws import LAWS, SAMPLERS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from deniable_aggregator.simulating.population import Deployment, Value
    from field.server import Server

DEVICES: Final = 12
DAYS: Final = 5
METRICS: Final = ("dark_mode", "browser", "theme", "crash", "mode", "latency", "settings")
"""What they record; all together stay below the budget of a day."""

KEY: Final = "direct"
VERSION: Final = 2
ABSENT: Final = "none"
FLUSH_SECONDS: Final = 60.0


class Devices:
    """Clients with a directory each, whose clock is that of the deployment.

    Args:
        deployment: the calendar.
        server: where they send to.
        directory: the folder in which every client gets its own.
        metrics: those that are reported; the clients record some of them.
    """

    def __init__(
        self, deployment: Deployment, server: Server, directory: Path, metrics: Collection[str]
    ) -> None:
        self._metrics = [name for name in METRICS if name in metrics]
        self._deployment, self._server, self._directory = deployment, server, directory
        self._since = deployment.releases[VERSION - 1] + 2
        self._waiting: list[Batch] = []
        """Absence is reported when its day is over."""

    def day(self, day: int) -> list[Batch]:
        """Runs all clients on a day; returns what they recorded and the server accepted."""
        if not self._metrics or not 0 <= day - self._since <= DAYS:
            return []
        with ThreadPoolExecutor(4) as pool:
            recorded = list(pool.map(lambda number: self._run(number, day), range(DEVICES)))
        arrived, self._waiting = self._waiting, []
        for name in self._metrics if day - self._since < DAYS else ():
            batch = self._batch(name, day, [each[name] for each in recorded])
            (self._waiting if name == "crash" else arrived).append(batch)
        return arrived

    def _batch(self, name: str, day: int, held: list[Any]) -> Batch:
        if name in SAMPLERS:
            return Batch(name, day, KEY, VERSION, numbers=np.array(held))
        counts: Counter[Value] = Counter(held)
        return Batch(name, day, KEY, VERSION, tuple(counts), tuple(counts.values()))

    def _run(self, number: int, day: int) -> dict[str, Any]:
        """One client on one day, as an application that is started, used and closed."""
        situation = Situation(self._deployment, day, VERSION, KEY)
        generator = self._deployment.generator("device", number, day)
        client = deniable.Client(
            self._deployment.registry(VERSION),
            endpoint=self._server.endpoint,
            key=self._server.keys[KEY],
            directory=self._directory / f"device-{number}",
            consent=True,
            clock=self._server.clock,
            background=False,
            strict=True,
        )
        held: dict[str, Any] = {}
        with client:
            if day - self._since < DAYS:
                for name in self._metrics:
                    held[name] = self._record(client, name, situation, generator)
            sent = client.flush(timeout_seconds=FLUSH_SECONDS)
            if (sent.pending or 0) > 1:  # the report of today's crash, or absence, waits
                raise RuntimeError(f"a client could not send its reports: {sent}")
        return held

    @staticmethod
    def _record(
        client: deniable.Client, name: str, situation: Situation, generator: np.random.Generator
    ) -> Any:
        if name in SAMPLERS:
            number = float(SAMPLERS[name](situation, generator, 1)[0])
            client.record(name, number)
            return number
        law = LAWS[name](situation)
        value: Any = list(law)[generator.choice(len(law), p=list(law.values()))]
        if name == "mode":
            client.record(name, value[0], segment=value[1])
        elif name == "settings":
            client.record(name, dict(value))
        elif value != ABSENT:
            client.record(name, value)
        return value
