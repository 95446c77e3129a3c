"""Whatever is killed or replaced, and when: nothing acknowledged is lost, nothing counts twice."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import random
import secrets
import threading
import time
from collections import Counter

import pytest

from deniable_aggregator import Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.keys import create_key
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from tests.end_to_end.asking import PATIENCE_SECONDS
from tests.end_to_end.serving import Server, start
from tests.ports import HOST, free_port
from tests.repetitions import full_or_small

KILLS = full_or_small(20, 4)
DATABASE_KILLS = full_or_small(4, 1)
"""The last so many of the kills on PostgreSQL hit the database too."""

REPLACEMENTS = 4
THREADS = 8
LONGEST_LIFE_SECONDS = 0.4
FOLD_SECONDS = "0.02"
REGISTRY = """
registry = 1
application = "flightdeck"
[budget]
epsilon_per_day = 4.0
epsilon_lifetime = 40.0
[metrics.theme]
type = "category"
values = ["light", "dark", "system"]
complete = true
epsilon = 1.0
[metrics.late]
type = "boolean"
epsilon = 1.0
"""
METRICS = registry.parse(REGISTRY).metrics


class Relay(threading.Thread):
    """Uploads without pause; repeats the same bytes until they are acknowledged.

    Each attempt goes to the next of the servers, so that a repetition meets another one.

    Attributes:
        acknowledged: reports by (metric, item), of acknowledged uploads only.
        repeats: how many uploads had to be sent more than once.
    """

    def __init__(self, ports, token, epoch, stop):
        super().__init__(daemon=True)
        self.ports, self.epoch, self.stop = itertools.cycle(ports), epoch, stop
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": wire.CONTENT_TYPE}
        self.acknowledged = Counter()
        self.repeats = 0
        self.refused = Counter()
        self.connection = None

    def run(self):
        self.upload_until_stopped()
        if self.connection is not None:
            self.connection.close()

    def upload_until_stopped(self):
        while not self.stop.is_set():
            parts = []
            for name, size in (("theme", 3), ("late", 2)):
                payload = bytes(random.randrange(size) for _ in range(random.randrange(1, 20)))
                epoch = self.epoch - random.randrange(2)
                parts.append(wire.Part(METRICS[name].spec.digest, epoch, payload))
            body = wire.encode(wire.Upload(secrets.token_bytes(16), tuple(parts)))
            attempts = 1
            while not self.sent(body):
                attempts += 1
                time.sleep(0.05)
            self.repeats += attempts > 1
            for name, part in zip(("theme", "late"), parts, strict=True):
                self.acknowledged.update((name, item) for item in part.payload)

    def sent(self, body):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(HOST, next(self.ports), timeout=10)
            self.connection.request("POST", "/v1/reports", body, self.headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return False
        if answer.status == 204:
            return True
        self.refused[answer.status] += 1
        return False


@pytest.fixture(scope="module")
def mortal():
    """A database server of its own, which is killed too."""
    from tests.postgresql import Postgresql

    server = Postgresql()
    yield server
    server.remove()


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_nothing_is_counted_twice(tmp_path):
    kill_again_and_again(tmp_path / "store.db", tmp_path / "store.log")


@pytest.mark.slow
def test_the_same_with_two_servers_of_one_file_of_which_one_is_killed_at_a_time(tmp_path):
    kill_again_and_again(tmp_path / "store.db", tmp_path / "store.log", number=2)


@pytest.mark.slow
def test_the_same_with_two_servers_that_are_replaced_one_after_the_other(tmp_path):
    def replaced(server):
        assert server.stop() == 0

    target, output = tmp_path / "store.db", tmp_path / "store.log"
    kill_again_and_again(target, output, number=2, kills=REPLACEMENTS, kill=replaced)


@pytest.mark.slow
def test_the_same_on_postgresql_whose_server_is_killed_too(postgresql, mortal, tmp_path):  # noqa: ARG001
    kill_again_and_again(mortal.fresh_schema(), tmp_path / "store.log", mortal)


def kill_again_and_again(target, output, database=None, number=1, kills=KILLS, kill=Server.kill):
    ports, epoch = [free_port() for _ in range(number)], epoch_at(time.time())
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(METRICS.values(), epoch)
        token = create_key(store, scope="batch", application="flightdeck", label="", today=epoch)
    stop = threading.Event()
    relays = [
        Relay(ports[each % number :] + ports[: each % number], token, epoch, stop)
        for each in range(THREADS)
    ]
    options = ("--fold-seconds", FOLD_SECONDS, "--drain-seconds", "0.1")
    servers = [start(target, *options, port=port, output=output) for port in ports]
    try:
        for relay in relays:
            relay.start()
        for killed in range(kills):
            time.sleep(random.uniform(0, LONGEST_LIFE_SECONDS))
            if database is not None and killed >= kills - DATABASE_KILLS:
                database.kill()
                # The server goes on, and answers that nothing can be stored now.
                time.sleep(random.uniform(0, LONGEST_LIFE_SECONDS))
                database.start()
                time.sleep(random.uniform(0, LONGEST_LIFE_SECONDS))
            server = servers.pop(0)
            kill(server)
            servers.append(start(target, *options, port=server.port, output=output))
        stop.set()
        for relay in relays:
            relay.join(PATIENCE_SECONDS)
            assert not relay.is_alive()
    finally:
        stop.set()
        for server in servers:
            server.kill()
    acknowledged = sum((relay.acknowledged for relay in relays), Counter())
    with contextlib.closing(Store(target)) as store:
        InboxFold(store, MetricCatalog(store)).fold(seconds=PATIENCE_SECONDS)
        for name, metric in METRICS.items():
            size = 3 if name == "theme" else 2
            counted = store.tallies.total(tally_for(metric.spec), 0, epoch).cells.tolist()
            assert counted == [acknowledged[name, item] for item in range(size)]
        digests = [metric.spec.digest for metric in METRICS.values()]
        assert store.inbox.size(digests) == (0, 0)
        assert store.inbox.count_set_aside(digests) == 0
    # The test is worth something only if kills did hit uploads on their way.
    assert all(relay.repeats for relay in relays)
    # While the database is away, nothing else is said than that it is.
    refused = sum((relay.refused for relay in relays), Counter())
    assert refused.keys() <= (set() if database is None else {429, 503})
