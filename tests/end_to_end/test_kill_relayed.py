"""A server is killed while relays bring parts: each upload counts once, also in its group."""

from __future__ import annotations

import contextlib
import http.client
import random
import secrets
import threading
import time
from collections import Counter
from datetime import UTC, datetime

import pytest

from deniable_aggregator import Store
from deniable_aggregator.counting.tallies import tally_for
from deniable_aggregator.keeping.catalog import MetricCatalog
from deniable_aggregator.keeping.fold import InboxFold
from deniable_aggregator.keeping.keys import create_key
from deniable_aggregator.keeping.relay_keys import RelayKeys
from deniable_shared import registry, wire
from deniable_shared.periods import epoch_at
from deniable_shared.sealing import PART_CONTENT_TYPE, RELAYED_PATH, X25519, Answer, Part, Sealer
from tests.end_to_end.asking import PATIENCE_SECONDS
from tests.end_to_end.serving import start
from tests.end_to_end.test_kill_minus_nine import FOLD_SECONDS, LONGEST_LIFE_SECONDS, REGISTRY
from tests.ports import HOST, free_port
from tests.repetitions import full_or_small

KILLS = full_or_small(20, 4)
RELAYS = 4
SPEC = registry.parse(REGISTRY).metrics["theme"].spec


class Relay(threading.Thread):
    """Brings part after part of one batch; each again until it is answered, and now and then once
    more.

    Attributes:
        brought: how many uploads each item has, of parts that were answered.
        repeats: how many parts had to be brought more than once.
    """

    def __init__(self, port, token, sealer, stop):
        super().__init__(daemon=True)
        self.port, self.sealer, self.stop = port, sealer, stop
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": PART_CONTENT_TYPE}
        self.batch = secrets.token_bytes(16)
        self.brought = Counter()
        self.repeats = 0

    def run(self):
        while not self.stop.is_set():
            items = [random.randrange(3) for _ in range(random.randrange(1, 40))]
            part = self.part(items)
            attempts = 1
            while (answer := self.answer(part, len(items))) is None:
                attempts += 1
                time.sleep(0.05)
            self.repeats += attempts > 1
            assert answer.stored + answer.duplicates == len(items)
            self.brought.update(items)
            if random.random() < 0.2:
                again = self.answer(part, len(items))
                assert again is None or again == Answer(0, len(items), {})

    def part(self, items):
        epoch = epoch_at(time.time())
        uploads = [
            wire.Upload(secrets.token_bytes(16), (wire.Part(SPEC.digest, epoch, bytes([item])),))
            for item in items
        ]
        envelopes = tuple(self.sealer.seal(wire.encode(upload)) for upload in uploads)
        return Part(self.batch, 10**6, "week", 1, envelopes).encode()

    def answer(self, part, envelopes):
        try:
            with contextlib.closing(
                http.client.HTTPConnection(HOST, self.port, timeout=10)
            ) as connection:
                connection.request("POST", RELAYED_PATH, part, self.headers)
                answer = connection.getresponse()
                body = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        assert answer.status == 200, body
        return Answer.decode(body, envelopes)


@pytest.mark.slow
def test_what_a_relay_brings_counts_once_whenever_the_server_is_killed(tmp_path):
    target, output = tmp_path / "store.db", tmp_path / "store.log"
    today = epoch_at(time.time())
    with contextlib.closing(Store(target)) as store:
        store.metrics.register(registry.parse(REGISTRY).metrics.values(), today)
        write, relay = (
            create_key(store, scope=scope, application="flightdeck", label="", today=today)
            for scope in ("write", "relay")
        )
    public = RelayKeys.beside(target).create(X25519, datetime.now(UTC).date()).public
    stop, port = threading.Event(), free_port()
    relays = [Relay(port, relay, Sealer(public, write), stop) for _ in range(RELAYS)]
    options = ("--fold-seconds", FOLD_SECONDS)
    server = start(target, *options, port=port, output=output)
    try:
        for each in relays:
            each.start()
        for _ in range(KILLS):
            time.sleep(random.uniform(0, LONGEST_LIFE_SECONDS))
            server.kill()
            server = start(target, *options, port=port, output=output)
        stop.set()
        for each in relays:
            each.join(PATIENCE_SECONDS)
            assert not each.is_alive()
    finally:
        stop.set()
        server.kill()
    brought = sum((each.brought for each in relays), Counter())
    with contextlib.closing(Store(target)) as store:
        InboxFold(store, MetricCatalog(store)).fold(seconds=PATIENCE_SECONDS)
        counted = store.tallies.total(tally_for(SPEC), 0, 10**6).cells.tolist()
        assert counted == [brought[item] for item in range(3)]
        groups = store.relayed.of_days([SPEC.digest], 0, 10**6)
        assert sum(group.reports for group in groups) == brought.total()
        if len({group.epoch for group in groups}) == 1:
            sizes = sorted(group.reports for group in groups)
            assert sizes == sorted(each.brought.total() for each in relays)
    # The test is worth something only if kills did hit parts on their way.
    assert sum(each.repeats for each in relays) >= RELAYS
