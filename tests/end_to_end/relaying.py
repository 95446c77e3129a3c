"""An aggregator and a relay in processes of their own, with a clock that the test moves."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import secrets
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from deniable_aggregator import Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.doors.relay.envelopes import look_into
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.relay_keys import RelayKeys
from deniable_shared import registry, wire
from deniable_shared.periods import SECONDS_PER_EPOCH, calendar_day, epoch_at
from deniable_shared.sealing import CONTENT_TYPE, SEALED_PATH, X25519, Sealer
from field.clocked_server import FileClock
from tests.end_to_end.serving import Server, launch, show
from tests.ports import HOST, free_port

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_shared.registry import Registry

MONDAY = 20_003
"""A Monday, in days since 1970-01-01."""

APPLICATION = "flightdeck"
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[relay]
url = "{url}"
key = "{key}"
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 4.0
every = "week"
relay = "required"
"""


class Site:
    """The aggregator, the relay, and all keys.

    Args:
        folder: for their files.
        options: of the relay.

    Attributes:
        clock: of both.
        registry: what ships with the application.
        aggregator: the server that opens.
        address: where the relay forwards to, when it is started.
        environment: of servers that are started, beside this process's.
        relay: the server that holds.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        self.environment: dict[str, str] = {}
        self.clock = FileClock(folder / "clock")
        self.set_day(MONDAY)
        self.store, self.held = folder / "store.db", folder / "relay.db"
        self._ports = free_port(), free_port()
        self.key = RelayKeys.beside(self.store).create(X25519, calendar_day(MONDAY)).public
        self.registry = self.registry_of(f"http://{HOST}:{self._ports[1]}")
        self.spec = self.registry.metrics["theme"].spec
        with contextlib.closing(Store(self.store)) as store:
            store.metrics.register(self.registry.metrics.values(), MONDAY)
            self.write, self.token = (
                create_key(store, scope=scope, application=APPLICATION, label="", today=MONDAY)
                for scope in ("write", "relay")
            )
        self.sealer = Sealer(self.key, self.write)
        self.start_aggregator()
        self.address = self.aggregator.url
        self.start_relay()

    def registry_of(self, url: str) -> Registry:
        """What ships with an application whose relay has this address."""
        return registry.parse(REGISTRY.replace("{url}", url).replace("{key}", self.key.text))

    def start_aggregator(self) -> None:
        options = ("--fold-seconds", "1", "--question-processes", "0", "--accept-days", "60")
        self.aggregator = self._launch("serve", self.store, options, self._ports[0])

    def start_relay(self) -> None:
        options = ("--to", self.address, "--key", self.key.text, *self.options)
        self.relay = self._launch("relay", self.held, options, self._ports[1])

    def _launch(self, command: str, store: Path, options: tuple[str, ...], port: int) -> Server:
        words = ["field.clocked_server", str(self.folder / "clock"), command]
        environment = {**os.environ, "DENIABLE_RELAY_TOKEN": self.token, **self.environment}
        output = self.folder / f"{command}.log"
        return launch(words, store, options, port=port, output=output, environment=environment)

    @property
    def day(self) -> int:
        return epoch_at(self.clock())

    def set_day(self, day: float) -> None:
        self.clock.set(day * SECONDS_PER_EPOCH)

    def pass_days(self, days: float) -> None:
        self.clock.set(self.clock() + days * SECONDS_PER_EPOCH)

    def upload(self, *items: int) -> bytes:
        """An upload of the day; a device's has one report."""
        part = wire.Part(self.spec.digest, self.day, bytes(items))
        return wire.encode(wire.Upload(secrets.token_bytes(wire.ID_BYTES), (part,)))

    def totals(self):
        return look_into(self.held)[0]

    def counted(self) -> list[int]:
        """What the aggregator has counted, by item; it must not be running."""
        show(self.store)
        with contextlib.closing(Store(self.store)) as store:
            return store.tallies.total(tally_for(self.spec), 0, 10**6).cells.tolist()

    def kill(self) -> None:
        self.aggregator.kill()
        self.relay.kill()


class Device(threading.Thread):
    """Sends sealed reports, each until it is acknowledged, sealed anew at each attempt.

    Args:
        site: where to.
        count: how many; None until `stop`.
        pause: between two of them, in seconds.

    Attributes:
        acknowledged: by item.
        repeats: how many had to be sent more than once.
        refused: by status.
    """

    def __init__(self, site: Site, count: int | None = None, pause: float = 0.0) -> None:
        super().__init__(daemon=True)
        self.site, self.count, self.pause = site, count, pause
        self.stopping = threading.Event()
        self.acknowledged: Counter[int] = Counter()
        self.repeats = 0
        self.refused: Counter[int] = Counter()
        self.connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        while not self.stopping.is_set() and self.acknowledged.total() != self.count:
            self.send(random.randrange(3))
            time.sleep(self.pause)
        if self.connection is not None:
            self.connection.close()

    def stop(self, seconds: float) -> None:
        """Waits until what it is sending is acknowledged."""
        self.stopping.set()
        self.join(seconds)
        assert not self.is_alive()

    def send(self, item: int) -> None:
        upload = self.site.upload(item)
        attempts = 1
        while not self.attempt(self.site.sealer.seal(upload)):
            attempts += 1
            time.sleep(0.05)
        self.repeats += attempts > 1
        self.acknowledged[item] += 1

    def attempt(self, envelope: bytes) -> bool:
        try:
            if self.connection is None:
                port = self.site.relay.port
                self.connection = http.client.HTTPConnection(HOST, port, timeout=10)
            headers = {"Content-Type": CONTENT_TYPE}
            self.connection.request("POST", SEALED_PATH, envelope, headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return False
        if answer.status == wire.ACCEPTED:
            return True
        self.refused[answer.status] += 1
        return False
