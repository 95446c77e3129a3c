"""Devices whose reports go through a relay: sealed, held until its close, and hidden in a crowd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from demo.population import DATA, RELEASE_KEY
from deniable_aggregator.answers.relayed import Relayed
from deniable_aggregator.asking.connection import Connection
from deniable_aggregator.doors.relay.simulated import SimulatedRelay
from deniable_aggregator.keeping.relay_keys import RelayKeys
from deniable_aggregator.simulating.draws import Population, Recorded
from deniable_aggregator.simulating.population import DAYS_PER_WEEK, Deployment, Reporting
from deniable_aggregator.simulating.randomizing import randomized
from deniable_aggregator.simulating.relayed import by_arrival
from deniable_aggregator.simulating.truth import Truth
from deniable_aggregator.telling.relayed import relayed_sentences
from deniable_shared.sealing import X25519, Sealer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from field.clocked_server import ClockedServer

REGISTRY: Final = DATA.parent / "relayed.toml"
METRIC: Final = "autopilot"
DEVICES: Final = 8_000
CLOSED_WEEKS: Final = 2
"""The relay has closed on the reports of a week when the week after it is over, too."""

SHARES: Final = {"never": 0.12, "cruise": 0.56, "all but take-off": 0.29, "all": 0.03}
RELAY: Final = """
[relay]
url = "https://relay.example.org/flightdeck"
key = "{}"
"""


class Crowd:
    """Devices that each report once in one week, the last on which a relay has closed.

    Args:
        server: the aggregator; its clock stands at its first day.

    Attributes:
        truth: what they recorded.
    """

    def __init__(self, server: ClockedServer) -> None:
        self._server, calendar = server, server.deployment
        key = RelayKeys.beside(server.store).create(X25519, calendar.date_of(0)).public
        weeks = calendar.days // DAYS_PER_WEEK
        self._first = (weeks - CLOSED_WEEKS) * DAYS_PER_WEEK
        own = self._deployment = Deployment(
            registries=(REGISTRY.read_text("utf-8") + RELAY.format(key.text),),
            days=DAYS_PER_WEEK,
            seed=calendar.seed,
            first_day=calendar.date_of(self._first),
            keys={RELEASE_KEY: 1.0},
        )
        server.administer("POST", "/v1/metrics", content=own.registries[0].encode())
        write, token = (
            server.administer("POST", "/v1/keys", json={"scope": scope, "label": label})["token"]
            for scope, label in (("write", "devices with a relay"), ("relay", "relay"))
        )
        self._sealer = Sealer(key, write)
        self._relay = SimulatedRelay(
            server.store.parent, Connection(server.endpoint, token), "week", calendar.epoch(0)
        )
        reports = DEVICES / sum(map(own.volume, range(own.days)))
        population = Population(own, {METRIC: Reporting(reports, lambda _: SHARES)})
        self._arriving = by_arrival(own, map(population.day, range(own.days)))
        self._recorded = Recorded()
        self.truth = Truth(own, self._recorded)

    def pass_day(self, day: int) -> None:
        """Lets the relay close and forward what is due, and then devices send what they have.

        Args:
            day: of the demo's calendar.
        """
        self._relay.set_day(self._server.deployment.epoch(day))
        if not 0 <= day - self._first < len(self._arriving):
            return
        arriving = self._arriving[day - self._first]
        for upload in randomized(self._deployment, arriving):
            self._relay.add(self._sealer.seal(upload.body))
        self._recorded.add(arriving)

    def close(self) -> None:
        """Closes the relay's file."""
        self._relay.close()

    def sentences(self) -> Iterator[str]:
        """What the crowd makes of the epsilon of a report, as the aggregator answers.

        Raises:
            httpx.HTTPStatusError: if it gives no answer.
        """
        answer = self._server.ask(f"/v1/metrics/{METRIC}/relayed").raise_for_status()
        return relayed_sentences(msgspec.json.decode(answer.content, type=Relayed))
